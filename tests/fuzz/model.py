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

from model_data import DataState
from model_state import Context, Copies, Created, Footprint, Invalid, mask, require
from program import Associate, Cancelled, Data, Host, Loop, Parallel, Roots, Task, Taskgroup, Taskloop, Taskwait


# Scenes in which the host writes what is present.
HOST_WRITES = ("script", "wrong", "struct", "reference", "class", "whole arrays")


class World(DataState):
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
        self.scenes = False  # there are some
        self.shows = False  # device addresses, which hold memory
        self.binds = False  # data to a device until their region closes
        self.discards = False  # what kernels wrote, or meets the host: they must not run there
        self.meets_host = False  # the host and unordered kernels use their own copies of the same: only as `strict`
        self.overwrites = False  # the host writes what is present
        self.steps = 0
        self.cost = 0  # steps, and those that scenes stand for
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
        twin.cost = self.cost
        twin.shows, twin.binds, twin.scenes = self.shows, self.binds, self.scenes
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

    # --- statements

    def run_body(self, body):
        for statement in body:
            self.run(statement)

    def run(self, statement):
        self.steps += 1
        self.cost += getattr(statement, "cost", 1)
        require(self.steps < 2000, "too long")
        getattr(self, "run_" + type(statement).__name__.lower())(statement)

    def finish(self):
        """The end of the program: waits, and returns array -> blocks that the host may read."""
        self.run(Taskwait())
        require(not self.unfinished(0), "tasks left")
        return [mask(0, array.size) & ~copies.stale for array, copies in zip(self.program.arrays, self.copies)]

    def unfinished(self, first):
        return mask(first, len(self.tasks) - first) & ~self.context.done

    def run_scene(self, scene):
        """It uses nothing of the program's, but memory on the devices, whose shape nobody tells the model."""
        self.shows = self.binds = self.scenes = True
        self.overwrites = self.overwrites or scene.kind in HOST_WRITES
        self.discards = self.discards or scene.discards
        self.depend_mode = False

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
