# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints programs as C. Several programs make one source file (compiling is what costs); the first argument picks one.

Each program is a function `program_N`. Its arrays are filled with fixed values; `check` operations and, at the end, all
that the host may read go into a list of hashes that is printed last, so standard output is the program's result.
"""

from program import Cancelled, Exit

PRELUDE = """\
#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Values stay below 2^53: doubles are exact too. */
#define MIX(x, y, k) (((uint64_t)(x) * 3 + (uint64_t)(y) * 5 + (uint64_t)(k)) % 1000003)
#define HASH(sum, x) ((sum) * 1099511628211u + (uint64_t)(x) + 1)
#define HASH_OF(array, n) ({ uint64_t h = 0; for (int64_t j = 0; j < (n); j++) h = HASH(h, (array)[j]); h; })
static uint64_t results[SLOTS];
/* Of several check operations at one place, in any order. */
static void remember(int slot, uint64_t hash)
{
#pragma omp atomic
    results[slot] += hash;
}
/* Memory that lives as long as the program. */
static void *keep(size_t size)
{
    static void *kept[1 << 16];
    static int count;
    void *memory = calloc(1, size);
    int number;
#pragma omp atomic capture
    number = count++;
    return kept[number] = memory;
}
static volatile int yes = 1;
static int planted;
"""

MAIN = """\
int main(int argc, char **argv)
{
    planted = argc > 2;
    switch (argc > 1 ? atoi(argv[1]) : %d) {
%s    }
    for (int i = 0; i < SLOTS; i++)
        if (results[i])
            printf("%%d: %%" PRIu64 "\\n", i, results[i]);
    return 0;
}
"""

MEMBERS = 4  # of the struct: as many as a statement has items


def source(programs):
    """The C text of (program, readable) pairs; `readable` are judge()'s masks."""
    emitters = [Emitter(program, number, readable) for number, (program, readable) in enumerate(programs)]
    texts = [emitter.text() for emitter in emitters]
    slots = max(emitter.slots for emitter in emitters) or 1
    cases = "".join(f"    case {e.number}: program_{e.number}(); break;\n" for e in emitters)
    return f"#define SLOTS {slots}\n" + PRELUDE + "\n" + "\n".join(texts) + "\n" + MAIN % (0, cases)


