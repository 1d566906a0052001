# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels, host code, and what is about data: regions, updates, device addresses, memory."""

from grammar_parts import Impossible
from model import mask
from program import (Associate, Data, DeviceCall, Enter, Exit, Host, Index, Item, Mapped, Memcpy, Op, Present, Renew,
                     Section, Target, Update)

FORMS = ("target teams distribute parallel for", "target parallel for", "target simd")


class DataStatements:
    """A base of Generator."""

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
