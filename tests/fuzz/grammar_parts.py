# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of statements: sections, items and how their clauses are spelled, operations, dependences."""

from model import Invalid
from program import Depend, Index, Item, Op, Section


class Impossible(Exception):
    """A proposal that could not be made; another is drawn."""


class Parts:
    """Draws parts of statements; a base of Generator, which has the state."""

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
            if again and not item.alias:
                continue  # what a clause names is not mapped by OpenMP's rules as well
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
