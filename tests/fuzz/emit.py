# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints programs as C. Several programs make one source file (compiling is what costs); the first argument picks one.

Each program is a function `program_N`. Its arrays are filled with fixed values; `check` operations and, at the end, all
that the host may read go into a list of hashes that is printed last, so standard output is the program's result.
"""

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

    def text(self):
        self.prologue()
        self.body(self.program.body)
        self.put("#pragma omp taskwait")
        self.epilogue()
        head = f"/* seed {self.program.seed} */\ntypedef {self.program.type} {self.prefix}t;\n"
        return head + "".join(self.functions) + "\n".join([f"static void program_{self.number}(void)", "{"] +
                                                          self.lines + ["}", ""])

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
            elif array.kind == "global":
                self.functions.append(f"#pragma omp declare target\nstatic {self.type} {self.prefix}{array.name}"
                                      f"[{elements}];\n#pragma omp end declare target\n")
                self.put(f"#define {array.name} {self.prefix}{array.name}")
            else:
                self.put(f"{self.type} {array.name}[{elements}];")
            seed = 11 + ord(array.name[0])
            self.put(f"for (int64_t j = 0; j < {elements}; j++) {array.name}[j] = ({self.type})(j * {seed} % 1009);")
        if self.program.tokens:
            self.put(f"char token[{self.program.tokens}]; (void)token;")

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

    # --- items and operations

    def array(self, item):
        return self.program.arrays[item.section.array]

    def aliases(self, items):
        """Declares a pointer for each item that wants one; returns item index -> name."""
        names = {}
        for number, item in enumerate(items):
            if item.alias:
                array = self.array(item)
                names[number] = self.fresh("t")
                self.put(f"{self.type} *{names[number]} = {array.name} + "
                         f"{self.index(item.section.lo, array.elements)};")
        return names

    def section(self, number, item, names):
        array = self.array(item)
        if array.kind == "scalar":
            return array.name
        length = item.section.n * array.elements
        if number in names:
            return f"{names[number]}[0 : {length}]"
        if array.kind == "local" and item.section.n == array.size:
            return array.name
        return f"{array.name}[{self.index(item.section.lo, array.elements)} : {length}]"

    def maps(self, items, names, motion=False):
        text = ""
        for number, item in enumerate(items):
            if not item.map or item.map == "implicit":
                continue
            section = self.section(number, item, names)
            if item.map == "firstprivate":
                text += f" firstprivate({section})"
            elif motion:
                text += f" {item.map}({'present: ' if item.present else ''}{section})"
            else:
                modifiers = ("always, " if item.always else "") + ("present, " if item.present else "")
                text += f" map({modifiers}{item.map}: {section})"
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
        number = op.dst if op.dst >= 0 and op.kind != "sum" else op.src
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
        text = ""
        for depend in statement.depends:
            text += f" depend({depend.type}: {self.depend_place(depend)})"
        return text

    def depend_place(self, depend):
        if depend.array < 0:
            return f"token[{self.index(depend.lo)}]"
        array = self.program.arrays[depend.array]
        if array.kind == "scalar":
            return array.name
        lo = self.index(depend.lo, array.elements)
        return f"{array.name}[{lo} : {depend.n * array.elements}]" if depend.n else f"{array.name}[{lo}]"

    def clauses(self, statement):
        text = " nowait" if statement.nowait else ""
        if statement.device is not None:
            text += f" device({statement.device})"
        return text + self.depends(statement)

    # --- statements

    def body(self, body):
        for statement in body:
            getattr(self, "emit_" + type(statement).__name__.lower())(statement)

    def block(self, body):
        self.open()
        self.body(body)
        self.close()

    def with_aliases(self, items):
        """Opens a block when pointers are declared; the caller closes it if the result is not empty."""
        if any(item.alias for item in items):
            self.open()
        return self.aliases(items)

    def emit_host(self, host):
        names = self.with_aliases(host.items)
        self.operations(host, names)
        if names:
            self.close()

    def emit_target(self, target):
        names = self.with_aliases(target.items)
        text = f"#pragma omp {target.form}" + self.clauses(target) + self.maps(target.items, names)
        if target.condition is not None:
            text += f" if(target: {'yes' if target.condition else '!yes'})"
        sums = [op for op in target.ops if op.kind == "sum"]
        if target.form != "target" and sums:
            text += f" reduction(+: {self.array(target.items[sums[0].dst]).name})"
        self.put(text)
        if target.form == "target":
            self.open()
            self.operations(target, names)
            self.close()
        else:
            self.operations(target, names)
        if names:
            self.close()

    def directive(self, name, statement, motion=False):
        names = self.with_aliases(statement.items)
        self.put(f"#pragma omp {name}" + self.clauses(statement) + self.maps(statement.items, names, motion))
        if names:
            self.close()

    def emit_enter(self, enter):
        self.directive("target enter data", enter)

    def emit_exit(self, statement):
        self.directive("target exit data", statement)

    def emit_update(self, update):
        self.directive("target update", update, motion=True)

    def emit_data(self, data):
        names = self.with_aliases(data.items)
        device = f" device({data.device})" if data.device is not None else ""
        self.put(f"#pragma omp target data{device}" + self.maps(data.items, names))
        self.block(data.body)
        if names:
            self.close()

    def emit_devicecall(self, call):
        """Every item has an alias."""
        names = self.with_aliases(call.items)
        shown = ", ".join(names.values())
        self.put("#pragma omp target data" + self.maps(call.items, names) + f" use_device_ptr({shown})")
        self.open()
        if call.kernel:
            self.put(f"#pragma omp target is_device_ptr({shown})")
            self.open()
            self.operations(call, names)
            self.close()
        else:
            self.call(call, names)
        self.close()
        self.close()

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

    def emit_taskwait(self, wait):
        self.put("#pragma omp taskwait" + self.depends(wait))

    def emit_taskgroup(self, group):
        self.put("#pragma omp taskgroup")
        self.block(group.body)

    def emit_loop(self, loop):
        self.put(f"for (int {loop.variable} = 0; {loop.variable} < {loop.count}; {loop.variable}++)")
        self.block(loop.body)

    def emit_taskloop(self, loop):
        self.put("#pragma omp taskloop grainsize(1)" + self.shared())
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
        return [array for array in self.program.arrays if array.kind == "heap"]

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
