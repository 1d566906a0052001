# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of slices.py: one function with one synchronous target region each, drawn at random.

None has a race in the whole launch, nothing rounds, and integers wrap (-fwrapv): so there is one result. `i` is the
index of an iteration's element whatever the loop counts by. Arrays are known by the names of NAMES, each of N elements
(`half` of fewer) of its own layout: members of structs, rows behind pointers, three interleaved fields.
"""

NAMES = ["a", "b", "c"] * 4 + ["reals", "bytes", "half", "cells.x", "cells.y", "cells.z", "cells.w", "wide.0", "wide.1",
                                "wide.2", "grid", "box", "rows"]
OTHERS = ["few", "thin", "floats", "shorts", "few_one", "few_two", "own", "list", "count"] # shared by iterations

# Operator, type, initial value, what an iteration does (V is a value of its own), what of the result is compared.
REDUCTIONS = [
    ("+", "int64_t", "r", "total += V;", "total"), ("+", "double", "0.5", "total += V;", "total * 2"),
    ("+", "int16_t", "3", "total += V;", "total"), ("-", "int64_t", "r", "total -= V;", "total"),
    ("*", "uint64_t", "5", "total *= 2 * V + 1;", "total"),
    ("&", "uint32_t", "~0u", "total &= ~(V & 0x1250u);", "total"),
    ("|", "uint8_t", "1", "total |= V & 0x5a;", "total"), ("^", "uint64_t", "r", "total ^= V * 2654435761u;", "total"),
    ("&&", "int", "1", "total = total && V != 77;", "total"), ("||", "int", "0", "total = total || V == 500;", "total"),
    ("min", "float", "900", "if (V < total) total = V;", "total"),
    ("min", "int8_t", "100", "if (V % 100 - 50 < total) total = V % 100 - 50;", "total"),
    ("max", "int32_t", "-5", "total = total > V ? total : V;", "total"),
    ("max", "uint64_t", "7", "total = total > V * V ? total : V * V;", "total"),
    ("least", "best", "{990, 0}", "if (V < total.value || (V == total.value && i < total.index)) total = (best){V, i};",
     "total.value * N + total.index"),
    ("more", "best", "{r, r}", "total.value += V; total.index ^= i * 31;", "total.value * N + total.index"),
    ("longest", "double", "2.5", "if (V > total) total = V;", "total * 2"),
]

# What a directive's loop may hold: `calls` of OpenMP and atomic operations, `regions` inside, `order` of iterations.
FORMS = {
    "teams distribute parallel for": {"calls", "regions", "teams", "threads"},
    "teams distribute parallel for simd": {"teams", "threads"},
    "teams loop": {"teams"},
    "teams distribute": {"calls", "regions", "teams"},
    "teams distribute simd": {"teams"},
    "parallel for": {"calls", "regions", "threads"},
    "parallel for simd": {"threads"},
    "simd": set(),
    "": {"calls", "regions"},
}
WEIGHTS = [10, 3, 3, 4, 1, 1, 0.5, 0.3, 0.3]


def base(name):
    """The array that a name is in."""
    return name.split(".")[0]


def index(name, at):
    """The element of a name, as C writes it."""
    if name == "half":
        return f"half[({at}) % HALF]"
    if name.startswith("cells."):
        return f"cells[{at}].{name[6:]}"
    if name.startswith("wide."):
        return f"wide[WIDE({at}, {name[5:]})]"
    if name in ("grid", "rows"):
        return f"{name}[({at}) / W][({at}) % W]"
    return f"box.p[{at}]" if name == "box" else f"{name}[{at}]"


def load(name, at):
    cast = "(int64_t)" if name in ("reals", "bytes", "cells.y", "cells.z", "cells.w") else ""
    return cast + index(name, at)


def store(name, at, value):
    """Of an element that is the iteration's alone."""
    if name in ("reals", "cells.z"):
        value = f"(double)(({value}) % 1000003)"
    guard = f"if ({at} < HALF) " if name == "half" else ""
    return f"{guard}{index(name, at)} = {value};"


