# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs. Each statement is proposed with an eye on the model's state, tried on a copy of the World, and kept
only if that accepts it. Each program draws the weights of the constructs anew, so that some programs are all of a kind.
"""

import random

from model import Invalid, World, judge, mask
from program import (Array, Associate, Cancelled, Data, Depend, Detached, DeviceCall, Enter, Exit, Host, Index, Item,
                     Loop, Mapped, Memcpy, Op, Parallel, Present, Program, Renew, Roots, Section, Target, Task,
                     Taskgroup, Taskloop, Taskwait, Update)

TRIES = 12
FORMS = ("target teams distribute parallel for", "target parallel for", "target simd")
STATEMENTS = {  # name -> usual weight
    "target": 10, "host": 3, "enter": 3, "exit": 3, "update": 3, "data": 3, "devicecall": 1.5, "task": 4, "taskwait": 1,
    "taskgroup": 1, "loop": 3, "taskloop": 0.7, "parallel": 2.5, "roots": 0.3, "mapped": 1.5, "memcpy": 1.5,
    "present": 0.5, "associate": 0.4, "renew": 0.8, "detached": 0.5, "cancelled": 0.3,
}
COMPOUND = ("data", "task", "taskgroup", "loop", "taskloop", "parallel", "roots", "associate", "cancelled")
NEEDS_PARALLEL = ("parallel", "roots")


def generate(seed):
    """The program of a seed, with its World and what the host may read at its end."""
    attempt = 0
    while True:
        program = Generator(random.Random(f"{seed}/{attempt}"), seed).program()
        try:
            world, readable = judge(program)
        except Invalid:
            pass
        else:
            if any(isinstance(s, (Target, DeviceCall, Mapped)) for s in program.walk()):
                return program, world, readable
        attempt += 1


class Generator:
    def __init__(self, rng, seed):
        self.rng = rng
        self.seed = seed
        self.weights = {name: weight * rng.choice((0.1, 0.5, 1, 1, 2, 4)) for name, weight in STATEMENTS.items()}
        self.depend_style = rng.choice(("tile", "tile", "section", "token", "other", "chain", "mixed"))
        # With nested regions, teams on LLVM's host devices run into an assertion of libomp 19 (th_set_nproc >= 1).
        self.nested = rng.random() < 0.15
        self.nowait = rng.choice((0.0, 0.5, 0.9, 0.9, 1.0))
        self.alias = rng.choice((0.0, 0.5, 1.0))
        self.shape = rng.choice((0.0, 0.0, 0.3, 0.8))
        self.implicit = rng.choice((0.0, 0.2, 0.6))
        self.spelling = rng.choice((0.0, 0.1, 0.5))
        self.hold = rng.choice((0.0,) * 9 + (0.3,))
        self.globals = rng.choice((0.0,) * 5 + (0.5,))
        self.homes = rng.choice((0.0,) * 4 + (0.5,))
        self.labels = 0
        self.structs = []  # (label, Data) around whose structs kernels may go through
        self.loops = []  # of (variable, count) around
        self.depth = 0
        self.parallel = 0
        self.in_task = 0
        self.budget = rng.choice((12, 25, 50))  # statements, more or less

    def chance(self, p):
        return self.rng.random() < p

    # --- the whole

    def program(self):
        rng = self.rng
        arrays = [self.make_array(name) for name in "abcd"[:rng.choice((1, 2, 2, 3, 3, 4))]]
        if self.chance(0.3):
            arrays.append(Array("m", self.tiles, self.blocks, self.elements, "device"))
        if self.chance(0.3):
            arrays.append(Array("s", 1, 1, 1, "scalar"))
        for array in arrays:
            if array.kind in ("heap", "device") and self.chance(self.homes):
                array.device = rng.randint(0, 3)
        self.out = Program(self.seed, arrays, [], type=rng.choice(("int64_t", "double", "uint32_t", "uint64_t")[:2]),
                           work=rng.choice((1, 1, 1, 40)))
        world = World(self.out)
        first, world = self.first_values(world)
        body, world = self.statements(world, rng.randint(3, 8))
        self.out.body = first + body
        self.close_regions(world)
        return self.out

    def first_values(self, world):
        """Device memory has none, and globals not those of the host, until the program sees to it."""
        body = []
        for number, array in enumerate(self.out.arrays):
            whole = Section(number, Index(0), array.size)
            if array.kind == "global" and self.chance(0.9):
                body.append(Update([Item(whole, "to")]))
            elif array.kind == "device" and self.chance(0.8):
                sources = [Item(Section(n, Index(0), array.size), "host") for n, other in enumerate(self.out.arrays)
                           if other.kind == "heap" and (other.size, other.elements) == (array.size, array.elements)]
                if sources:
                    body.append(Memcpy([Item(whole, "own"), self.rng.choice(sources)], array.device))
        for statement in body:
            world.run(statement)
        return body, world

    def make_array(self, name):
        rng = self.rng
        if not hasattr(self, "elements"):
            self.elements = rng.choice((1, 3, 8, 16, 64))
            self.tiles, self.blocks = rng.randint(1, 6), rng.choice((1, 1, 2, 4))
        if self.chance(0.2):
            return Array(name, rng.randint(1, 6), rng.choice((1, 2, 3)), rng.choice((1, 5, 8, 40)), "heap",
                         rng.choice((0, 1, 3)))
        kind = "global" if self.chance(self.globals) else "local" if self.chance(0.15) else "heap"
        offset = rng.choice((0, 0, 1, 7)) if kind == "heap" else 0
        return Array(name, self.tiles, self.blocks, self.elements, kind, offset)

    def close_regions(self, world):
        """Most programs close what they opened."""
        if self.chance(0.2):
            return
        candidate = world.copy()
        try:
            candidate.run(Taskwait())
            self.out.body.append(Taskwait())
            for number in range(len(self.out.arrays)):
                for _ in range(4):
                    statement = self.propose_exit(candidate, array=number)
                    trial = candidate.copy()
                    trial.run(statement)
                    candidate = trial
                    self.out.body.append(statement)
        except (Invalid, Impossible):
            pass

    def statements(self, world, count):
        """A list of statements and the World after it."""
        body = []
        for _ in range(count):
            if self.budget <= 0:
                break
            statement, world = self.statement(world)
            if statement is not None:
                body.append(statement)
                self.budget -= 1
        return body, world

    def statement(self, world):
        names = [name for name in self.weights if self.permitted(name)]
        for _ in range(TRIES):
            name = self.rng.choices(names, [self.weights[name] for name in names])[0]
            trial = world.copy()
            try:
                statement = getattr(self, "propose_" + name)(trial)
                trial = world.copy()
                trial.run(statement)
                return statement, trial
            except (Invalid, Impossible):
                continue
        return None, world

    def permitted(self, name):
        if name in COMPOUND and self.depth >= 4:
            return False
        if name == "renew" and (self.parallel or self.in_task):
            return False
        if name in NEEDS_PARALLEL and (self.parallel > self.nested or self.in_task or self.loops):
            return False
        return not (name == "roots" and self.parallel)

    def inner(self, world, statement, body, low=1, high=4):
        """Fills `body`, which lies inside `statement`."""
        self.depth += 1
        try:
            inside = world.inside(statement)
            body[:], _ = self.statements(inside, self.rng.randint(low, high))
        finally:
            self.depth -= 1
        if all(isinstance(s, Taskwait) for s in body):
            raise Impossible

    # --- sections and items

    def pick(self, kinds, home=()):
        """An array of one of these kinds; `home`, if given, holds the device that it must be used with."""
        numbers = [number for number, array in enumerate(self.out.arrays)
                   if array.kind in kinds and (not home or array.device == home[0])]
        if not numbers:
            raise Impossible
        return self.rng.choice(numbers)

    def section(self, world, device_side, kinds=("heap", "local", "global", "scalar"), home=()):
        """Somewhere; what is present is met more often than not when `device_side`."""
        rng = self.rng
        number = self.pick(kinds, home)
        array = self.out.arrays[number]
        if array.size == 1:
            return Section(number, Index(0), 1)
        entries = world.copies[number].entries
        if self.loops and self.chance(0.7):
            return self.section_of_loop(number, array)
        if device_side and entries and self.chance(0.7):
            lo, n, _, _ = rng.choice(entries)
            if self.chance(0.5):
                return Section(number, Index(lo), n)
            at = rng.randrange(n)
            return Section(number, Index(lo + at), rng.randint(1, n - at))
        kind = rng.random()
        if kind < 0.5:
            return Section(number, Index(rng.randrange(array.tiles) * array.blocks), array.blocks)
        if kind < 0.7:
            return Section(number, Index(0), array.size)
        at = rng.randrange(array.size)
        return Section(number, Index(at), rng.randint(1, array.size - at))

    def section_of_loop(self, number, array):
        """A tile, or two, at a position that moves with the innermost loop."""
        variable, count = self.loops[-1]
        step = self.rng.choice((array.blocks, array.blocks, 1))
        n = array.blocks if self.chance(0.8) else 1
        room = array.size - n - step * (count - 1)
        if room < 0:
            raise Impossible
        if self.chance(0.3):
            return Section(number, Index(room if self.chance(0.3) else 0, ((variable, step),)), n)
        base = self.rng.randint(0, room) // array.blocks * array.blocks
        return Section(number, Index(base, ((variable, step),)), n)

    def present(self, world, section):
        lo = section.lo.at(world.values)
        try:
            return world.copies[section.array].find(lo, section.n) is not None
        except Invalid:
            raise Impossible from None

    def number(self):
        """A constant, or one that moves with a loop."""
        base = self.rng.randint(1, 9)
        if self.loops and self.chance(0.5):
            return Index(base, ((self.loops[-1][0], self.rng.randint(1, 5)),))
        return Index(base)

    def use_alias(self, section):
        return self.out.arrays[section.array].kind != "scalar" and self.chance(self.alias)

    def device_of(self, items):
        """The device that all of these are used with; private copies are used anywhere."""
        return next((self.out.arrays[item.section.array].device for item in items
                     if self.out.arrays[item.section.array].kind != "scalar"), None)

    def kernel_items(self, world, kinds=("heap", "local", "global", "scalar", "device")):
        """(item, reads, writes) for one to three sections, mostly of different arrays."""
        chosen, arrays, home = [], set(), ()
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            section = self.section(world, True, kinds, home)
            array = self.out.arrays[section.array]
            again = section.array in arrays
            if again and (self.chance(0.8) or array.kind == "scalar"):
                continue
            arrays.add(section.array)
            home = (array.device,)
            role = self.rng.choice(("r", "w", "rw", "rw"))
            item = Item(section, alias=again or self.use_alias(section))
            if array.kind != "device":
                self.spell(world, item, role)
            chosen.append((item, role))
        if not any("w" in role for _, role in chosen):
            item, _ = chosen[-1]
            if item.map:
                item.map = self.map_type(world, item.section, "rw")
            chosen[-1] = (item, "rw")
        if any(again.alias for again, _ in chosen):
            for item, _ in chosen:
                item.alias = item.alias or sum(o.section.array == item.section.array for o, _ in chosen) > 1
        return chosen

    def spell(self, world, item, role):
        """How a kernel's clauses, or OpenMP's rules without them, map an item."""
        array = self.out.arrays[item.section.array]
        present = self.present(world, item.section)
        item.map = self.map_type(world, item.section, role)
        if array.kind == "local" and self.chance(self.implicit):
            item.section, item.alias = Section(item.section.array, Index(0), array.size), False
            item.map = "firstprivate" if role == "r" and self.chance(0.4) else "implicit"
        elif self.chance(self.implicit) and (present or array.kind == "scalar" and role == "r"):
            item.map = "implicit"
            item.alias = item.alias or array.kind == "heap" and self.chance(0.6)
        elif present:
            item.present = self.chance(0.05)
            item.always = item.map != "alloc" and self.chance(0.08)
            item.zero = array.kind != "scalar" and self.chance(0.06)
        if item.map in ("to", "from", "tofrom", "alloc"):
            item.close = self.chance(0.03)
            item.hold = self.chance(self.hold)

    def map_type(self, world, section, role):
        scalar = self.out.arrays[section.array].kind == "scalar"
        if self.present(world, section):
            return self.rng.choice(("tofrom", "tofrom", "to", "from", "alloc"))
        if role == "r":
            return "firstprivate" if scalar and self.chance(0.6) else self.rng.choice(("to", "to", "tofrom"))
        if role == "w":
            return self.rng.choice(("from", "from", "tofrom", "alloc"))
        return self.rng.choice(("tofrom", "tofrom", "tofrom", "to"))

    def operations(self, chosen):
        ops = []
        for index, (item, role) in enumerate(chosen):
            if "w" not in role:
                continue
            full = item.map in ("from", "alloc", "") or role == "w" or self.chance(0.6)
            n = item.section.n if full else self.rng.randint(1, item.section.n)
            at = self.rng.randint(0, item.section.n - n)
            kind = "set" if role == "w" else self.rng.choice(("update", "update", "add"))
            source = self.source(chosen, index, n) if kind != "add" else (-1, 0)
            ops.append(Op(kind, index, at, source[0], source[1], n, self.number()))
        return self.with_sums(chosen, ops)

    def source(self, chosen, index, n):
        elements = self.out.arrays[chosen[index][0].section.array].elements
        candidates = [i for i, (item, role) in enumerate(chosen)
                      if "r" in role and i != index and item.section.n >= n
                      and self.out.arrays[item.section.array].elements == elements]
        if not candidates or self.chance(0.1):
            return -1, 0
        source = self.rng.choice(candidates)
        return source, self.rng.randint(0, chosen[source][0].section.n - n)

    def with_sums(self, chosen, ops):
        """Reads of arrays that no operation uses yet go into a scalar that the kernel writes."""
        scalars = [i for i, (item, role) in enumerate(chosen)
                   if self.out.arrays[item.section.array].kind == "scalar" and role == "rw"]
        for index, (item, role) in enumerate(chosen):
            if scalars and role == "r" and self.out.arrays[item.section.array].kind != "scalar":
                ops.append(Op(self.rng.choice(("sum", "sum", "max")), scalars[0], 0, index, 0, item.section.n))
        return ops

    # --- dependences

    def depends(self, accesses):
        """For (section, writes) pairs, in the program's style."""
        style = self.depend_style
        if style == "mixed":
            style = self.rng.choice(("tile", "section", "token"))
        items = {}
        for section, writes in accesses:
            for array, lo, n in self.places(style, section):
                key = (array, lo, n)
                items[key] = items.get(key, False) or writes
        result = []
        for (array, lo, n), writes in items.items():
            result.append(Depend(self.rng.choice(("inout", "inout", "out")) if writes else "in", array, lo, n))
        if result and self.chance(0.05):
            result.pop(self.rng.randrange(len(result)))
        if self.chance(0.02):
            result.append(Depend(self.rng.choice(("inout", "out")), -2, Index(0)))
        return result

    def spell_depends(self, statement):
        if statement.depends and self.chance(self.spelling):
            statement.spelling = self.rng.choice(("depobj", "iterator", "iterator"))
            if any(depend.array == -2 for depend in statement.depends):
                statement.spelling = "plain"
            if statement.spelling == "iterator":
                statement.depends.sort(key=lambda depend: (depend.array, depend.lo.steps, depend.type, depend.lo.base))

    def places(self, style, section):
        array = self.out.arrays[section.array]
        if style == "chain":
            return [(-1, Index(0), 0)]
        if style == "token":
            return [(-1, Index(section.array % self.out.tokens), 0)]
        if style == "section":
            return [(section.array, section.lo, section.n)]
        lo, blocks = section.lo, array.blocks
        aligned = all(step % blocks == 0 for _, step in lo.steps)
        if not aligned:
            starts = [Index(tile * blocks) for tile in range(array.tiles)]
        else:
            first = lo.base // blocks * blocks
            starts = [Index(at, lo.steps) for at in range(first, lo.base + section.n, blocks)]
        target = 0 if style == "other" and self.out.arrays[0].kind != "scalar" else section.array
        limit = self.out.arrays[target].size
        if any(start.base >= limit or start.steps and target != section.array for start in starts):
            return [(-1, Index(section.array % self.out.tokens), 0)]
        return [(target, start, 0) for start in starts]

    def set_like(self, depends, code):
        """Commutative tasks may say so."""
        places = [depend for depend in depends if depend.array != -2]
        if self.chance(0.5) and code.ops and all(op.kind == "add" for op in code.ops):
            for depend in places:
                if depend.type in ("inout", "out"):
                    depend.type = "mutexinoutset"
        elif self.chance(0.08):
            for depend in places:
                if depend.type == "inout":
                    depend.type = "inoutset"

    # --- statements

    def propose_target(self, world):
        if self.structs and self.chance(0.5):
            return self.target_through()
        chosen = self.kernel_items(world)
        target = Target([item for item, _ in chosen], self.operations(chosen))
        if not target.ops:
            raise Impossible
        if self.chance(0.05):
            self.add_zero(world, target)
        target.device = self.device_of(target.items)
        target.nowait = self.chance(self.nowait)
        self.choose_shape(target)
        self.finish_target(target, [(item.section, "w" in role) for item, role in chosen])
        if self.chance(0.06):
            target.condition = self.chance(0.5)
        return target

    def finish_target(self, target, accesses):
        if target.nowait and self.chance(0.9) or self.chance(0.15):
            target.depends = self.depends(accesses)
            self.set_like(target.depends, target)
            self.spell_depends(target)
        if not target.nowait:
            target.by_default = target.device is not None and self.chance(0.3)
            target.defaultmap = not self.loops and self.chance(0.1)
        if len(target.ops) == 1 and self.chance(0.4):
            target.form = self.rng.choice(FORMS[1:] if self.nested else FORMS)

    def add_zero(self, world, target):
        """A section of no elements, of what may be present or not, which the kernel does not use."""
        section = self.section(world, True, ("heap",), (self.device_of(target.items),))
        if all(item.section.array != section.array for item in target.items):
            target.items.append(Item(section, self.rng.choice(("to", "tofrom", "alloc")), zero=True,
                                     alias=self.chance(0.5)))

    def choose_shape(self, statement, shapes=("members", "parent", "variable", "table", "mapper")):
        """Pointers become members of a struct, or such."""
        items = [item for item in statement.items
                 if item.alias and self.out.arrays[item.section.array].kind != "device"]
        if not items or not self.chance(self.shape):
            return
        shape = self.rng.choice(shapes)
        if shape == "variable" and statement.nowait:
            shape = "members"
        statement.shape = shape
        for item in items:
            item.zero = item.present = False
            if item.map == "implicit":
                item.map = "tofrom"
            elif item.map == "alloc" and shape == "table":
                item.map = "to"  # clang 19 maps the element that has the pointer before the whole table otherwise
        if shape == "mapper":
            maps = [item.map for item in items if item.map in ("to", "from", "tofrom", "release", "delete")]
            map_ = self.rng.choice(maps or ["tofrom"])
            map_ = "tofrom" if map_ == "from" and isinstance(statement, (Target, Data)) else map_
            map_ = "release" if map_ == "delete" else map_  # as which it reaches libomptarget through a mapper
            for item in items:
                item.map, item.always, item.present, item.close, item.hold = map_, False, False, False, False

    def target_through(self):
        """A kernel that finds its arrays in the struct of a region around it."""
        label, data = self.rng.choice(self.structs)
        chosen = []
        for member, item in enumerate(data.items):
            if chosen and self.chance(0.4):
                continue
            at = 0 if self.chance(0.5) else self.rng.randrange(item.section.n)
            n = item.section.n - at if self.chance(0.6) else self.rng.randint(1, item.section.n - at)
            lo = item.section.lo
            section = Section(item.section.array, Index(lo.base + at, lo.steps), n)
            chosen.append((Item(section, "alloc", member=member), self.rng.choice(("w", "rw", "rw"))))
        self.rng.shuffle(chosen)
        target = Target([item for item, _ in chosen], self.operations(chosen), through=label,
                        parent=self.chance(0.5), device=data.device, nowait=self.chance(self.nowait))
        self.finish_target(target, [(item.section, "w" in role) for item, role in chosen])
        target.by_default = target.defaultmap = False
        return target

    def propose_host(self, world):
        """Host code on one or two sections."""
        items, ops = [], []
        for _ in range(self.rng.choice((1, 1, 2))):
            section = self.section(world, False)
            if section.array in (item.section.array for item in items):
                continue
            items.append(Item(section, alias=self.use_alias(section)))
        for index, item in enumerate(items):
            scalar = self.out.arrays[item.section.array].kind == "scalar"
            kind = self.rng.choice(("check", "check", "update", "set", "add"))
            if kind == "check":
                if scalar:
                    raise Impossible
                ops.append(Op("check", src=index, n=item.section.n, k=self.number()))
            else:
                ops.append(Op(kind, index, 0, -1, 0, item.section.n, self.number()))
        return Host(items, ops)

    def regions_items(self, world, maps):
        items, arrays, home = [], set(), ()
        for _ in range(self.rng.choice((1, 1, 2))):
            section = self.section(world, self.chance(0.3), ("heap", "local", "global"), home)
            if section.array not in arrays:
                arrays.add(section.array)
                home = (self.out.arrays[section.array].device,)
                items.append(Item(section, self.rng.choice(maps), alias=self.use_alias(section)))
                items[-1].always = self.present(world, section) and items[-1].map != "alloc" and self.chance(0.1)
                items[-1].close, items[-1].zero = self.chance(0.03), self.chance(0.03)
        return items

    def maybe_task(self, statement):
        """nowait and depend clauses on enter, exit and update."""
        statement.device = self.device_of(statement.items)
        if self.chance(self.nowait * 0.6):
            statement.nowait = True
            statement.depends = self.depends([(item.section, True) for item in statement.items])
            self.spell_depends(statement)
        else:
            statement.by_default = statement.device is not None and self.chance(0.3)
        self.choose_shape(statement, ("members", "table", "mapper"))
        return statement

    def propose_enter(self, world):
        return self.maybe_task(Enter(self.regions_items(world, ("to", "to", "to", "alloc"))))

    def propose_exit(self, world, array=None):
        """Of something that is present."""
        arrays = [n for n, copies in enumerate(world.copies)
                  if copies.entries and array in (None, n) and self.out.arrays[n].kind != "device"]
        if not arrays:
            raise Impossible
        number = self.rng.choice(arrays)
        lo, n, _, _ = self.rng.choice(world.copies[number].entries)
        if self.chance(0.15):
            at = self.rng.randrange(n)
            lo, n = lo + at, self.rng.randint(1, n - at)
        bits = mask(lo, n)
        copies = world.copies[number]
        maps = ["release"] if self.out.arrays[number].kind == "global" else ["release", "delete"]
        if not bits & ~copies.defined and not bits & copies.pending:
            maps += ["from"] * 4
        section = Section(number, Index(lo), n)
        item = Item(section, self.rng.choice(maps), alias=self.use_alias(section), zero=self.chance(0.03))
        return self.maybe_task(Exit([item]))

    def propose_update(self, world):
        items, arrays, home = [], set(), ()
        for _ in range(self.rng.choice((1, 1, 2))):
            section = self.section(world, True, ("heap", "local", "global"), home)
            if section.array in arrays:
                continue
            present = self.present(world, section)
            if not present and self.chance(0.9):
                raise Impossible
            arrays.add(section.array)
            home = (self.out.arrays[section.array].device,)
            items.append(Item(section, self.rng.choice(("to", "from")), alias=self.use_alias(section),
                              present=present and self.chance(0.1)))
        return self.maybe_task(Update(items))

    def propose_data(self, world):
        data = Data([], self.regions_items(world, ("to", "tofrom", "tofrom", "from", "alloc")))
        data.device = self.device_of(data.items)
        for item in data.items:
            item.hold = self.chance(self.hold)
        if self.chance(self.shape):
            for item in data.items:
                item.alias = True
        if all(item.alias for item in data.items):
            self.choose_shape(data, ("parent", "table", "mapper"))
        if not data.shape:
            self.inner(world, data, data.body)
            return data
        self.labels += 1
        data.label = self.labels
        self.structs.append((data.label, data))
        try:
            self.inner(world, data, data.body, 2, 5)
        finally:
            self.structs.pop()
        return data

    # --- device addresses

    def propose_devicecall(self, world):
        how = self.rng.choice(("call", "call", "kernel", "address"))
        chosen = self.kernel_items(world, ("local",) if how == "address" and self.chance(0.5) else
                                   ("heap", "local", "global"))
        for item, _ in chosen:
            array = self.out.arrays[item.section.array]
            if item.map in ("firstprivate", "implicit"):
                item.map = "tofrom"
            item.zero = False
            item.alias = not (how == "address" and array.kind == "local" and item.section.n == array.size)
            if self.present(world, item.section) and not item.always and not item.present and self.chance(0.7):
                item.map = ""
        items = [item for item, _ in chosen]
        if len({item.section.array for item in items if not item.alias}) < sum(not item.alias for item in items):
            raise Impossible
        return DeviceCall(items, self.operations(chosen), how, self.device_of(items))

    def propose_mapped(self, world):
        chosen = [(Item(item.section), role) for item, role in self.kernel_items(world, ("heap", "local", "global"))
                  if self.present(world, item.section)]
        if not chosen:
            raise Impossible
        items = [item for item, _ in chosen]
        code = Mapped(items, self.operations(chosen), self.device_of(items))
        if not code.ops:
            raise Impossible
        return code

    def propose_memcpy(self, world):
        """From or to device memory of the program's own, or what is mapped."""
        section = self.section(world, True, ("heap", "local", "global", "device"))
        array = self.out.arrays[section.array]
        others = [n for n, other in enumerate(self.out.arrays) if n != section.array and other.kind != "scalar"
                  and other.elements == array.elements and other.size >= section.n]
        if not others or section.lo.steps:
            raise Impossible
        number = self.rng.choice(others)
        room = self.out.arrays[number].size - section.n
        second = Section(number, section.lo if section.lo.base <= room else Index(self.rng.randint(0, room)), section.n)
        items = [Item(section), Item(second)]
        for item in items:
            own = self.out.arrays[item.section.array].kind == "device"
            item.map = "own" if own else "mapped" if self.present(world, item.section) and self.chance(0.6) else "host"
        on_device = [item for item in items if item.map != "host"]
        if self.chance(0.5):
            items.reverse()
        return Memcpy(items, self.device_of(on_device))

    def propose_present(self, world):
        section = self.section(world, self.chance(0.5), ("heap",))
        return Present([Item(section)], self.out.arrays[section.array].device)

    def propose_associate(self, world):
        number = self.pick(("heap",))
        if world.copies[number].entries:
            raise Impossible
        associate = Associate([], number)
        self.inner(world, associate, associate.body, 2, 5)
        if self.chance(0.8):
            whole = Section(number, Index(0), self.out.arrays[number].size)
            device = self.out.arrays[number].device
            associate.body.insert(0, Update([Item(whole, "to")], device=device))
        return associate

    def propose_renew(self, world):
        free = [number for number, array in enumerate(self.out.arrays)
                if array.kind == "device" or array.kind == "heap" and not world.copies[number].entries]
        if not free:
            raise Impossible
        return Renew(self.rng.sample(free, self.rng.randint(1, len(free))))

    # --- tasks

    def propose_task(self, world):
        """A host task; its dependences are found from what its body touches."""
        task = Task(flags=self.rng.choice(("", "", "", "", "untied", "mergeable", "priority(2)", "if(0)", "final(1)")))
        self.in_task += 1
        try:
            self.inner(world, task, task.body, 1, self.rng.choice((1, 1, 3)))
        finally:
            self.in_task -= 1
        # libomp may go on with an untied task on top of its own child, which waits: then neither ends, also without the
        # library. Clang 19 breaks on the next two ("Instruction does not dominate all uses"), and forgets the arguments of a
        # data region where the task is interrupted inside.
        unsuited = (Task, Detached, Taskgroup, Taskloop, Data)
        if task.flags == "untied" and any(isinstance(s, unsuited) for s in self.out.walk(task.body)):
            task.flags = ""
        task.depends = self.depends(self.touched(task.body))
        self.spell_depends(task)
        if len(task.body) == 1 and isinstance(task.body[0], Host):
            self.set_like(task.depends, task.body[0])
        if self.chance(0.7):
            task.body.append(Taskwait())
        if all(isinstance(s, (Host, Taskwait)) for s in task.body):
            task.body = [s for s in task.body if not isinstance(s, Taskwait)]
        return task

    def touched(self, body):
        """(section, writes) of all that a body touches; sections that move with loops inside it as whole arrays."""
        accesses = []
        outside = {name for name, _ in self.loops}
        for statement in self.out.walk(body):
            for index, item in enumerate(getattr(statement, "items", [])):
                writes = any(op.dst == index for op in getattr(statement, "ops", [])) or not hasattr(statement, "ops")
                if isinstance(statement, Memcpy):
                    writes = index == 0
                section = item.section
                if any(name not in outside for name, _ in section.lo.steps):
                    section = Section(section.array, Index(0), self.out.arrays[section.array].size)
                accesses.append((section, writes))
        return accesses

    def propose_taskwait(self, world):
        if self.chance(0.3):
            section = self.section(world, False)
            wait = Taskwait(self.depends([(section, self.chance(0.5))]))
            wait.nowait = bool(wait.depends) and self.chance(0.4)
            self.spell_depends(wait)
            return wait
        return Taskwait()

    def propose_detached(self, world):
        statement = Detached()
        for task in (statement.first, statement.second):
            task.body = [self.propose_host(world)]
            task.depends = self.depends(self.touched(task.body))
        return statement

    def propose_cancelled(self, world):
        """What never runs is made for the state at the group's begin."""
        cancelled = Cancelled()
        self.inner(world, cancelled, cancelled.body, 1, 3)
        if self.chance(0.6):
            cancelled.before = [self.propose_host(world)]
        for _ in range(self.rng.randint(1, 3)):
            cancelled.dead.append(self.propose_target(world) if self.chance(0.6) else self.propose_host(world))
        return cancelled

    def propose_taskgroup(self, world):
        group = Taskgroup()
        self.inner(world, group, group.body)
        return group

    def propose_loop(self, world, kind=Loop):
        loop = kind(variable=f"i{len(self.loops)}", count=self.rng.choice((2, 3, 4, 6)))
        if kind is Taskloop:
            loop.flags = self.rng.choice(("", "", "", "nogroup", "mergeable", "final(1)", "priority(3)"))
        self.loops.append((loop.variable, loop.count))
        try:
            self.inner(world, loop, loop.body, 1, 3)
        finally:
            self.loops.pop()
        return loop

    def propose_taskloop(self, world):
        self.in_task += 1
        try:
            return self.propose_loop(world, Taskloop)
        finally:
            self.in_task -= 1

    def propose_parallel(self, world):
        kind = self.rng.choice(("single", "single", "single", "master", "threads"))
        parallel = Parallel(kind, self.rng.choice((1, 2, 2, 3, 4)), [])
        self.parallel += 1
        try:
            for _ in range(self.rng.choice((1, 1, 2))):
                parallel.phases.append([])
                for _ in range(parallel.threads if kind == "threads" else 1):
                    self.add_thread(world, parallel, parallel.phases[-1], 8 if kind != "threads" else 3)
        finally:
            self.parallel -= 1
        # On LLVM's host devices a thread that has run a kernel with teams miscounts the single constructs of its own region:
        # later ones may be left out, or met twice.
        forms = {s.form for s in self.out.walk(parallel.bodies()[0]) if isinstance(s, Target)}
        if kind == "single" and len(parallel.phases) > 1 and not forms.isdisjoint(FORMS[:2]):
            parallel.kind = "master"
        return parallel

    def propose_roots(self, world):
        if any(array.kind in ("local", "scalar") for array in self.out.arrays):
            raise Impossible
        roots, around = Roots([]), self.structs
        self.structs = []  # a function of its own does not see them
        try:
            for _ in range(2):
                self.add_thread(world, roots, roots.threads, 4)
        finally:
            self.structs = around
        return roots

    def add_thread(self, world, statement, bodies, high):
        body = []
        self.inner(world, statement, body, 2, high)
        bodies.append(body)


class Impossible(Exception):
    """A proposal that could not be made; another is drawn."""
