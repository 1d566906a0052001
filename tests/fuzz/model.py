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
- what the host wrote inside a region is not mapped by a kernel before it is updated.
"""

from program import Data, Host, Loop, Parallel, Roots, Task, Taskgroup, Taskloop, Taskwait

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

    Spaces: host, device, presence. `temporary` are the sections that are present only during a construct: two that
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
            if key in other.masks and key[1] not in exempt:
                r2, w2, c2, b2 = other.masks[key]
                if w & (r2 | w2 | c2 | b2) or w2 & (r | c | b) or r & b2 or r2 & b:
                    return key
        for array, lo, n in self.temporary:
            for array2, lo2, n2 in other.temporary:
                if array == array2 and array not in exempt and (lo, n) != (lo2, n2) and mask(lo, n) & mask(lo2, n2):
                    return ("temporary", array)
        return None


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
    between its children, `total` all that it touched."""

    def __init__(self, done, task=None, mutexes=frozenset(), commutative=frozenset()):
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
        twin.scope = {key: dict(node) for key, node in self.scope.items()}
        twin.children = list(self.children)
        twin.total = self.total.copy()
        twin.offloaded = set(self.offloaded)
        twin.hosted = set(self.hosted)
        return twin


class Copies:
    """One array in one device data environment."""

    def __init__(self):
        self.entries = []  # (lo, n, count)
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
        for lo, n, _ in self.entries:
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
        self.tasks = []
        self.stack = [Context(0)]
        self.values = {}
        self.largest_item = self.largest_task = 0  # bytes in a pool
        self.largest_whole = 0  # the same as largest_task with whole arrays instead of sections
        self.depend_mode = True  # OMPDARTS_COHERENCE=depend is permitted
        self.shows = False  # device addresses, which hold memory
        self.discards = False  # what kernels wrote: they must not run on the host
        self.steps = 0

    def copy(self):
        twin = World(self.program)
        twin.copies = [copies.copy() for copies in self.copies]
        twin.home = dict(self.home)
        twin.tasks = list(self.tasks)
        twin.stack = [context.copy() for context in self.stack]
        twin.values = dict(self.values)
        twin.largest_item, twin.largest_task = self.largest_item, self.largest_task
        twin.largest_whole = self.largest_whole
        twin.depend_mode, twin.discards, twin.steps = self.depend_mode, self.discards, self.steps
        twin.shows = self.shows
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
            key = (depend.array, depend.lo.at(self.values))
            node = scope.setdefault(key, {"last": [], "kind": "out", "earlier": [], "ins": []})
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
                mutexes.add(key)
        before.discard(number)
        return before, frozenset(mutexes)

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

    def note_memory(self, items):
        """What a device needs for these."""
        sizes = [self.bytes(item.section.array, item.section.n) for item in items]
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
        copies = self.copies[array]
        entry = copies.find(lo, n)
        footprint.add("presence", array, reads=bits, writes=0 if temporary else bits)
        copy_in = item.map in ("to", "tofrom") and (entry is None or item.always)
        if entry is None:
            require(not item.present, "present")
            copies.entries.append((lo, n, 1))
            copies.clear(bits)
            if temporary:
                footprint.temporary.add((array, lo, n))
                if not copy_in:
                    footprint.add("device", array, writes=bits)
        else:
            copies.entries.remove(entry)
            copies.entries.append((entry[0], entry[1], entry[2] + 1))
        if copy_in:
            require(not copies.stale & bits, "copies in what the device has newer")
            footprint.add("host", array, copies=bits)
            footprint.add("device", array, writes=bits if not temporary or entry else 0)
            copies.defined |= bits
            copies.pending &= ~bits
        require(not (temporary and copies.pending & bits), "LIMIT: kernel maps what awaits an update")

    def end(self, item, footprint, temporary, written=0):
        """A map item at the end of its construct; `written` are the blocks that a kernel wrote."""
        array, lo, n, bits = self.resolve(item.section)
        copies = self.copies[array]
        entry = copies.find(lo, n)
        footprint.add("presence", array, reads=bits, writes=0 if temporary else bits)
        if entry is None:
            return
        copies.entries.remove(entry)
        count = 0 if item.map == "delete" else entry[2] - 1
        if count > 0:
            copies.entries.append((entry[0], entry[1], count))
        if item.map in ("from", "tofrom") and (count == 0 or item.always):
            require(bits & ~copies.defined == 0, "copies back what is undefined")
            require(not copies.pending & bits, "copies back over what the host wrote")
            unchanged = bits & ~written if temporary else 0
            footprint.add("host", array, writes=bits & ~unchanged, backs=unchanged)
            footprint.add("device", array, reads=bits)
            copies.stale &= ~bits
        if count == 0:
            self.discards = self.discards or bool(copies.stale & mask(entry[0], entry[1]))
            copies.clear(mask(entry[0], entry[1]))

    def begin_all(self, items, device, footprint, temporary, shared=True):
        self.check_items(items, shared)
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
            dst = self.part(code.items, op.dst, op.at, 1 if op.kind == "sum" else op.n)
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
        require(op.kind == "sum" or elements[0] == elements[1], "blocks of two sizes")
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
                footprint.add("device", array, reads=bits)
            if dst:
                array, bits = dst
                require(array not in private, "writes a private copy")
                footprint.add("device", array, writes=bits)
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
        self.note_host(code)

    def note_host(self, code):
        context = self.context
        for item in code.items:
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

    def run_target(self, target):
        now, footprint = Footprint(), Footprint()
        private = [item for item in target.items if item.map == "firstprivate"]
        mapped = [item for item in target.items if item.map != "firstprivate"]
        for item in private:
            array, _, _, bits = self.resolve(item.section)
            require(not bits & self.copies[array].stale, "host reads what the device has newer")
            now.add("host", array, reads=bits)
        self.perform(now)
        if not target.nowait and target.depends:
            self.wait(self.predecessors(target.depends)[0])
        if target.condition is False:
            self.depend_mode = False
            self.host_operate(target, footprint)
        else:
            self.launch(target, mapped, private, footprint)
        if target.nowait:
            self.create(footprint, target.depends, self.commutative(target))
        else:
            self.perform(footprint)

    def launch(self, target, mapped, private, footprint):
        self.note_offload(mapped)
        self.note_memory(mapped)
        self.begin_all(mapped, target.device, footprint, True)
        written = self.operate(target, footprint, {item.section.array for item in private})
        for item in mapped:
            self.end(item, footprint, True, written.get(item.section.array, 0))

    def run_devicecall(self, call):
        footprint = Footprint()
        self.note_offload(call.items)
        for item in call.items:
            if not item.map:
                array, lo, n, bits = self.resolve(item.section)
                require(self.copies[array].find(lo, n) is not None, "absent")
                require(not self.copies[array].pending & bits, "LIMIT: kernel maps what awaits an update")
                footprint.add("presence", array, reads=bits)
        mapped = [item for item in call.items if item.map]
        self.note_memory(call.items)
        self.shows = True
        self.begin_all(mapped, None, footprint, True)
        written = self.operate(call, footprint)
        for item in mapped:
            self.end(item, footprint, True, written.get(item.section.array, 0))
        self.perform(footprint)

    def directive(self, statement, effect):
        """Enter, exit and update: in place, or as a task."""
        footprint = Footprint()
        if not statement.nowait and statement.depends:
            self.wait(self.predecessors(statement.depends)[0])
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
        for item in statement.items:
            array, lo, n, _ = self.resolve(item.section)
            require(self.copies[array].find(lo, n) is not None, "exit of absent data")
            self.at_home(array, statement.device)
            self.end(item, footprint, False)

    def run_update(self, update):
        self.directive(update, lambda footprint: self.update(update, footprint))

    def update(self, update, footprint):
        seen = {}
        for item in update.items:
            array, lo, n, bits = self.resolve(item.section)
            require(not seen.get(array, 0) & bits, "items overlap")
            seen[array] = seen.get(array, 0) | bits
            self.at_home(array, update.device)
            copies = self.copies[array]
            footprint.add("presence", array, reads=bits)
            if copies.find(lo, n) is None:
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
        footprint = Footprint()
        self.check_items(data.items, False)
        for item in data.items:
            self.end(item, footprint, False)
        self.perform(footprint)

    def open_data(self, data):
        footprint = Footprint()
        self.note_offload(data.items)
        self.begin_all(data.items, data.device, footprint, False, shared=False)
        self.perform(footprint)

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
            self.wait(self.predecessors(task.depends)[0])
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

    def run_taskwait(self, wait):
        if wait.depends:
            self.depend_mode = False
            self.wait(self.predecessors(wait.depends)[0])
        else:
            self.wait(self.context.children)

    def run_taskgroup(self, group):
        first = len(self.tasks)
        self.run_body(group.body)
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
            assert isinstance(statement, Taskgroup)
        return world


def judge(program):
    """The World after the program and what the host may read of each array; raises Invalid."""
    world = World(program)
    world.run_body(program.body)
    readable = world.finish()
    return world, readable