class Emitter:
    def __init__(self, program, number, readable):
        self.program = program
        self.number = number
        self.readable = readable
        self.prefix = f"p{number}_"
        self.lines = []
        self.functions = []
        self.indent = 1
        self.slots = 0
        self.names = 0
        self.labels = {}  # label of a Data -> (members, items)
        self.objects = {}  # id of a statement -> names of its depobjs
        self.structure_of = {}  # id of a statement -> C text before its struct's members

    def text(self):
        self.prologue()
        self.body(self.program.body)
        self.put("#pragma omp taskwait")
        self.epilogue()
        head = f"/* seed {self.program.seed} */\ntypedef {self.program.type} {self.prefix}t;\n" + self.structs()
        return head + "".join(self.functions) + "\n".join([f"static void program_{self.number}(void)", "{"] +
                                                          self.lines + ["}"] + self.undefine() + [""])

    def undefine(self):
        return [f"#undef {array.name}" for array in self.program.arrays if array.kind == "global"]

    def structs(self):
        """A struct of pointers, where a statement has one, and mappers of its first members."""
        statements = list(self.program.walk())
        statements += sum((statement.dead for statement in statements if isinstance(statement, Cancelled)), [])
        shapes = {getattr(statement, "shape", "") for statement in statements}
        if not shapes & {"members", "parent", "variable", "mapper"}:
            return ""
        members = "".join(f" {self.type} *m{i}; int64_t n{i};" for i in range(MEMBERS))
        text = f"typedef struct {{{members} int64_t k; }} {self.prefix}s;\n"
        for count in range(1, MEMBERS + 1) if "mapper" in shapes else []:
            sections = ", ".join(f"s.m{i}[0 : s.n{i}]" for i in range(count))
            text += f"#pragma omp declare mapper({self.prefix}first{count} : {self.prefix}s s) map(s, {sections})\n"
        return text

    # --- lines and names

    def put(self, line):
        self.lines.append(line if line.startswith("#") else "    " * self.indent + line)

    def open(self):
        self.put("{")
        self.indent += 1

    def close(self):
        self.indent -= 1
        self.put("}")

    def fresh(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def slot(self):
        self.slots += 1
        return self.slots - 1

    @property
    def type(self):
        return self.prefix + "t"

    def index(self, index, scale=1):
        """C text of an Index times `scale`."""
        terms = [f"{step * scale} * {name}" for name, step in index.steps if step]
        if index.base or not terms:
            terms.append(str(index.base * scale))
        return " + ".join(terms)

    # --- arrays

    def prologue(self):
        for array in self.program.arrays:
            elements = array.size * array.elements
            if array.kind == "scalar":
                self.put(f"{self.type} {array.name} = 7;")
                continue
            if array.kind == "heap":
                self.put(f"{self.type} *{array.name}_all = malloc({elements + array.offset} * sizeof({self.type}));")
                self.put(f"{self.type} *{array.name} = {array.name}_all + {array.offset};")
            elif array.kind == "device":
                self.put(f"{self.type} *{array.name} = omp_target_alloc({elements} * sizeof({self.type}), "
                         f"{self.device(array.device)});")
                continue
            elif array.kind == "global":
                self.functions.append(f"#pragma omp declare target\n{self.type} {self.prefix}{array.name}"
                                      f"[{elements}];\n#pragma omp end declare target\n"
                                      f"#define {array.name} {self.prefix}{array.name}\n")
            else:
                self.put(f"{self.type} {array.name}[{elements}];")
            self.fill(array, 11)
        if self.program.tokens:
            self.put(f"char token[{self.program.tokens}]; (void)token;")

    def fill(self, array, seed):
        self.put(f"for (int64_t j = 0; j < {array.size * array.elements}; j++) {array.name}[j] = "
                 f"({self.type})(j * {seed + ord(array.name[0])} % 1009);")

    @staticmethod
    def device(number):
        return "omp_get_default_device()" if number is None else str(number)

    def epilogue(self):
        for array, bits in zip(self.program.arrays, self.readable):
            at = 0
            while bits >> at:
                n = 0
                while bits >> at & 1 << n:
                    n += 1
                if n:
                    name = "&" + array.name if array.kind == "scalar" else array.name
                    self.put(f"remember({self.slot()}, HASH_OF({name} + {at * array.elements}, {n * array.elements}));")
                at += n or 1
        for array in self.program.arrays:
            if array.kind == "heap":
                self.put(f"free({array.name}_all);")
            elif array.kind == "device":
                self.put(f"omp_target_free({array.name}, {self.device(array.device)});")

    # --- items and operations

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
            self.put(f"{self.type} **{name} = keep({MEMBERS} * sizeof *{name});")
            return name
        if shape == "variable":
            self.put(f"{self.prefix}s {name} = {{0}};")
            return name + "."
        self.put(f"{self.prefix}s *{name} = keep(sizeof *{name});")
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

    # --- statements

    def body(self, body):
        for statement in body:
            self.statement(statement)

    def statement(self, statement):
        """With what some need around them: dependence objects, another default device."""
        emit = getattr(self, "emit_" + type(statement).__name__.lower())
        objects = getattr(statement, "spelling", "") == "depobj" and statement.depends
        default = getattr(statement, "by_default", False) and statement.device is not None
        if not objects and not default:
            emit(statement)
            return
        self.open()
        if objects:
            self.objects[id(statement)] = [self.depobj(depend) for depend in statement.depends]
        if default:
            before = self.fresh("device")
            self.put(f"int {before} = omp_get_default_device();")
            self.put(f"omp_set_default_device({statement.device});")
        emit(statement)
        if default:
            self.put(f"omp_set_default_device({before});")
        self.objects.pop(id(statement), None)  # not destroyed: with version 5.2 clang 19 accepts no form of that
        self.close()

    def depobj(self, depend):
        name = self.fresh("object")
        self.put(f"omp_depend_t {name};")
        self.put(f"#pragma omp depobj({name}) depend({depend.type}: {self.depend_place(depend)})")
        return name

    def block(self, body):
        self.open()
        self.body(body)
        self.close()

    def with_aliases(self, statement):
        """Opens a block when pointers are declared; the caller closes it if the result is not empty."""
        if any(item.alias for item in statement.items):
            self.open()
        return self.aliases(statement)

    def emit_host(self, host):
        names = self.with_aliases(host)
        self.operations(host, names)
        if names:
            self.close()

    def emit_target(self, target):
        if target.through is not None:
            names, maps = self.members_of(target)
        else:
            names = self.with_aliases(target)
            maps = self.maps(target, names)
        text = f"#pragma omp {target.form}" + self.clauses(target) + maps
        if target.defaultmap:
            text += " defaultmap(tofrom: scalar)"
        if target.condition is not None:
            text += f" if(target: {'yes' if target.condition else '!yes'})"
        folds = [op for op in target.ops if op.kind in ("sum", "max")]
        if target.form != "target" and folds:
            sign = "+" if folds[0].kind == "sum" else "max"
            text += f" reduction({sign}: {self.array(target.items[folds[0].dst]).name})"
        extra = self.extra_member(target)
        if extra:
            self.put(f"{extra}k = {len(target.items)};")
        self.put(text)
        if target.form == "target":
            self.open()
            self.operations(target, names)
            if extra:
                self.put(f"{extra}k += 5;")
            self.close()
        else:
            self.operations(target, names)
        if extra:
            self.put(f"remember({self.slot()}, (uint64_t){extra}k);")
            for number in names:
                array = self.array(target.items[number])
                if array.kind != "device":
                    self.put(f"remember({self.slot()}, {names[number]} == {array.name} + "
                             f"{self.index(target.items[number].section.lo, array.elements)});")
        if names and target.through is None:
            self.close()

    def extra_member(self, target):
        """C text before a member that the kernel changes and the host looks at, where the struct is copied back."""
        mapped_back = target.shape in ("parent", "variable") or target.shape == "mapper" and all(
            item.map == "tofrom" for item in target.items if item.alias)
        if target.nowait or target.form != "target" or target.through is not None or not mapped_back:
            return ""
        return self.structure_of.get(id(target)) or ""

    def members_of(self, target):
        """Names for the items of a kernel that goes through the struct of a region around it, and its clauses."""
        structure, names_of, items = self.labels[target.through]
        names, own = {}, []
        for number, item in enumerate(target.items):
            array = self.array(item)
            if array.kind in ("device", "scalar") or item.map == "firstprivate":
                own.append(item)
                continue
            offset = (f"({self.index(item.section.lo, array.elements)}) - "
                      f"({self.index(items[item.member].section.lo, array.elements)})")
            names[number] = f"({names_of[item.member]} + {offset})"
        text = "".join(f" is_device_ptr({self.array(item).name})" for item in own if self.array(item).kind == "device")
        text += "".join(f" firstprivate({self.array(item).name})" for item in own if item.map == "firstprivate")
        if target.parent:
            text += f" map(alloc: {structure}[0:1])"
        return names, text

    def directive(self, name, statement, motion=False):
        names = self.with_aliases(statement)
        maps = self.maps(statement, names, motion)
        self.put(f"#pragma omp {name}" + self.clauses(statement) + maps)
        if names:
            self.close()

    def emit_enter(self, enter):
        self.directive("target enter data", enter)

    def emit_exit(self, statement):
        self.directive("target exit data", statement)

    def emit_update(self, update):
        self.directive("target update", update, motion=True)

    def emit_data(self, data):
        names = self.with_aliases(data)
        device = f" device({data.device})" if data.device is not None else ""
        maps = self.maps(data, names)
        if data.label is not None:
            self.labels[data.label] = (self.structure_of[id(data)].rstrip("->."), names, data.items)
        self.put(f"#pragma omp target data{device}" + maps)
        self.block(data.body)
        if names:
            self.close()

    def emit_devicecall(self, call):
        """Every item has an alias, but for local arrays whose address is shown."""
        names = self.with_aliases(call)
        device = f" device({call.device})" if call.device is not None else ""
        shown = ", ".join(names.get(number, self.array(item).name) for number, item in enumerate(call.items))
        use, has = "use_device_ptr", "is_device_ptr"
        if call.how == "address":
            shown = ", ".join(self.section(number, item, names) for number, item in enumerate(call.items))
            use, has = "use_device_addr", "has_device_addr"
        self.put("#pragma omp target data" + device + self.maps(call, names) + f" {use}({shown})")
        self.open()
        if call.how == "call":
            self.call(call, names)
        else:
            self.put(f"#pragma omp target{device} {has}({shown})")
            self.open()
            self.operations(call, names)
            self.close()
        self.close()
        if names:
            self.close()

    def emit_mapped(self, code):
        device = f" device({code.device})" if code.device is not None else ""
        self.open()
        names = {}
        for number, item in enumerate(code.items):
            names[number] = self.fresh("t")
            self.put(f"{self.type} *{names[number]} = {self.mapped_address(item, code.device)};")
        self.put(f"#pragma omp target{device} is_device_ptr({', '.join(names.values())})")
        self.open()
        self.operations(code, names)
        self.close()
        self.close()

    def address(self, item):
        array = self.array(item)
        return f"{array.name} + {self.index(item.section.lo, array.elements)}"

    def mapped_address(self, item, device):
        return f"omp_get_mapped_ptr({self.address(item)}, {self.device(device)})"

    def emit_memcpy(self, memcpy):
        addresses, devices = [], []
        for item in memcpy.items:
            mapped = item.map == "mapped"
            addresses.append(self.mapped_address(item, memcpy.device) if mapped else self.address(item))
            devices.append("omp_get_initial_device()" if item.map == "host" else self.device(memcpy.device))
        size = memcpy.items[0].section.n * self.array(memcpy.items[0]).elements
        self.put(f"omp_target_memcpy({addresses[0]}, {addresses[1]}, {size} * sizeof({self.type}), 0, 0, "
                 f"{', '.join(devices)});")

    def emit_present(self, present):
        for item in present.items:
            self.put(f"remember({self.slot()}, 1u + (uint64_t)!!omp_target_is_present({self.address(item)}, "
                     f"{self.device(present.device)}));")

    def emit_associate(self, associate):
        array, memory = self.program.arrays[associate.array], self.fresh("memory")
        size, device = f"{array.size * array.elements} * sizeof({self.type})", self.device(array.device)
        self.open()
        self.put(f"void *{memory} = omp_target_alloc({size}, {device});")
        self.put(f"omp_target_associate_ptr({array.name}, {memory}, {size}, 0, {device});")
        self.body(associate.body)
        self.put(f"omp_target_disassociate_ptr({array.name}, {device});")
        self.put(f"omp_target_free({memory}, {device});")
        self.close()

    def emit_renew(self, renew):
        arrays = [self.program.arrays[number] for number in renew.arrays]
        for array in sorted(arrays, key=lambda array: array.name):
            if array.kind == "device":
                self.put(f"omp_target_free({array.name}, {self.device(array.device)});")
            else:
                self.put(f"free({array.name}_all);")
        for array in arrays:
            elements = array.size * array.elements
            if array.kind == "device":
                self.put(f"{array.name} = omp_target_alloc({elements} * sizeof({self.type}), "
                         f"{self.device(array.device)});")
            else:
                self.put(f"{array.name}_all = malloc({elements + array.offset} * sizeof({self.type}));")
                self.put(f"{array.name} = {array.name}_all + {array.offset};")
                self.fill(array, 17)

    def call(self, call, names):
        """Each operation in a function of its own, which the compiler must not look into."""
        pointers = ", ".join(f"{self.type} *{name}" for name in names.values())
        variables = sorted({name for op in call.ops for name, _ in op.k.steps})
        parameters = pointers + "".join(f", int {name}" for name in variables)
        name = self.fresh(self.prefix + "call")
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        self.operations(call, names)
        self.functions.append(f"static __attribute__((noinline)) void {name}({parameters})\n{{\n" +
                              "\n".join(self.lines) + "\n}\n")
        self.lines, self.indent = lines, indent
        self.put(f"{name}({', '.join(list(names.values()) + variables)});")

    def emit_task(self, task):
        flags = f" {task.flags}" if task.flags else ""
        self.put(f"#pragma omp task{flags}{self.shared()}{self.depends(task)}")
        self.block(task.body)

    def shared(self):
        """Variables that a task outside a parallel region would get copies of."""
        names = [array.name for array in self.program.arrays if array.kind in ("local", "scalar")]
        return f" shared({', '.join(names)})" if names else ""

    def emit_detached(self, statement):
        """The second task fulfils the first one's event."""
        event = self.fresh("event")
        self.open()
        self.put(f"omp_event_handle_t {event};")
        self.put(f"#pragma omp task detach({event}){self.shared()}{self.depends(statement.first)}")
        self.block(statement.first.body)
        self.put(f"#pragma omp task firstprivate({event}){self.shared()}{self.depends(statement.second)}")
        self.open()
        self.body(statement.second.body)
        self.put(f"omp_fulfill_event({event});")
        self.close()
        self.close()

    def emit_cancelled(self, cancelled):
        self.put("#pragma omp taskgroup")
        self.open()
        self.body(cancelled.body)
        self.put("#pragma omp taskwait")
        self.put(f"#pragma omp task{self.shared()}")
        self.open()
        self.body(cancelled.before)
        self.put("#pragma omp cancel taskgroup")
        self.body(cancelled.dead[:1])
        self.close()
        self.put("#pragma omp taskwait")
        for statement in cancelled.dead[1:]:
            self.put(f"#pragma omp task{self.shared()}")
            self.block([statement])
        self.close()

    def emit_taskwait(self, wait):
        self.put("#pragma omp taskwait" + (" nowait" if wait.nowait else "") + self.depends(wait))

    def emit_taskgroup(self, group):
        self.put("#pragma omp taskgroup")
        self.block(group.body)

    def emit_loop(self, loop):
        self.put(f"for (int {loop.variable} = 0; {loop.variable} < {loop.count}; {loop.variable}++)")
        self.block(loop.body)

    def emit_taskloop(self, loop):
        self.put("#pragma omp taskloop grainsize(1)" + (" " + loop.flags if loop.flags else "") + self.shared())
        self.emit_loop(loop)

    def emit_parallel(self, parallel):
        self.put(f"#pragma omp parallel num_threads({parallel.threads})")
        self.open()
        for number, phase in enumerate(parallel.phases):
            if number:
                self.put("#pragma omp barrier")
            if parallel.kind != "threads":
                self.put(f"#pragma omp {parallel.kind}")
                self.block(phase[0])
                continue
            # Right with any number of threads: a nested region may have one.
            thread = self.fresh("thread")
            self.put(f"for (int {thread} = omp_get_thread_num(); {thread} < {len(phase)}; {thread} += "
                     "omp_get_num_threads())")
            self.open()
            for which, body in enumerate(phase):
                self.put(f"{'else ' if which else ''}if ({thread} == {which})")
                self.block(body)
            self.close()
        self.close()

    def emit_roots(self, roots):
        """Threads of pthread_create; the arrays reach them through static pointers."""
        handles = self.fresh("thread")
        heads = []
        for body in roots.threads:
            heads.append(self.root_function(body))
        self.open()
        for array in self.shared_arrays():
            self.put(f"{self.prefix}at_{array.name} = {array.name};")
        self.put(f"pthread_t {handles}[{len(heads)}];")
        for number, head in enumerate(heads):
            self.put(f"pthread_create(&{handles}[{number}], NULL, {head}, NULL);")
        for number in range(len(heads)):
            self.put(f"pthread_join({handles}[{number}], NULL);")
        self.close()

    def shared_arrays(self):
        return [array for array in self.program.arrays if array.kind in ("heap", "device")]

    def root_function(self, body):
        name = self.fresh(self.prefix + "root")
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        for array in self.shared_arrays():
            pointer = f"static {self.type} *{self.prefix}at_{array.name};\n"
            if pointer not in self.functions:
                self.functions.insert(0, pointer)
            self.put(f"{self.type} *{array.name} = {self.prefix}at_{array.name};")
        self.put(f"char token[{max(self.program.tokens, 1)}]; (void)token;")
        self.body(body)
        self.put("#pragma omp taskwait")
        self.put("return NULL;")
        self.functions.append(f"static void *{name}(void *unused)\n{{\n    (void)unused;\n" + "\n".join(self.lines) +
                              "\n}\n")
        self.lines, self.indent = lines, indent
        return name


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