class Kernel:
    """text: the function. reads, writes: names. host: it may be called beside kernels that use none of these."""

    def __init__(self, rnd, number, world):
        self.rnd, self.number, self.world = rnd, number, world
        self.reads, self.writes, self.needs = set(), set(), set()
        self.clauses, self.before, self.after, self.functions, self.shared = [], "", "", "", ""
        names = [n for n in NAMES if base(n) in world.arrays]
        self.x = rnd.choice(names)
        self.y = rnd.choice([n for n in names if n != self.x])
        self.z = rnd.choice([n for n in names if n not in (self.x, self.y)])
        self.kind = rnd.choice(self.KINDS if world.host else self.KINDS_OF_GPUS)
        if world.prints and number == 0:
            self.kind = "prints"
        self.body = getattr(self, "body_" + self.kind)()
        self.uses(self.body)
        self.text = f"{self.functions}static void k{number}(int64_t r)\n{{\n{self.construct()}}}\n\n"

    # --- what an iteration does ----------------------------------------------------------

    KINDS_OF_GPUS = ["own"] * 5 + ["mirror", "stride", "atomic", "both", "branch", "inner", "continue", "numbers",
                                   "scan", "scatter", "chain", "odd", "flag", "returns", "rows", "fields", "transposed",
                                   "table"]
    KINDS = KINDS_OF_GPUS + ["histogram", "captured", "largest", "append", "tickets", "search", "inner_sum", "prefix",
                             "blocks", "task", "locals", "critical", "named", "alias", "lock"]

    def read(self, of=None):
        """A value that no other iteration changes."""
        y, rnd = of or self.y, self.rnd
        far = rnd.choice([1, 2, 63, 512, 1000])
        at = rnd.choice(["i", "N - 1 - i", "at[i]", "at[at[i]]", "way[i]", "i / 2", None, f"(i + {far}) % N",
                         f"i * {far} % N", f"i & {far}"])
        if at is None:
            return f"{load(y, 'i')} + {load(y, f'(i >= {far} ? i - {far} : 0)')}"
        return "r" if rnd.random() < 0.1 else load(y, at)

    def uses(self, text):
        """Notes what a text reads and writes."""
        self.writes |= {self.x} if self.x else set()
        self.reads |= {n for n in (self.y, self.z) if n} | {n for n in ("at", "way", "few") if n + "[" in text}
        self.writes |= {n for n in OTHERS if n + "[" in text}

    def keep(self, value):
        return store(self.x, "i", value)

    def body_own(self):
        return self.keep(f"{load(self.x, 'i')} * 3 % 1000003 + {self.read()}")

    def body_continue(self):
        return f"if ({load(self.y, 'i')} % 5 == 0) continue; {self.keep(self.read())}"

    def body_mirror(self):
        return store(self.x, "(N - 1 - i)", f"{self.read()} + {load(self.x, 'N - 1 - i')} % 7")

    def body_scatter(self):
        return store(self.x, "way[i]", f"{self.read()} + {load(self.x, 'way[i]')} % 7")

    def body_chain(self):
        return self.keep(f"{load(self.y, 'at[at[i]]')} ^ {load(self.z, 'way[way[i]]')}")

    def body_stride(self):
        return (f"if (i % {self.rnd.choice([2, 5, 600])} == 0) {{ "
                f"{self.keep(load(self.x, 'i') + ' + ' + self.read())} }}")

    def body_odd(self):
        """Even elements of what the odd ones hold, which nobody writes."""
        far = self.rnd.choice([1, 3, 65, 511])
        return f"if (i % 2 == 0 && i < HALF) {{ {self.keep(load(self.x, f'(i + {far}) % (HALF / 2 * 2)') + ' + r')} }}"

    def body_both(self):
        self.writes.add(self.z)
        z = self.z
        return f"{self.keep(self.read() + ' + r')} {store(z, 'i', load(z, 'i') + ' ^ (' + load(self.y, 'i') + ' + i)')}"

    def body_branch(self):
        return f"if ({load(self.y, 'i')} % 3 != 0) {{ {self.keep(self.read())} }}"

    def body_inner(self):
        return (f"int64_t s = 0; for (int64_t j = 0; j < 5; j++) s += {load(self.y, '(i + j * 100) % N')}; "
                f"{self.keep('s - r')}")

    def body_flag(self):
        """A search that ends early."""
        return (f"int64_t s = 0; for (int64_t j = 0, stop = 0; j < 30 && !stop; j++) {{ if "
                f"({load(self.y, '(i + j) % N')} % 7 == 0) "
                f"{self.rnd.choice(['break;', 'stop = 1;'])} s += j; }} {self.keep('s + r')}")

    def body_returns(self):
        """Functions with early returns, inlined or not."""
        inline = self.rnd.choice(["inline", "__attribute__((noinline))", "__attribute__((always_inline)) inline"])
        self.functions = (f"#pragma omp begin declare target\nstatic {inline} int64_t f{self.number}(int64_t v, "
                          f"int64_t i)\n{{\n"
                          "    if (v % 3 == 0)\n        return i;\n    for (int64_t j = 0; j < 9; j++)\n"
                          "        if ((v + j) % 11 == 0)\n            return j - v;\n    return v ^ i;\n}\n"
                          "#pragma omp end declare target\n")
        return self.keep(f"f{self.number}({load(self.y, 'i')}, i)")

    def body_rows(self):
        """Whole rows of W elements, each by the iteration that has its first one; a prefix sum in each."""
        return (f"if (i % W == 0) for (int64_t j = i, s = r; j < i + W; j++) {{ s = (s * 3 + {load(self.y, 'j')}) % "
                "1000003; "
                f"{store(self.x, 'j', 's')} }}")

    def body_fields(self):
        """One element of each of several arrays."""
        self.writes.add(self.z)
        return f"{self.keep(load(self.x, 'i') + ' + 1')} {store(self.z, 'i', load(self.y, 'i') + ' - r')}"

    def body_transposed(self):
        return store(self.x, "(i % W * H + i / W)", self.read())

    def body_table(self):
        return self.keep(f"few[{load(self.y, 'i')} % FEW < 0 ? 0 : {load(self.y, 'i')} % FEW] + r")

    def body_locals(self):
        """Arrays of an iteration's own."""
        return (f"int64_t v[16]; for (int j = 0; j < 16; j++) v[j] = {load(self.y, '(i + j) % N')}; "
                f"for (int j = 1; j < 16; j++) if (v[j] < v[j - 1]) v[j] = v[j - 1]; {self.keep('v[15]')}")

    def body_scan(self):
        """In the order of the iterations, in the one team's initial thread."""
        self.needs |= {"order"}
        self.x = "a" if self.x == "half" else self.x
        self.y = "b" if self.y == self.x else self.y
        return store(self.x, "i", f"(i ? {load(self.x, '(i ? i - 1 : 0)')} : r) * 3 % 1000003 + {load(self.y, 'i')} "
                                  "% 7")

    def body_blocks(self):
        """In the order of the iterations inside of each chunk."""
        text = self.body_scan().replace("(i ? " + load(self.x, "(i ? i - 1 : 0)"), "(i % W ? " + load(self.x, "(i ? "
                                                                                                              "i - 1 "
                                                                                                              ": 0)"))
        self.needs = {"blocks"}
        return text

    def body_numbers(self):
        self.needs |= {"calls", "numbers"}
        when = self.rnd.choice(["1", "r > 2", "i % 3 == 0", "i > N / 2 && r == 4"])
        return (f"if ({when}) {{ int team = omp_get_team_num() % TEAMS, thread = omp_get_thread_num() % THREADS; "
                "own[team * THREADS + thread] = i; for (int64_t j = 0; j < 20; j++) own[team * THREADS + thread] += r; "
                f"{self.keep('own[team * THREADS + thread]')} }}")

    def body_atomic(self):
        self.needs |= {"calls", "atomic"}
        return f"if (i % 97 == 0) {{\n_Pragma(\"omp atomic\")\nfew[i % FEW] += i + r;\n}} {self.keep(self.read())}"

    def body_histogram(self):
        self.needs |= {"calls", "atomic"}
        what = self.rnd.choice(["few[at[i] % FEW] += 1;", "few[i * 7 % FEW] ^= i + r;", "few[(i >> 4) % FEW] -= i;",
                                "thin[at[i] % FEW] += 3;", "floats[at[i] % FEW] += 0.5;", "shorts[i % FEW] += 1;"])
        self.x = None
        return f"_Pragma(\"omp atomic\")\n{what}\n"

    def body_captured(self):
        """As many as the iterations get each number once."""
        self.needs |= {"calls", "atomic"}
        return ("int64_t was;\n_Pragma(\"omp atomic capture\")\n{ was = few[1]; few[1] += 2; }\n"
                "_Pragma(\"omp atomic\")\nfew[2] += was;\n" + self.keep(self.read()))

    def body_largest(self):
        self.needs |= {"calls", "atomic"}
        sign = self.rnd.choice("<>")
        return (f"int64_t v = at[i] * 31 % 10007 + r;\n_Pragma(\"omp atomic compare\")\nif (few[i % FEW] {sign} v) "
                f"{{ few[i % FEW] = v; }}\n{self.keep('v')}")

    def body_append(self):
        """Which elements are in a list, in any order."""
        self.needs |= {"calls", "atomic"}
        self.x = None
        self.before = "    count[0] = 0;\n#pragma omp target update to(count)\n"
        self.after = ("#pragma omp target update from(count, list)\n    for (int64_t j = 0; j < count[0]; j++)\n"
                      f"        reduced[{self.number}] += (uint64_t)list[j] * (uint64_t)list[j];\n")
        return (f"if ({load(self.y, 'i')} % 4 == 0) {{ int64_t slot;\n_Pragma(\"omp atomic capture\")\nslot = "
                "count[0]++;\n"
                "list[slot] = i + r; }")

    def body_tickets(self):
        """A variable that is private to the target region and that teams share: they write to it from a launch on."""
        self.needs |= {"calls", "private"}
        self.x = None
        first = self.rnd.choice([0, 0, 2, 3])
        self.after = (f"    if (r < {first})\n        return;\n#pragma omp target update from(list)\n"
                      "    for (int64_t j = 0; j < N; j++)\n"
                      f"        reduced[{self.number}] += (uint64_t)list[j] * (uint64_t)list[j];\n")
        return (f"if (r >= {first}) {{ int64_t slot;\n_Pragma(\"omp atomic capture\")\nslot = next++;\n"
                "list[slot] = i + r; }")

    def body_lock(self):
        """Each team has one, for what its threads count together."""
        self.needs |= {"calls", "atomic", "lock"}
        return (f"omp_set_lock(&lock); counted += at[i] % 7 + r; omp_unset_lock(&lock); {self.keep(self.read())}")

    def body_prints(self):
        return f"if (i == N / 3 && r == 2) printf(\"{self.number}\\n\"); {self.keep(self.read())}"

    def body_search(self):
        """A team's loop that is cancelled by whoever finds what it looks for."""
        self.needs |= {"cancel"}
        return (f"if (i % W == (p * 7 + r) % W) {{ {self.keep(load(self.y, 'i') + ' + p')}\n_Pragma(\"omp cancel "
                f"for\")\n}}")

    def body_inner_sum(self):
        self.needs |= {"sum"}
        return f"s += {load(self.y, 'i')} % 1009;"

    def body_prefix(self):
        self.needs |= {"prefix"}
        return f"s += {load(self.y, 'i')} % 1009;\n#pragma omp scan inclusive(s)\n{self.keep('s')}"

    def body_task(self):
        self.needs |= {"task"}
        self.x = self.rnd.choice([n for n in "abc" if n != self.y])
        return (f"int64_t v = {self.read()}, *into = &{self.x}[i];\n"
                "#pragma omp task firstprivate(v, into)\n{ *into = v; }\n") # of clang 19, static arrays not

    def body_critical(self):
        self.needs |= {"calls"}
        return f"{self.keep(self.read())}\n#pragma omp critical\nfew[2] += i % 2;\n"

    def body_named(self):
        self.needs |= {"calls"}
        name = self.rnd.choice(["one", "two"])
        return (f"if (i % 16 == 0) {{\n#pragma omp critical({name})\nfew_{name}[i / 16 % 3] += i;\n}} "
                f"{self.keep(self.read())}")

    def body_alias(self):
        """Arrays by pointers that change between launches."""
        self.x, self.y, self.z = self.rnd.sample("abc", 3)
        x, y, z = self.x, self.y, self.z
        self.writes |= {x, z}
        self.before = f"    int64_t *to = r % 2 ? {x} : {z}, *from = r % 3 ? {y} : r % 2 ? {z} : {x};\n"
        if self.rnd.random() < 0.5 or not self.world.present >= set("abc"):
            self.clauses.append("map(tofrom : to[0 : N]) map(to : from[0 : N])")
        far = self.rnd.choice([0, 1, 64, 513])
        return f"to[i] = to[i] % 1000003 + from[(i + {far}) % N];"

    # --- loops ---------------------------------------------------------------------------

    def shape(self):
        """The loop's head, what defines i in it, and i of the last iteration; None where that is not known."""
        n, rnd = self.world.n, self.rnd
        plain = [(f"for ({kind} i = 0; i < N; i++)", "", "N - 1") for kind in
                 ("int64_t", "int64_t", "int", "int", "uint32_t", "uint64_t")]
        if "order" in self.needs or "blocks" in self.needs or rnd.random() < 0.4:
            return rnd.choice(plain)
        stride = 4294967295 // n + 1
        step = rnd.choice([2, 3, 7, 1000])
        edges = [("int", f"INT32_MAX - {n}", "INT32_MAX"), ("int", "INT32_MIN", f"INT32_MIN + {n}"),
                 ("int64_t", f"INT64_MAX - {n}", "INT64_MAX"), ("int64_t", "INT64_MIN", f"INT64_MIN + {n}"),
                 ("uint64_t", f"UINT64_MAX - {n}", "UINT64_MAX"), ("uint32_t", f"UINT32_MAX - {n}", "UINT32_MAX")]
        shapes = [(f"for ({kind} v = {first}; v < {end}; v++)", f"int64_t i = (int64_t)(v - ({first}));", "N - 1")
                  for kind, first, end in edges]
        shapes += [
            ("for (int i = 0; i <= N - 1; i++)", "", "N - 1"), ("for (int i = 0; i != N; ++i)", "", "N - 1"),
            ("for (int64_t i = N - 1; i >= 0; i--)", "", "0"), ("for (int i = N - 1; i > -1; i = i - 1)", "", "0"),
            ("for (uint32_t v = N; v > 0; v--)", "int64_t i = (int64_t)v - 1;", "0"),
            (f"for (int v = 0; v < {step} * (int)N; v += {step})", f"int64_t i = v / {step};", "N - 1"),
            (f"for (int64_t v = {step} * (int64_t)N; v > 0; v -= {step})", f"int64_t i = v / {step} - 1;", "0"),
            (f"for (int64_t i = 0; i < N; i += {step})", "", f"(N - 1) / {step} * {step}"),
            ("for (int64_t i = 0; i < N; i += r + 1)", "", "(N - 1) / (r + 1) * (r + 1)"),
            (f"for (int64_t i = r * 100; i < N - r * {step % 97}; i++)", "", f"N - r * {step % 97} - 1"),
            ("for (int64_t i = 0; i < (r == 3 ? 0 : N); i++)", "", None),
            ("for (uint64_t i = r; i < (r % 2 ? (uint64_t)r : N); i++)", "", None),
            ("for (int64_t i = 0; i < (r > 1 ? N : r); i++)", "", None),
            (f"for (int v = INT32_MIN; v < INT32_MAX - {stride}; v += {stride})",
             f"int64_t i = ((int64_t)v - INT32_MIN) / {stride};", None),
            (f"for (uint32_t v = 0; v < UINT32_MAX - {stride}u; v += {stride}u)", f"int64_t i = v / {stride}u;", None),
            ("for (int16_t v = -1000; v < 1000; v++)", "int64_t i = v + 1000;", "1999"),
            ("for (uint8_t v = 3; v < 250; v++)", "int64_t i = v;", "249"),
            ("for (int8_t v = 120; v > -120; v -= 2)", "int64_t i = v + 120;", "2"),
        ]
        return rnd.choice(shapes)

    def nest(self):
        """Several loops as one: their heads, what defines i, and that of the last iteration."""
        rnd = self.rnd
        kind, other = rnd.choice(["int64_t", "int", "uint32_t"]), rnd.choice(["int64_t", "int", "uint64_t", "int16_t"])
        return rnd.choice([
            (2, f"for ({kind} p = 0; p < H; p++)\n    for ({other} q = 0; q < W; q++)", "int64_t i = p * W + q;"),
            (2, "for (int p = H - 1; p >= 0; p--)\n    for (int q = 0; q < W; q += 2)", "int64_t i = p * W + q;"),
            (2, "for (int p = H - 1; p >= 0; p -= 3)\n    for (int64_t q = W - 1; q >= 0; q -= 5)", "int64_t i = p * W + q;"),
            (2, "for (int64_t q = 0; q < W; q++)\n    for (int64_t p = 0; p < H; p++)", "int64_t i = p * W + q;"),
            (2, "for (int p = 1; p < H - 1; p++)\n    for (int q = 1; q < W - 1; q++)", "int64_t i = p * W + q;"),
            (3, f"for (int64_t p = 0; p < H; p++)\n    for ({other} q = 0; q < W / 4; q++)\n    for (int s = 0; s < "
                "4; s++)",
             "int64_t i = (p * (W / 4) + q) * 4 + s;"),
        ])

    # --- constructs ----------------------------------------------------------------------

    def construct(self):
        rnd = self.rnd
        for need, made in (("private", self.private_region), ("lock", self.with_lock), ("cancel", self.inner_loop), ("sum", self.inner_loop),
                           ("prefix", self.inner_loop), ("task", self.inner_loop)):
            if need in self.needs:
                return self.before + made() + self.after
        if "order" in self.needs:
            return self.before + self.sequential() + self.after
        if "blocks" in self.needs:
            size = self.rnd.choice(["W", "W", "2 * W"])
            teams = rnd.choice([f"num_teams({rnd.choice([2, 3, 7])})", ""])
            head = self.shape()[0]
            clauses = f"dist_schedule(static, {size}) {teams}"
            return self.before + f"#pragma omp target teams distribute {clauses}\n    {head} {{ {self.body} }}\n"
        if rnd.random() < 0.05 and "continue" not in self.body:
            return self.before + self.by_hand() + self.after
        if rnd.random() < 0.2 and self.kind in ("mirror", "inner", "branch", "flag"): # which do not use z
            return self.before + self.two_loops()
        if rnd.random() < 0.05:
            return self.before + self.inner_loop() + self.after
        return self.loop()

    def sequential(self):
        one = self.rnd.choice(["num_teams(1)", "num_teams(one)"])
        head = self.shape()[0]
        form = self.rnd.choice([f"teams distribute {one}", f"teams distribute {one}", "",
                                f"teams distribute parallel for {one} thread_limit(1)",
                                f"teams distribute parallel for {one} num_threads(1)",
                                f"teams distribute parallel for {one} if(parallel: r < 0)", "parallel for "
                                                                                            "num_threads(1)"])
        return f"    int one = 1;\n    (void)one;\n#pragma omp target {form}\n    {head} {{ {self.body} }}\n"

    def private_region(self):
        """`next` is the target region's own."""
        inner = self.rnd.choice(["distribute parallel for", "distribute"])
        return ("    int64_t next = 0;\n#pragma omp target firstprivate(next)\n"
                f"#pragma omp teams {inner} shared(next)\n    for (int64_t i = 0; i < N; i++) {{ {self.body} }}\n")

    def with_lock(self):
        inner = self.rnd.choice(["distribute parallel for", "distribute parallel for schedule(dynamic, 50)", "distribute"])
        return (f"#pragma omp target teams num_teams({self.rnd.choice([1, 2, 3])})\n    {{\n        omp_lock_t lock;\n"
                f"        int64_t counted = 0;\n        omp_init_lock(&lock);\n#pragma omp {inner}\n"
                f"        for (int64_t i = 0; i < N; i++) {{ {self.body} }}\n        omp_destroy_lock(&lock);\n"
                "_Pragma(\"omp atomic\")\n        few[0] += counted;\n    }\n")

    def inner_loop(self):
        """Rows by teams, elements by their threads."""
        rnd = self.rnd
        threads = rnd.choice(["", " num_threads(2)", " num_threads(3)"])
        loop = f"for (int64_t i = p * W; i < (p + 1) * W; i++) {{ {self.body} }}"
        outer = rnd.choice(["for (int64_t p = 0; p < H; p++)", "for (int p = H - 1; p >= 0; p--)"])
        teams = rnd.choice(["", " num_teams(3)", "" if threads else " thread_limit(3)"])
        if not self.needs & {"sum", "prefix"}:
            inside = f"#pragma omp parallel for{threads}\n        {loop}\n"
        elif "sum" in self.needs:
            store_sum = store(self.x, "p", "s + r") if self.x != "half" else "if (p < HALF) half[p] = s + r;"
            inside = (f"        int64_t s = 0;\n#pragma omp parallel for{threads} reduction(+ : s)\n        {loop}\n"
                      f"        {store_sum}\n")
        else:
            inside = (f"        int64_t s = r;\n#pragma omp parallel for{threads} reduction(inscan, + : s)\n"
                      f"        {loop}\n")
        return f"#pragma omp target teams distribute{teams} {' '.join(self.clauses)}\n    {outer} {{\n{inside}    }}\n"

    def by_hand(self):
        """Teams that find their iterations themselves."""
        inner = "#pragma omp parallel for\n" if "critical" in self.body else self.rnd.choice(["", "#pragma omp "
                                                                                                  "parallel for\n"])
        return ("#pragma omp target teams num_teams(4)\n    {\n        int64_t team = omp_get_team_num(), teams = "
                "omp_get_num_teams();\n"
                f"{inner}        for (int64_t i = N * team / teams; i < N * (team + 1) / teams; i++) {{ {self.body} "
                f"}}\n    }}\n"
                ).replace("num_teams(4)", f"num_teams(4) {' '.join(self.clauses)}")

    def two_loops(self):
        """Two loops of one league; neither uses what the other changes."""
        self.writes.add(self.z)
        return ("#pragma omp target teams num_teams(3)\n    {\n#pragma omp distribute parallel for\n"
                f"        for (int64_t i = 0; i < N; i++) {{ {self.body} }}\n"
                "#pragma omp distribute parallel for\n"
                f"        for (int64_t i = 0; i < N; i++) {{ "
                f"{store(self.z, 'i', load(self.z, 'i') + ' % 1000003 + i')} }}\n    }}\n")

    def may_be(self, form):
        kinds = FORMS[form]
        if not self.world.host and form in ("", "simd", "parallel for", "parallel for simd"):
            return False # one team: minutes on the double
        return "calls" not in self.needs or "calls" in kinds

    def loop(self):
        rnd = self.rnd
        choices = [(f, w) for f, w in zip(FORMS, WEIGHTS) if self.may_be(f)]
        form = rnd.choices([f for f, _ in choices], [w for _, w in choices])[0]
        has_loop = bool(form) # "" is a loop that no directive shares out
        body, what = self.body, rnd.random()
        head, define, last = self.shape()
        nested = self.nest() if has_loop and rnd.random() < 0.25 else None
        data = "none"
        if has_loop:
            data = rnd.choices(["none", "reduction", "private", "firstprivate", "lastprivate"], [6, 3, 1, 1, 1])[0]
        if data == "reduction":
            body = self.reduce(form, body)
        elif data == "private":
            body = "own_value = i; scratch[0] = i; " + body.replace("continue;", "{ if (own_value != i || scratch[0] "
                                                                                 "!= i) few[3] = 1; continue; }") + \
                " if (own_value != i || scratch[0] != i) few[3] = 1;"
            self.writes.add("few")
            self.before += "    int64_t own_value = 0, scratch[4];\n"
            self.clauses.append("private(own_value, scratch)")
        elif data == "firstprivate":
            body += " if (shift[1] != 2 * r || pair.index != r) few[1] = 1;"
            self.writes.add("few")
            self.before += "    int64_t shift[3] = {r, 2 * r, 3};\n    best pair = {3, r};\n"
            self.clauses.append("firstprivate(shift, pair)")
        elif data == "lastprivate" and last and not nested and form != "teams loop":
            body = "last = i + r; lasts[1] = i; " + body
            self.before += "    int64_t last = -1, lasts[3] = {0};\n"
            self.clauses.append("lastprivate(last, lasts) map(tofrom : last, lasts)")
            self.after += f"    if (last != {last} + r || lasts[1] != {last})\n        abort();\n"
        self.choose_clauses(form)
        if nested:
            count, head, define = nested
            self.clauses.append(f"collapse({count})")
        elif what < 0.001 and self.world.host and "calls" in FORMS[form] and has_loop and data == "none":
            self.before += "    if (r > 2)\n        return;\n" # around 2^31, or 2^32 - 1, iterations
            self.clauses = [clause for clause in self.clauses if "dynamic" not in clause] # which takes minutes
            head, define = rnd.choice([("for (int64_t v = 0; v < 2147483653; v++)", "if (v % 131072) continue; "
                                                                                    "int64_t i = v / 131072 % N;"),
                                       ("for (int v = -1; v < 2147483647; v++)", "if (v % 131072) continue; int64_t "
                                                                                 "i = v / 131072 % N;"),
                                       ("for (uint32_t v = 0; v < 4294967295u; v++)", "if (v % 262144) continue; "
                                                                                      "int64_t i = v / 262144 % N;")])
        if data in ("none", "private") and form.startswith("teams distribute") and rnd.random() < 0.1:
            self.share()
            body = "if (table[i % 70] != i % 70 * r || known.index != r) few[4] = 1; " + body
        return self.wrapped(form, f"    {head} {{ {define} {body} }}\n")

    def share(self):
        """Variables that are private to the target region, and that all teams read."""
        self.writes.add("few")
        self.before += ("    int64_t table[70];\n    const best known = {4, r};\n    for (int j = 0; j < 70; j++)\n"
                        "        table[j] = j * r;\n")
        self.shared = "table, known"

    def wrapped(self, form, loop):
        """The construct with what is around it."""
        rnd = self.rnd
        if self.shared:
            maps = " ".join(clause for clause in self.clauses if clause.startswith("map"))
            others = " ".join(clause for clause in self.clauses if not clause.startswith("map"))
            return (f"{self.before}#pragma omp target firstprivate({self.shared}) {maps}\n"
                    f"#pragma omp {form} shared({self.shared}) {others}\n{loop}{self.after}")
        before, after, end = self.before, self.after, ""
        only = {base(n) for n in self.reads | self.writes} - {"box", "rows", "own"}
        plain = not any(c.startswith(("reduction", "lastprivate", "map")) for c in self.clauses)
        behind_pointers = {"box", "rows"} & (self.reads | self.writes)
        if rnd.random() < 0.06 and plain and not self.needs and not behind_pointers:
            when = rnd.choice(["r % 2", "r < 3", "r == 4", "r > 9"])
            lists = ", ".join(self.world.section(n) for n in sorted(only))
            self.clauses.append(f"if(target : {when})")
            before += f"    if (!({when})) {{\n#pragma omp target update from({lists})\n    }}\n"
            after = f"    if (!({when})) {{\n#pragma omp target update to({lists})\n    }}\n" + after
        elif rnd.random() < 0.05 and plain:
            self.clauses.append(rnd.choice(["nowait", "nowait depend(inout : few[0])"]))
            end = "#pragma omp taskwait\n"
        clauses = " ".join(self.clauses)
        if form.startswith("teams ") and plain and "thread_limit" not in clauses and "num_teams" not in clauses and \
                not any(c in clauses for c in ("if(", "nowait", "firstprivate")) and rnd.random() < 0.1:
            return f"{before}#pragma omp target\n#pragma omp teams\n#pragma omp {form[6:]} {clauses}\n{loop}{after}"
        return f"{before}#pragma omp target {form} {clauses}\n{loop}{end}{after}"

    def choose_clauses(self, form):
        rnd, kinds = self.rnd, FORMS[form]
        few = not self.world.host
        if "teams" in kinds:
            if rnd.random() < 0.3:
                self.clauses.append(f"num_teams({rnd.choice([1, 2, 5] if few else [1, 2, 3, 5, 7, 16, 40])})")
            if rnd.random() < 0.2:
                self.clauses.append(f"thread_limit({rnd.choice([2] if few else [1, 2, 3])})")
            if "distribute" in form and rnd.random() < 0.08:
                self.clauses.append(f"dist_schedule(static{rnd.choice([', 1', ', 10', ', 1000', ', 7 + r', ''])})")
        if "threads" in kinds and self.world.host:
            if rnd.random() < 0.15:
                kinds = ["static", "static, 37", "auto"]
                if "lastprivate" not in " ".join(self.clauses): # whose copies clang 19 gets wrong
                    kinds += ["dynamic", "dynamic, 50", "guided", "runtime", "nonmonotonic : dynamic, 9"]
                if "distribute" not in form: # there clang 19's code is wrong for teams of one thread
                    kinds.append("static, 1")
                self.clauses.append(f"schedule({rnd.choice(kinds)})")
            if rnd.random() < 0.1:
                self.clauses.append(rnd.choice(["num_threads(2)", "num_threads(3)", "if(parallel : r % 2)",
                                                "proc_bind(spread)"]))
        if "simd" in form and rnd.random() < 0.4:
            self.clauses.append(rnd.choice(["simdlen(4)", "safelen(8)", "if(simd : r)"]))
        elif form == "teams distribute parallel for" and "calls" not in self.needs and rnd.random() < 0.05:
            self.clauses.append("order(concurrent)")

    def reduce(self, form, body):
        """The body of a loop that reduces as well: first, as that does not depend on whether the body goes on."""
        operator, kind, initial, step, result = self.rnd.choice(REDUCTIONS)
        name = "total"
        before = f"    {kind} total = {initial};\n"
        if self.rnd.random() < 0.2 and operator == "+" and "simd" not in form: # clang 19 loses updates of one element
            name = self.rnd.choice(["total[0 : 5]", "total"])
            before = f"    {kind} total[5] = {{1, 2, 3, 4, 5}};\n"
            step, result = "total[V % 5] += V;", "total[0] * 3 + total[1] * 5 + total[2] * 7 + total[3] * 9 + total[4]"
        if self.rnd.random() < 0.2:
            before += "    int64_t other = r;\n"
            step += " other ^= V * 77;"
            self.clauses.append("reduction(^ : other)")
            result += " + other"
        self.clauses.append(f"reduction({operator} : {name})")
        if self.rnd.random() < 0.5:
            self.clauses.append("map(tofrom : total)")
        self.after += f"    reduced[{self.number}] = reduced[{self.number}] * 31 + (uint64_t)(int64_t)({result});\n"
        if self.rnd.random() < 0.3:
            before += "#pragma omp target data map(tofrom : total)\n"
        self.before += before
        self.reads.add("at")
        return step.replace("V", "(at[i] % 1000 + r)") + " " + body
