# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C text of items, map clauses, operations and dependences."""

from program import Exit

MEMBERS = 4  # of the struct: as many as a statement has items


class PartsText:
    """A base of Emitter, which has the lines."""

    def array(self, item):
        return self.program.arrays[item.section.array]

    def aliases(self, statement):
        """Declares a pointer, or a struct's member, for each item that wants one; returns item index -> its C text."""
        names, shape, structure, member = {}, getattr(statement, "shape", ""), None, 0
        for number, item in enumerate(statement.items):
            if not item.alias:
                continue
            array = self.array(item)
            address = f"{array.name} + {self.index(item.section.lo, array.elements)}"
            if not shape or array.kind == "device":
                names[number] = self.fresh("t")
                self.put(f"{self.type} *{names[number]} = {address};")
                continue
            if structure is None:
                structure = self.structure(shape)
            names[number] = f"{structure}[{member}]" if shape == "table" else f"{structure}m{member}"
            self.put(f"{names[number]} = {address};")
            if shape == "mapper":
                self.put(f"{structure}n{member} = {item.section.n * array.elements};")
            member += 1
        self.structure_of[id(statement)] = structure
        return names

    def structure(self, shape):
        """Declares what has the pointers; returns the C text before a member's name."""
        name = self.fresh("s")
        if shape == "table":
            self.put(f"{self.type} **{name} = ({self.type} **)keep({MEMBERS} * sizeof *{name});")
            return name
        if shape == "variable":
            self.put(f"{self.prefix}s {name} = {{0}};")
            return name + "."
        self.put(f"{self.prefix}s *{name} = ({self.prefix}s *)keep(sizeof *{name});")
        return name + "->"

    def whole_structure(self, statement, motion):
        """The clause that maps the struct itself, if any. It stands before those of its members' sections."""
        structure = self.structure_of.get(id(statement))
        if structure is None or statement.shape == "members":
            return ""
        name = structure.rstrip("->.")
        if statement.shape == "mapper":
            maps = [item.map for item in statement.items if item.alias and self.array(item).kind != "device"]
            mapper = f"mapper({self.prefix}first{len(maps)})"
            return f" {maps[0]}({mapper} : {name}[0:1])" if motion else f" map({mapper}, {maps[0]} : {name}[0:1])"
        if motion:
            return ""  # updates are of the sections only
        if statement.shape == "table":
            return f" map({'release' if isinstance(statement, Exit) else 'to'}: {name}[0:{MEMBERS}])"
        return f" map(tofrom: {name}{'' if statement.shape == 'variable' else '[0:1]'})"

    def section(self, number, item, names):
        array = self.array(item)
        if array.kind == "scalar":
            return array.name
        length = 0 if item.zero else item.section.n * array.elements
        if number in names:
            return f"{names[number]}[0 : {length}]"
        if array.kind in ("local", "global") and item.section.n == array.size and not item.zero:
            return array.name
        return f"{array.name}[{self.index(item.section.lo, array.elements)} : {length}]"

    def maps(self, statement, names, motion=False):
        by_mapper = getattr(statement, "shape", "") == "mapper"
        text = self.whole_structure(statement, motion) if hasattr(statement, "shape") else ""
        for number, item in enumerate(statement.items):
            if self.array(item).kind == "device":
                text += f" is_device_ptr({names.get(number, self.array(item).name)})"
                continue
            if not item.map or item.map == "implicit" or by_mapper and item.alias:
                continue
            section = self.section(number, item, names)
            if item.map == "firstprivate":
                text += f" firstprivate({section})"
            elif motion:
                text += f" {item.map}({'present: ' if item.present else ''}{section})"
            else:
                words = [word for word in ("always", "present", "close") if getattr(item, word)]
                words += ["ompx_hold"] if item.hold else []
                text += f" map({''.join(word + ', ' for word in words)}{item.map}: {section})"
        return text

    def place(self, items, names, number, at):
        """C text of an item's element j, `at` blocks from its start."""
        item = items[number]
        array = self.array(item)
        if array.kind == "scalar":
            return array.name
        if number in names:
            return f"{names[number]}[{at * array.elements} + j]" if at else f"{names[number]}[j]"
        lo = self.index(item.section.lo, array.elements)
        return f"{array.name}[{lo} + {at * array.elements} + j]" if at else f"{array.name}[{lo} + j]"

    def operations(self, code, names, loop=""):
        for op in code.ops:
            self.operation(op, code.items, names, loop)

    def operation(self, op, items, names, loop):
        dst = self.place(items, names, op.dst, op.at) if op.dst >= 0 else None
        src = self.place(items, names, op.src, op.src_at) if op.src >= 0 else "j"
        number = op.dst if op.dst >= 0 and op.kind not in ("sum", "max") else op.src
        length = op.n * self.array(items[number]).elements
        k = self.index(op.k) + (" + planted" if op.planted else "")
        cast, work = f"({self.type})", self.program.work
        head = f"for (int64_t j = 0; j < {length}; j++)"
        if loop:
            self.put(f"#pragma omp {loop}")
        if op.kind == "check":
            at = src.replace(" + j]", "]").replace("[j]", "[0]")
            self.put(f"remember({self.slot()}, HASH_OF(&{at}, {length}) * (uint64_t)({k} + 1));")
        elif op.kind == "sum":
            self.put(f"{head} {dst} += {src};")
        elif op.kind == "max":
            self.put(f"{head} {dst} = {dst} > {src} ? {dst} : {src};")
        elif op.kind == "add":
            self.put(f"{head} {dst} += {cast}({k});")
        elif work > 1:
            start = dst if op.kind == "update" else "0"
            self.put(f"{head} {{ uint64_t x = (uint64_t)({start}); for (int w = 0; w < {work}; w++) x = MIX(x, {src}, "
                     f"{k} + w); {dst} = {cast}x; }}")
        else:
            start = dst if op.kind == "update" else "0"
            self.put(f"{head} {dst} = {cast}MIX({start}, {src}, {k});")

    # --- clauses

    def depends(self, statement):
        if id(statement) in self.objects:
            return "".join(f" depend(depobj: {name})" for name in self.objects[id(statement)])
        groups = [[depend] for depend in statement.depends]
        if statement.spelling == "iterator":
            groups = progressions(statement.depends)
        return "".join(self.depend_group(group) for group in groups)

    def depend_group(self, group):
        first = group[0]
        if len(group) == 1:
            return f" depend({first.type}: {self.depend_place(first)})"
        array = self.program.arrays[first.array]
        step = (group[1].lo.base - first.lo.base) * array.elements
        return (f" depend(iterator(int it = 0 : {len(group)}), {first.type}: "
                f"{array.name}[{self.index(first.lo, array.elements)} + it * {step}])")

    def depend_place(self, depend):
        if depend.array == -2:
            return "omp_all_memory"
        if depend.array < 0:
            return f"token[{self.index(depend.lo)}]"
        array = self.program.arrays[depend.array]
        if array.kind == "scalar":
            return array.name
        lo = self.index(depend.lo, array.elements)
        return f"{array.name}[{lo} : {depend.n * array.elements}]" if depend.n else f"{array.name}[{lo}]"

    def clauses(self, statement):
        text = " nowait" if statement.nowait else ""
        if statement.device is not None and not statement.by_default:
            text += f" device({statement.device})"
        return text + self.depends(statement)


def progressions(depends):
    """Dependences on single elements at equal distances in one list each."""
    groups = []
    for depend in depends:
        last = groups[-1] if groups else []
        first = last[0] if last else None
        if (first and depend.array >= 0 and depend.n == 0 and
                (depend.type, depend.array, depend.n, depend.lo.steps) ==
                (first.type, first.array, first.n, first.lo.steps) and
                (len(last) == 1 or depend.lo.base - last[-1].lo.base == last[1].lo.base - first.lo.base)):
            last.append(depend)
        else:
            groups.append([depend])
    return groups
