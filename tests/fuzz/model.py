# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says whether a program is conforming and race-free, so that it has one right result.

The World walks a program in the order in which it is written and keeps

- the presence table of each device data environment, as libomptarget does: entries with reference counts; and per block
  whether the device copy is defined, whether it is newer than the host's (`stale`: the host must not look) or older
  (`pending`: the host wrote, no update to yet);
- the tasks created so far, what each touches, and which tasks each is certainly ordered after.

Whatever a statement touches must be ordered with all tasks that touch the same in a conflicting way. Then applying
each task's effect where it is created gives the same as any legal execution. Anything else raises Invalid.

Limits of the library that programs stay inside (docs/openmp.md), each marked LIMIT below:
- an array is used with one device clause only: the virtual device and device n have data environments of their own;
- a host task that offloads does not touch the same arrays on the host;
- what the host wrote inside a region is not mapped by a kernel before it is updated;
- a construct that passes through to libomptarget (it names a declare target variable, or associated memory) names
  nothing that is in a region of the library's;
- a kernel that is too large for its device runs on the host, on the program's memory: where that would show, `discards`
  asks for devices with room.
"""

import itertools

from program import Associate, Cancelled, Data, Host, Loop, Parallel, Roots, Task, Taskgroup, Taskloop, Taskwait

ELEMENT = 8  # bytes
GRANULE = 256  # what the pool of a device rounds up to


class Invalid(Exception):
    """The program is not conforming, or has a race, or leaves what the model knows."""


def require(condition, why):
    if not condition:
        raise Invalid(why)


def mask(lo, n):
    return ((1 << n) - 1) << lo


class Footprint:
    """What is touched: (space, array) -> [reads, writes, copies in, copies back of unchanged contents] as masks.

    Spaces: host, device, presence, and version: what a kernel would touch on the host. `temporary` are the sections that are present only during a construct: two that
    exist at once must be equal or disjoint.
    """

    def __init__(self):
        self.masks = {}
        self.temporary = set()

    def copy(self):
        twin = Footprint()
        twin.masks = {key: list(value) for key, value in self.masks.items()}
        twin.temporary = set(self.temporary)
        return twin

    def add(self, space, array, reads=0, writes=0, copies=0, backs=0):
        entry = self.masks.setdefault((space, array), [0, 0, 0, 0])
        entry[0] |= reads
        entry[1] |= writes
        entry[2] |= copies
        entry[3] |= backs

    def merge(self, other):
        for (space, array), entry in other.masks.items():
            self.add(space, array, *entry)
        self.temporary |= other.temporary

    def conflict(self, other, exempt=frozenset()):
        for key, (r, w, c, b) in self.masks.items():
            if key in other.masks and key[1] not in exempt and key[0] != "version":
                r2, w2, c2, b2 = other.masks[key]
                if w & (r2 | w2 | c2 | b2) or w2 & (r | c | b) or r & b2 or r2 & b:
                    return key
        for array, lo, n in self.temporary:
            for array2, lo2, n2 in other.temporary:
                if array == array2 and array not in exempt and (lo, n) != (lo2, n2) and mask(lo, n) & mask(lo2, n2):
                    return ("temporary", array)
        return None

    def shows_on_host(self, other):
        """Whether kernels here that run on the host could meet what the host does in `other`."""
        for (space, array), (r, w, _, _) in self.masks.items():
            if space == "version" and ("host", array) in other.masks:
                r2, w2, c2, b2 = other.masks["host", array]
                if w & (r2 | w2 | c2 | b2) or r & (w2 | b2):
                    return True
        return False


class Created:
    """A task: `before` are the tasks it runs after, `commutative` the arrays it only adds to."""

    def __init__(self, number, footprint, before, mutexes, commutative):
        self.number = number
        self.footprint = footprint
        self.before = before
        self.mutexes = mutexes
        self.commutative = commutative


class Context:
    """A thread or task that executes: `done` are the tasks that it knows to be complete, `scope` the dependences
    between its children, `total` all that it touched. Children of different ones exclude each other by no mutex:
    `identity` tells them apart."""

    identities = itertools.count()

    def __init__(self, done, task=None, mutexes=frozenset(), commutative=frozenset()):
        self.identity = next(Context.identities)
        self.done = done
        self.task = task
        self.mutexes = mutexes
        self.commutative = commutative
        self.scope = {}
        self.children = []
        self.total = Footprint()
        self.offloaded = set()
        self.hosted = set()

    def copy(self):
        twin = Context(self.done, self.task, self.mutexes, self.commutative)
        twin.identity = self.identity
        twin.scope = {key: dict(node) for key, node in self.scope.items()}
        twin.children = list(self.children)
        twin.total = self.total.copy()
        twin.offloaded = set(self.offloaded)
        twin.hosted = set(self.hosted)
        return twin


class Copies:
    """One array in one device data environment."""

    def __init__(self):
        self.entries = []  # (lo, n, count, count of ompx_hold)
        self.defined = self.stale = self.pending = 0

    def copy(self):
        twin = Copies()
        twin.entries = list(self.entries)
        twin.defined, twin.stale, twin.pending = self.defined, self.stale, self.pending
        return twin

    def find(self, lo, n):
        """The entry that holds [lo, lo + n), or None; Invalid if one holds a part of it."""
        for entry in self.entries:
            if entry[0] <= lo and lo + n <= entry[0] + entry[1]:
                return entry
            require(not mask(lo, n) & mask(entry[0], entry[1]), "extends present data")
        return None

    def present(self):
        result = 0
        for lo, n, _, _ in self.entries:
            result |= mask(lo, n)
        return result

    def clear(self, bits):
        self.defined &= ~bits
        self.stale &= ~bits
        self.pending &= ~bits


class World:
    """The state at one point of a program. `run` advances it; copy() before trying."""

    def __init__(self, program):
        self.program = program
        self.copies = [Copies() for _ in program.arrays]
        self.home = {}  # array -> the device clause it is used with
        self.associated = set()  # arrays
        self.foreign = set()  # arrays whose present data libomptarget itself holds
        self.structs = {}  # label of an open Data whose struct kernels may go through -> its items' places
        self.tasks = []
        self.stack = [Context(0)]
        self.values = {}
        self.largest_item = self.largest_task = 0  # bytes in a pool
        self.largest_whole = 0  # the same as largest_task with whole arrays instead of sections
        self.depend_mode = True  # OMPDARTS_COHERENCE=depend is permitted
        self.shows = False  # device addresses, which hold memory
        self.binds = False  # data to a device until their region closes
        self.discards = False  # what kernels wrote, or meets the host: they must not run there
        self.meets_host = False  # the host and unordered kernels use their own copies of the same: only as `strict`
        self.overwrites = False  # the host writes what is present
        self.steps = 0
        for number, array in enumerate(program.arrays):
            if array.device is not None:
                self.home[number] = array.device
            if array.kind in ("global", "device"):
                self.always_present(number)

    def always_present(self, number):
        """Memory on the device that the program does not map, as it was at the program's begin."""
        array, copies = self.program.arrays[number], self.copies[number]
        copies.entries = [(0, array.size, float("inf"), 0)]
        copies.defined = copies.stale = copies.pending = 0
        if array.kind == "device":
            copies.stale = mask(0, array.size)
            self.shows = True
        else:
            copies.pending = mask(0, array.size)
            self.discards = True

    def copy(self):
        twin = object.__new__(World)
        twin.program = self.program
        twin.copies = [copies.copy() for copies in self.copies]
        twin.home = dict(self.home)
        twin.structs = dict(self.structs)
        twin.associated, twin.foreign = set(self.associated), set(self.foreign)
        twin.overwrites, twin.meets_host = self.overwrites, self.meets_host
        twin.tasks = list(self.tasks)
        twin.stack = [context.copy() for context in self.stack]
        twin.values = dict(self.values)
        twin.largest_item, twin.largest_task = self.largest_item, self.largest_task
        twin.largest_whole = self.largest_whole
        twin.depend_mode, twin.discards, twin.steps = self.depend_mode, self.discards, self.steps
        twin.shows, twin.binds = self.shows, self.binds
        return twin

    @property
    def context(self):
        return self.stack[-1]

    # --- order of tasks

    def check(self, footprint, before, mutexes=frozenset(), commutative=frozenset()):
        for task in self.tasks:
            if not before >> task.number & 1:
                exempt = commutative & task.commutative if mutexes & task.mutexes else frozenset()
                key = footprint.conflict(task.footprint, exempt)
                require(key is None, f"race on {key}")
                if footprint.shows_on_host(task.footprint) or task.footprint.shows_on_host(footprint):
                    self.discards = self.meets_host = True

    def perform(self, footprint):
        """The current context does this now."""
        self.check(footprint, self.context.done, self.context.mutexes, self.context.commutative)
        self.context.total.merge(footprint)

    def closure(self, numbers):
        result = 0
        for number in numbers:
            result |= self.tasks[number].before | 1 << number
        return result

    def predecessors(self, depends, number=None):
        """Matches dependences by address as libomp does, and notes task `number`, if any, as the newest."""
        before, mutexes, scope = set(), set(), self.context.scope
        for depend in depends:
            if depend.array == -2:
                before.update(self.all_memory(number))
                continue
            key = (depend.array, depend.lo.at(self.values))
            node = scope.setdefault(key, {"last": list(scope[()]["last"]) if () in scope else [], "kind": "out",
                                          "earlier": [], "ins": []})
            kind = {"in": "in", "inoutset": "inoutset", "mutexinoutset": "mutexinoutset"}.get(depend.type, "out")
            if kind == "in":
                before.update(node["last"])
                if number is not None:
                    node["ins"] = node["ins"] + [number]
                continue
            if kind == node["kind"] != "out" and not node["ins"]:
                before.update(node["earlier"])
                if number is not None:
                    node["last"] = node["last"] + [number]
            else:
                earlier = node["last"] + node["ins"]
                before.update(earlier)
                if number is not None:
                    node.update(last=[number], kind=kind, earlier=earlier, ins=[])
            if kind == "mutexinoutset":
                mutexes.add((self.context.identity,) + key)
        before.discard(number)
        return before, frozenset(mutexes)

    def all_memory(self, number):
        """What a dependence on all memory waits for; it is the newest of every place from now on, known or not."""
        scope = self.context.scope
        before = {task for node in scope.values() for task in node["last"] + node["ins"]}
        if number is not None:
            for key in list(scope) + [()]:
                scope[key] = {"last": [number], "kind": "out", "earlier": sorted(before), "ins": []}
        return before

    def create(self, footprint, depends, commutative):
        """A deferred task."""
        number = len(self.tasks)
        numbers, mutexes = self.predecessors(depends, number)
        before = self.context.done | self.closure(numbers)
        self.check(footprint, before, mutexes, commutative)
        self.tasks.append(Created(number, footprint, before, mutexes, commutative))
        self.context.children.append(number)
        self.context.total.merge(footprint)

    def wait(self, numbers):
        self.context.done |= self.closure(numbers)

    def wait_all_since(self, first):
        self.context.done |= mask(first, len(self.tasks) - first)

    # --- data

    def bytes(self, array, n):
        return -(-n * self.program.arrays[array].elements * ELEMENT // GRANULE) * GRANULE

    def held(self, item, attached):
        """Blocks that a device must hold for an item: an address without a section stands for all that is present there,
        as does the pointer in a struct (`attached`)."""
        array, lo, n, _ = self.resolve(item.section)
        entry = self.copies[array].find(lo, n)
        stands = entry is not None and (attached or item.zero or item.map in ("", "implicit"))
        return entry[1] if stands else n

    def note_memory(self, items, attached=False):
        """What a device needs for these."""
        sizes = [self.bytes(item.section.array, self.held(item, attached)) for item in items]
        self.largest_item = max([self.largest_item] + sizes)
        self.largest_task = max(self.largest_task, sum(sizes))
        whole = sum(self.bytes(item.section.array, self.program.arrays[item.section.array].size) for item in items)
        self.largest_whole = max(self.largest_whole, whole)

    def resolve(self, section):
        lo, size = section.lo.at(self.values), self.program.arrays[section.array].size
        require(0 <= lo and section.n >= 1 and lo + section.n <= size, "outside the array")
        return section.array, lo, section.n, mask(lo, section.n)

    def at_home(self, array, device):
        require(self.home.setdefault(array, device) == device, "LIMIT: one device clause per array")

    def begin(self, item, device, footprint, temporary):
        """A map item at the start of its construct."""
        array, lo, n, bits = self.resolve(item.section)
        self.at_home(array, device)
        kind, map_ = self.program.arrays[array].kind, item.map
        require(kind != "device", "maps device memory")
        if map_ == "implicit" and kind in ("local", "scalar"):
            require(n == self.program.arrays[array].size and not item.alias, "implicitly all of an array")
            map_ = "tofrom"
        copies = self.copies[array]
        entry = self.entry(item, lo, n)
        counted = mask(entry[0], entry[1]) if entry else bits  # whichever part is named, one count
        footprint.add("presence", array, reads=bits, writes=0 if temporary else counted)
        if entry is None and item.zero:
            below = temporary or all(other[0] < lo for other in copies.entries)
            require(below, "LIMIT: libomptarget counts an empty section in the entry behind it")
            footprint.add("presence", array, writes=bits)  # nor may a kernel map it for a moment
            return
        copy_in = map_ in ("to", "tofrom") and (entry is None or item.always) and not item.zero
        if entry is None:
            require(not item.present and map_ != "implicit", "present")
            copies.entries.append((lo, n, not item.hold, int(item.hold)))
            copies.clear(bits)
            if not temporary and not copy_in:
                self.discards = True  # what is undefined there would come to the host with what a kernel writes beside it
            if temporary:
                footprint.temporary.add((array, lo, n))
                if not copy_in:
                    footprint.add("device", array, writes=bits)
        else:
            copies.entries.remove(entry)
            copies.entries.append((entry[0], entry[1], entry[2] + (not item.hold), entry[3] + item.hold))
        if copy_in:
            require(not copies.stale & bits, "copies in what the device has newer")
            footprint.add("host", array, copies=bits)
            footprint.add("device", array, writes=bits if not temporary or entry else 0)
            copies.defined |= bits
            copies.pending &= ~bits
        require(not (temporary and copies.pending & bits), "LIMIT: kernel maps what awaits an update")

    def entry(self, item, lo, n):
        """The entry that an item is in. A pointer that no clause names is looked up by its own value."""
        array = self.program.arrays[item.section.array]
        entry = self.copies[item.section.array].find(lo, n)
        if item.map == "implicit" and array.kind == "heap" and not item.alias:
            require(entry is not None and entry[0] == 0, "the pointer is outside the present data")
        return entry

    def end(self, item, footprint, temporary, written=0):
        """A map item at the end of its construct; `written` are the blocks that a kernel wrote."""
        array, lo, n, bits = self.resolve(item.section)
        copies = self.copies[array]
        entry = self.entry(item, lo, n)
        counted = mask(entry[0], entry[1]) if entry else bits
        footprint.add("presence", array, reads=bits, writes=0 if temporary else counted)
        if entry is None:
            return
        count, holds = entry[2] - (not item.hold), entry[3] - item.hold
        if item.map == "delete" and count < float("inf"):
            count = 0
        count = max(count, 0)
        copies.entries.remove(entry)
        gone = count + holds <= 0
        if not gone:
            copies.entries.append((entry[0], entry[1], count, holds))
        implicit = item.map == "implicit" and self.program.arrays[array].kind in ("local", "scalar")
        if (item.map in ("from", "tofrom") or implicit) and (gone or item.always) and not item.zero:
            require(bits & ~copies.defined == 0, "copies back what is undefined")
            require(not copies.pending & bits, "copies back over what the host wrote")
            unchanged = bits & ~written if temporary else 0
            footprint.add("host", array, writes=bits & ~unchanged, backs=unchanged)
            footprint.add("device", array, reads=bits)
            copies.stale &= ~bits
        if gone:
            if not temporary:  # all of it, not only the section named
                footprint.add("presence", array, writes=mask(entry[0], entry[1]))
            require(not any(array == held for held, _, _ in sum(self.structs.values(), [])), "ends what is attached")
            self.discards = self.discards or bool(copies.stale & mask(entry[0], entry[1]))
            copies.clear(mask(entry[0], entry[1]))

    def is_foreign(self, array):
        held = array in self.foreign and self.copies[array].entries
        return bool(self.program.arrays[array].kind == "global" or array in self.associated or held)

    def is_mapped(self, item):
        kind = self.program.arrays[item.section.array].kind
        return kind != "device" and not (kind == "global" and item.map == "implicit" and not item.alias)

    def pass_through(self, items, opens, scratch=False):
        """Where libomptarget carries out a construct; it `opens` the data that are not present for longer."""
        arrays = {item.section.array for item in items if self.is_mapped(item)}
        passes = scratch or any(self.is_foreign(array) for array in arrays)
        for array in arrays:
            if array in self.foreign and opens:
                known = all(self.copies[array].find(*self.resolve(item.section)[1:3]) for item in items
                            if item.section.array == array)
                require(known or not self.copies[array].entries, "opens more of what libomptarget holds in part")
            if self.is_foreign(array):
                continue
            require(not passes or not self.copies[array].entries, "LIMIT: passes through with data of a region")
            if opens:
                (self.foreign.add if passes else self.foreign.discard)(array)

    def begin_all(self, items, device, footprint, temporary, shared=True):
        self.check_items(items, shared)
        self.pass_through(items, not temporary)
        for item in items:
            self.begin(item, device, footprint, temporary)

    def check_items(self, items, shared):
        """The order in which one construct's items are handled is the compiler's: it must not matter. Items in one
        entry are all right where nothing is copied and (`shared`) counts cannot reach zero."""
        seen = []
        for item in items:
            array, lo, n, bits = self.resolve(item.section)
            entry = self.copies[array].find(lo, n)
            for array2, bits2, entry2, item2 in seen:
                if array == array2:
                    same = entry is not None and entry is entry2
                    require(not bits & bits2 or same, "items overlap")
                    require(not same or shared and not item.always and not item2.always, "items share an entry")
            seen.append((array, bits, entry, item))

    def positions(self, code):
        """Each operation as (op, destination array and blocks, source array and blocks)."""
        for op in code.ops:
            dst = self.part(code.items, op.dst, op.at, 1 if op.kind in ("sum", "max") else op.n)
            src = self.part(code.items, op.src, op.src_at, op.n)
            require((dst is None) == (op.kind == "check"), "malformed")
            require(src is not None or op.kind in ("add", "set", "update"), "malformed")
            if dst and src:
                self.check_lengths(op, dst, src)
            yield op, dst, src

    def part(self, items, index, at, n):
        if index < 0:
            return None
        array, lo, size, _ = self.resolve(items[index].section)
        require(0 <= at and n >= 1 and at + n <= size, "outside the section")
        return array, mask(lo + at, n)

    def check_lengths(self, op, dst, src):
        elements = [self.program.arrays[side[0]].elements for side in (dst, src)]
        require(op.kind in ("sum", "max") or elements[0] == elements[1], "blocks of two sizes")
        require(dst[0] != src[0] or dst[1] == src[1] or not dst[1] & src[1], "source and destination overlap")

    def operate(self, code, footprint, private=frozenset()):
        """Operations on device copies, and on `private` arrays. Returns array -> blocks written."""
        written = {}
        for op, dst, src in self.positions(code):
            reads = [src] if src else []
            if dst and op.kind != "set":
                reads.append(dst)
            for array, bits in reads:
                if array in private:
                    continue
                require(not bits & ~self.copies[array].defined, "reads what is undefined")
                require(not bits & ~self.copies[array].present(), "reads what is not present")
                footprint.add("device", array, reads=bits)
                footprint.add("version", array, reads=bits)
            if dst:
                array, bits = dst
                require(array not in private, "writes a private copy")
                require(not bits & ~self.copies[array].present(), "writes what is not present")
                footprint.add("device", array, writes=bits)
                footprint.add("version", array, writes=bits)
                self.copies[array].defined |= bits
                self.copies[array].stale |= bits
                if code.items[op.dst].map == "to":
                    self.depend_mode = False  # where `to` is trusted to mean read only
                written[array] = written.get(array, 0) | bits
        return written

    def host_operate(self, code, footprint):
        """Operations on host memory."""
        for op, dst, src in self.positions(code):
            reads = [src] if src else []
            if dst and op.kind != "set":
                reads.append(dst)
            for array, bits in reads:
                require(not bits & self.copies[array].stale, "host reads what the device has newer")
                footprint.add("host", array, reads=bits)
            if dst:
                array, bits = dst
                copies = self.copies[array]
                footprint.add("host", array, writes=bits)
                copies.stale &= ~bits
                copies.pending |= bits & copies.present()
                self.overwrites = self.overwrites or bool(copies.pending)
        self.note_host(code.items)

    def note_host(self, items):
        context = self.context
        for item in items:
            array, lo, n, _ = self.resolve(item.section)
            context.hosted.add(array)
            if context.task is not None:
                named = any(d.array == array and d.lo.at(self.values) == lo and d.n == n for d in context.task.depends)
                self.depend_mode = self.depend_mode and named
        self.check_task(context)

    @staticmethod
    def check_task(context):
        both = context.hosted & context.offloaded
        require(context.task is None or not both, "LIMIT: a task offloads an array and uses it on the host")

    def note_offload(self, items):
        context = self.context
        context.offloaded.update(item.section.array for item in items)
        self.check_task(context)

    def commutative(self, code):
        """Arrays that it only adds to, each as a whole item that is mapped in and out."""
        adds, others = set(), set()
        for op, dst, src in self.positions(code):
            (adds if op.kind == "add" else others).add(dst[0] if dst else src[0])
            others.update({src[0]} if src else ())
        others.update(item.section.array for item in code.items if item.map not in ("", "tofrom"))
        return frozenset(adds - others)

    # --- statements

    def run_body(self, body):
        for statement in body:
            self.run(statement)

    def run(self, statement):
        self.steps += 1
        require(self.steps < 2000, "too long")
        getattr(self, "run_" + type(statement).__name__.lower())(statement)

    def finish(self):
        """The end of the program: waits, and returns array -> blocks that the host may read."""
        self.run(Taskwait())
        require(not self.unfinished(0), "tasks left")
        return [mask(0, array.size) & ~copies.stale for array, copies in zip(self.program.arrays, self.copies)]

    def unfinished(self, first):
        return mask(first, len(self.tasks) - first) & ~self.context.done

    def run_host(self, host):
        footprint = Footprint()
        self.host_operate(host, footprint)
        self.perform(footprint)

    def is_private(self, target, item):
        implicit = item.map == "implicit" and not target.defaultmap
        return item.map == "firstprivate" or implicit and self.program.arrays[item.section.array].kind == "scalar"

    def run_target(self, target):
        now, footprint = Footprint(), Footprint()
        private = [item for item in target.items if self.is_private(target, item)]
        mapped = [item for item in target.items if not self.is_private(target, item)]
        for item in private:
            array, _, n, bits = self.resolve(item.section)
            require(n == self.program.arrays[array].size and not item.alias, "private copies are of whole arrays")
            require(not bits & self.copies[array].stale, "host reads what the device has newer")
            now.add("host", array, reads=bits)
            if self.program.arrays[array].kind != "scalar":
                footprint.add("host", array, reads=bits)  # clang 19 copies arrays when the task begins
        self.perform(now)
        require(not (target.nowait and (target.by_default or target.shape == "variable")), "only while it waits")
        if not target.nowait and target.depends:
            self.wait_for(target.depends)
        if target.condition is False:
            self.depend_mode = False
            require(not any(self.program.arrays[item.section.array].kind == "device" for item in mapped), "on the host")
            self.host_operate(target, footprint)
        else:
            self.launch(target, mapped, private, footprint)
        if target.nowait:
            self.create(footprint, target.depends, self.commutative(target))
        else:
            self.perform(footprint)

    def launch(self, target, mapped, private, footprint):
        self.note_offload(mapped)
        own = [item for item in mapped if self.program.arrays[item.section.array].kind == "device"]
        passing = [item for item in mapped if item not in own]
        self.note_memory(passing, target.through is not None)
        for item in own:
            require(not item.map, "maps device memory")
            self.use_present(item, target.device, footprint)
        if target.through is None:
            require(all(item.map for item in passing), "malformed")
            self.pass_through(passing, False, self.has_scratch(target, passing))
            self.begin_all(passing, target.device, footprint, True)
        else:
            self.go_through(target, passing, footprint)
        written = self.operate(target, footprint, {item.section.array for item in private})
        for item in passing if target.through is None else []:
            self.end(item, footprint, True, written.get(item.section.array, 0))

    def has_scratch(self, target, items):
        """A struct's member whose section only this kernel has."""
        return bool(target.shape) and any(item.alias and item.map == "alloc" and self.entry(
            item, *self.resolve(item.section)[1:3]) is None for item in items)

    def go_through(self, target, items, footprint):
        self.pass_through(items, False)
        places = self.structs.get(target.through)
        require(places is not None, "its struct is not there")
        for item in items:
            array, lo, n, _ = self.resolve(item.section)
            require(item.member < len(places), "no such member")
            array2, lo2, n2 = places[item.member]
            require(array == array2 and lo2 <= lo and lo + n <= lo2 + n2, "outside the member's section")
            self.use_present(item, target.device, footprint)

    def use_present(self, item, device, footprint):
        """An address on the device of something that is present there."""
        array, lo, n, bits = self.resolve(item.section)
        self.at_home(array, device)
        require(self.copies[array].find(lo, n) is not None, "absent")
        require(not self.copies[array].pending & bits, "LIMIT: kernel maps what awaits an update")
        footprint.add("presence", array, reads=bits)

    def run_devicecall(self, call):
        footprint = Footprint()
        self.note_offload(call.items)
        for item in call.items:
            if not item.map:
                self.use_present(item, call.device, footprint)
        self.pass_through(call.items, False)
        mapped = [item for item in call.items if item.map]
        self.note_memory(call.items)
        self.shows = True
        self.begin_all(mapped, call.device, footprint, True)
        written = self.operate(call, footprint)
        for item in mapped:
            self.end(item, footprint, True, written.get(item.section.array, 0))
        self.perform(footprint)

    def run_mapped(self, code):
        footprint = Footprint()
        self.note_offload(code.items)
        self.note_memory(code.items)
        self.shows = self.binds = True
        self.pass_through(code.items, False)
        for item in code.items:
            self.use_present(item, code.device, footprint)
        self.operate(code, footprint)
        self.perform(footprint)

    def run_memcpy(self, memcpy):
        footprint = Footprint()
        dst, src = memcpy.items
        sizes = [item.section.n * self.program.arrays[item.section.array].elements for item in memcpy.items]
        require(sizes[0] == sizes[1] and dst.section.array != src.section.array, "malformed")
        for item in memcpy.items:
            array, _, _, bits = self.resolve(item.section)
            require((item.map == "own") == (self.program.arrays[array].kind == "device"), "malformed")
            if item.map == "host":
                self.copy_host_side(array, bits, item is dst, footprint)
                continue
            self.shows = True
            self.binds = self.binds or item.map == "mapped"
            self.use_present(item, memcpy.device, footprint)
            self.note_offload([item])
            if item is dst:
                self.copies[array].defined |= bits
                self.copies[array].stale |= bits
            else:
                require(not bits & ~self.copies[array].defined, "reads what is undefined")
            footprint.add("device", array, **{"writes" if item is dst else "reads": bits})
            footprint.add("version", array, **{"writes" if item is dst else "reads": bits})
        self.note_host([item for item in memcpy.items if item.map == "host"])
        self.perform(footprint)

    def copy_host_side(self, array, bits, writes, footprint):
        copies = self.copies[array]
        if writes:
            copies.stale &= ~bits
            copies.pending |= bits & copies.present()
            self.overwrites = self.overwrites or bool(copies.pending)
        else:
            require(not bits & copies.stale, "host reads what the device has newer")
        footprint.add("host", array, **{"writes" if writes else "reads": bits})

    def run_present(self, present):
        footprint = Footprint()
        for item in present.items:
            array, lo, _, _ = self.resolve(item.section)
            self.at_home(array, present.device)
            require(self.program.arrays[array].kind == "heap", "malformed")
            footprint.add("presence", array, writes=mask(lo, 1))
        self.perform(footprint)

    def run_associate(self, associate):
        self.open_association(associate)
        self.run_body(associate.body)
        footprint, copies = Footprint(), self.copies[associate.array]
        footprint.add("presence", associate.array, writes=mask(0, self.program.arrays[associate.array].size))
        self.perform(footprint)
        self.discards = self.discards or bool(copies.stale)
        copies.entries = []
        copies.defined = copies.stale = copies.pending = 0
        self.associated.discard(associate.array)

    def open_association(self, associate):
        footprint, copies = Footprint(), self.copies[associate.array]
        array = self.program.arrays[associate.array]
        require(array.kind == "heap" and not copies.entries, "associates present data")
        footprint.add("presence", associate.array, writes=mask(0, array.size))
        self.perform(footprint)
        copies.entries = [(0, array.size, float("inf"), 0)]
        copies.defined = copies.stale = copies.pending = 0
        self.associated.add(associate.array)
        self.shows = True

    def run_renew(self, renew):
        """While nobody else is there who may know the old addresses."""
        require(len(self.stack) == 1 and not self.unfinished(0) and not self.structs, "others run")
        footprint = Footprint()
        for number in renew.arrays:
            array, copies = self.program.arrays[number], self.copies[number]
            require(array.kind == "device" or array.kind == "heap" and not copies.entries, "renews present data")
            footprint.add("presence", number, writes=mask(0, array.size))
            footprint.add("host", number, writes=mask(0, array.size))
            if array.kind == "device":
                self.always_present(number)
        self.perform(footprint)

    def directive(self, statement, effect):
        """Enter, exit and update: in place, or as a task."""
        footprint = Footprint()
        require(not (statement.nowait and (statement.by_default or statement.shape == "variable")), "only while it waits")
        if not statement.nowait and statement.depends:
            self.wait_for(statement.depends)
        self.note_offload(statement.items)
        effect(footprint)
        if statement.nowait:
            self.create(footprint, statement.depends, frozenset())
        else:
            self.perform(footprint)

    def run_enter(self, enter):
        self.directive(enter, lambda footprint: self.begin_all(enter.items, enter.device, footprint, False))

    def run_exit(self, statement):
        self.directive(statement, lambda footprint: self.exit(statement, footprint))

    def exit(self, statement, footprint):
        self.check_items(statement.items, False)
        self.pass_through(statement.items, False)
        for item in statement.items:
            array, lo, n, _ = self.resolve(item.section)
            require(item.zero or self.copies[array].find(lo, n) is not None, "exit of absent data")
            self.at_home(array, statement.device)
            self.end(item, footprint, False)

    def run_update(self, update):
        self.directive(update, lambda footprint: self.update(update, footprint))

    def update(self, update, footprint):
        seen = {}
        self.pass_through(update.items, False)
        for item in update.items:
            array, lo, n, bits = self.resolve(item.section)
            require(not seen.get(array, 0) & bits, "items overlap")
            seen[array] = seen.get(array, 0) | bits
            self.at_home(array, update.device)
            copies = self.copies[array]
            footprint.add("presence", array, reads=bits)
            if copies.find(lo, n) is None:
                require(not item.present, "present")
                footprint.add("presence", array, writes=bits)  # nor may a kernel map it for a moment
                continue
            if item.map == "to":
                require(not copies.stale & bits, "copies in what the device has newer")
                footprint.add("host", array, copies=bits)
                footprint.add("device", array, writes=bits)
                copies.defined |= bits
                copies.pending &= ~bits
            else:
                require(not bits & ~copies.defined, "copies back what is undefined")
                require(not copies.pending & bits, "copies back over what the host wrote")
                footprint.add("host", array, writes=bits)
                footprint.add("device", array, reads=bits)
                copies.stale &= ~bits

    def run_data(self, data):
        self.open_data(data)
        self.run_body(data.body)
        self.structs.pop(data.label, None)
        footprint = Footprint()
        self.check_items(data.items, False)
        self.pass_through(data.items, False)
        for item in data.items:
            self.end(item, footprint, False)
        self.perform(footprint)

    def open_data(self, data):
        footprint = Footprint()
        self.note_offload(data.items)
        self.begin_all(data.items, data.device, footprint, False, shared=False)
        self.perform(footprint)
        if data.label is not None:
            require(all(item.alias and not item.zero for item in data.items), "malformed")
            self.structs[data.label] = [self.resolve(item.section)[:3] for item in data.items]

    def run_task(self, task):
        undeferred = task.flags == "if(0)"
        number, before = self.open_task(task, undeferred)
        self.run_body(task.body)
        context = self.stack.pop()
        created = self.tasks[number]
        created = Created(number, context.total, before | context.done, created.mutexes, self.adds_only(task))
        self.tasks[number] = created
        self.context.total.merge(context.total)
        self.context.offloaded |= context.offloaded
        if undeferred:
            self.context.done |= created.before | 1 << number

    def open_task(self, task, undeferred=False):
        """Its place, empty as long as its body runs, so that what the body does is not checked against it."""
        number = len(self.tasks)
        if undeferred:
            self.wait_for(task.depends)
            numbers, mutexes = set(), frozenset()
        else:
            numbers, mutexes = self.predecessors(task.depends, number)
        before = self.context.done | self.closure(numbers)
        commutative = self.adds_only(task)
        self.tasks.append(Created(number, Footprint(), before, mutexes, commutative))
        self.context.children.append(number)
        self.stack.append(Context(before, task, mutexes, commutative))
        return number, before

    def adds_only(self, task):
        if len(task.body) == 1 and isinstance(task.body[0], Host):
            return self.commutative(task.body[0])
        return frozenset()

    def run_detached(self, statement):
        """The first task is complete when the second one is. That must not wait for it."""
        first = len(self.tasks)
        self.run_task(statement.first)
        self.run_task(statement.second)
        second = len(self.tasks) - 1
        require(second == first + 1, "malformed")
        require(not self.tasks[second].before >> first & 1, "waits for itself")
        self.tasks[first].before |= self.tasks[second].before | 1 << second

    def wait_for(self, depends):
        """Of a thread that goes on when these tasks are complete. It may use what they have written and the items do not name,
        which OMPDARTS_COHERENCE=depend does not bring home."""
        before = self.predecessors(depends)[0]
        if before:
            self.depend_mode = False
        self.wait(before)

    def run_taskwait(self, wait):
        if wait.nowait:
            self.create(Footprint(), wait.depends, frozenset())
        elif wait.depends:
            self.wait_for(wait.depends)
        else:
            self.wait(self.context.children)

    def run_taskgroup(self, group):
        first = len(self.tasks)
        self.run_body(group.body)
        self.wait_all_since(first)

    def run_cancelled(self, cancelled):
        first = len(self.tasks)
        self.run_body(cancelled.body)
        self.run(Taskwait())
        require(not self.unfinished(first), "grandchildren would be cancelled")
        self.run_task(Task(body=cancelled.before))
        require(all(isinstance(s, Host) for s in cancelled.before), "malformed")
        self.wait_all_since(first)

    def run_loop(self, loop):
        outer = self.values
        for value in range(loop.count):
            self.values = {**outer, loop.variable: value}
            self.run_body(loop.body)
        self.values = outer

    def run_taskloop(self, loop):
        outer, first = self.values, len(self.tasks)
        for value in range(loop.count):
            self.values = {**outer, loop.variable: value}
            self.run_task(Task(body=loop.body))
        self.values = outer
        if "nogroup" not in loop.flags:
            self.wait_all_since(first)

    def run_parallel(self, parallel):
        for phase in parallel.phases:
            self.run_threads(phase, last_waits=False)

    def run_roots(self, roots):
        self.run_threads(roots.threads, last_waits=True)

    def run_threads(self, bodies, last_waits, join=True):
        first = len(self.tasks)
        for body in bodies:
            begin = len(self.tasks)
            self.stack.append(Context(self.context.done))
            self.run_body(body)
            if last_waits:
                self.run(Taskwait())
                require(not self.unfinished(begin), "tasks left")
            context = self.stack.pop()
            self.tasks.append(Created(len(self.tasks), context.total, self.context.done, frozenset(), frozenset()))
            self.context.total.merge(context.total)
            self.context.offloaded |= context.offloaded
        if join:
            self.wait_all_since(first)

    # --- for the grammar: the world as it is inside a compound statement, where its body begins

    def inside(self, statement):
        """For Parallel and Roots: where the last phase's next body begins."""
        world = self.copy()
        if isinstance(statement, Data):
            world.open_data(statement)
        elif isinstance(statement, Associate):
            world.open_association(statement)
        elif isinstance(statement, Taskloop):
            world.values[statement.variable] = 0
            world.open_task(Task())
        elif isinstance(statement, Task):
            world.open_task(statement, statement.flags == "if(0)")
        elif isinstance(statement, Loop):
            world.values[statement.variable] = 0
        elif isinstance(statement, Parallel):
            for phase in statement.phases[:-1]:
                world.run_threads(phase, last_waits=False)
            world.run_threads(statement.phases[-1], last_waits=False, join=False)
            world.stack.append(Context(world.context.done))
        elif isinstance(statement, Roots):
            world.run_threads(statement.threads, last_waits=True, join=False)
            world.stack.append(Context(world.context.done))
        else:
            assert isinstance(statement, (Taskgroup, Cancelled))
        return world


def judge(program):
    """The World after the program and what the host may read of each array; raises Invalid."""
    world = World(program)
    world.run_body(program.body)
    readable = world.finish()
    return world, readable
