# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints programs as C. Several programs make one source file (compiling is what costs); the first argument picks one.

Each program is a function `program_N`. Its arrays are filled with fixed values; `check` operations and, at the end, all
that the host may read go into a list of hashes that is printed last, so standard output is the program's result.
"""

from emit_data import DataText
from emit_parts import MEMBERS, PartsText
from emit_tasks import TaskText
from scene import print_scene, top_text
from program import PLACES, Cancelled

COMMON = """\
#include <inttypes.h>
#include <omp.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Values stay below 2^53: doubles are exact too. */
#define MIX(x, y, k) (((uint64_t)(x) * 3 + (uint64_t)(y) * 5 + (uint64_t)(k)) % 1000003)
#define HASH(sum, x) ((sum) * 1099511628211u + (uint64_t)(x) + 1)
#define HASH_OF(array, n) ({ uint64_t h = 0; for (int64_t j = 0; j < (n); j++) h = HASH(h, (array)[j]); h; })
/* Whether the program whose names begin so is the one that runs: for what runs before main. */
static int chosen(const char *name)
{
    const char *number = getenv("FUZZ_PROGRAM");
    return number && atoi(number) == atoi(name + 1);
}
static volatile int yes = 1;
"""

PRELUDE = COMMON + """\
static int planted;
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
#ifdef __cplusplus
extern "C"
#endif
void set_linked(void (*function)(int, uint64_t));
#ifdef OPENED
static void *in_library(const char *name)
{
    static void *library;
    void *found;
#pragma omp critical(library)
    {
        if (!library)
            library = dlopen(OPENED, RTLD_NOW | RTLD_LOCAL);
        found = library ? dlsym(library, name) : NULL;
    }
    if (!found) {
        fprintf(stderr, "%s\\n", dlerror());
        exit(3);
    }
    return found;
}
#endif
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


LIBRARY = COMMON + """\
static void (*remember)(int slot, uint64_t hash);
#ifdef __cplusplus
extern "C"
#endif
void set_PLACE(void (*function)(int, uint64_t)) { remember = function; }
"""


def sources(programs):
    """place -> C text: that of the program ("") and of each shared library that it has."""
    emitters = [Emitter(program, number, readable) for number, (program, readable) in enumerate(programs)]
    texts = {"": whole(emitters, [emitter.text() for emitter in emitters])}
    for place in PLACES:
        pieces = [piece for emitter in emitters for piece in emitter.elsewhere[place]]
        if pieces:
            texts[place] = LIBRARY.replace("PLACE", place) + "\n".join(pieces)
    return texts


def source(programs):
    """The C text of (program, readable) pairs; `readable` are judge()'s masks."""
    texts = sources(programs)
    return texts[""] + "".join(f"\n/* the library that is {place}:\n{texts[place].replace('/*', '//').replace('*/', '')}*/\n"
                               for place in PLACES if place in texts)


def whole(emitters, texts):
    slots = max(emitter.slots for emitter in emitters) or 1
    cases = "".join(f"    case {e.number}:{e.opening()} program_{e.number}(); break;\n" for e in emitters)
    return f"#define SLOTS {slots}\n" + PRELUDE + "\n" + "\n".join(texts) + "\n" + MAIN % (0, cases)


class Emitter(PartsText, DataText, TaskText):
    def __init__(self, program, number, readable):
        self.program = program
        self.number = number
        self.readable = readable
        self.prefix = f"p{number}_"
        self.lines = []
        self.functions = []
        self.elsewhere = {place: [] for place in PLACES}  # code in shared libraries
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
                self.put(f"{self.type} *{array.name}_all = ({self.type} *)malloc({elements + array.offset} * sizeof({self.type}));")
                self.put(f"{self.type} *{array.name} = {array.name}_all + {array.offset};")
            elif array.kind == "device":
                self.put(f"{self.type} *{array.name} = ({self.type} *)omp_target_alloc({elements} * sizeof({self.type}), "
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

    def emit_scene(self, made):
        unique = f"{self.prefix}{self.fresh('')}"
        if not made.place:
            self.functions.append(top_text(made, unique))
            print_scene(made, self.put, unique, self.slot)
            return
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 1
        print_scene(made, self.put, unique, self.slot)
        extern = '#ifdef __cplusplus\nextern "C"\n#endif\n'
        self.elsewhere[made.place].append(top_text(made, unique) + f"{extern}void scene_{unique}(void)\n{{\n" +
                                          "\n".join(self.lines) + "\n}\n")
        self.lines, self.indent = lines, indent
        self.functions.append(f"{extern}void scene_{unique}(void);\n" if made.place == "linked" else "")
        self.put(f"scene_{unique}();" if made.place == "linked" else f'((void (*)(void))in_library("scene_{unique}"))();')

    def opening(self):
        """Libraries are opened before all else: whoever opens one beside kernels that run for the first time may wait
        for libomptarget's lock, which has the dynamic linker's to wait for, also without the library."""
        calls = {"linked": " set_linked(remember);",
                 "opened": ' ((void (*)(void (*)(int, uint64_t)))in_library("set_opened"))(remember);'}
        return "".join(calls[place] for place in PLACES if self.elsewhere[place])

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
