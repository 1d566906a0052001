# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host tasks that offload from inside, branch, reduce, and use private data; tasks that share one array."""

from program import Scene
from scene import Text, scene

TEAM = ("#pragma omp parallel num_threads({})\n#pragma omp {}\n{{", "}}")


def team(rng, text, uses):
    """Tasks belong to a team, or to the initial thread."""
    threads = rng.choice((0, 1, 2, 4, 4))
    if threads:
        uses.append(f"tasks in a team of {threads}")
        text.begin(f"#pragma omp parallel num_threads({threads})\n#pragma omp {rng.choice(('single', 'master'))}" + "\n{")
    return threads


OFFLOADS = (  # of the tile x[at:n], read and written
    "{{\nint64_t *t = x@ + {at};\n#pragma omp target data map(tofrom: t[0:{n}]) use_device_ptr(t)\ncall@(t, {n}, {k});\n}}",
    "{{\nint64_t *t = x@ + {at};\n#pragma omp target map(tofrom: t[0:{n}])\n"
    "for (int j = 0; j < {n}; j++) t[j] = t[j] * 3 % 10007 + {k};\n}}",
    "#pragma omp target map(tofrom: x@[{at}:{n}])\n"
    "for (int j = 0; j < {n}; j++) x@[{at} + j] = x@[{at} + j] * 3 % 10007 + {k};",
)
REGION_ONLY = ("{{\nint64_t *t = x@ + {at};\n#pragma omp target data use_device_ptr(t)\ncall@(t, {n}, {k});\n}}",)
CALL = ("static __attribute__((noinline)) void call@(int64_t *t, int n, int64_t k) "
        "{ for (int j = 0; j < n; j++) t[j] = t[j] * 5 % 10007 + k; }")


@scene("panel", weight=2)
def panel(rng):
    """The panel of a factorisation: a task offloads its tile, and writes or reads something small on the host; kernels
    use both afterwards. It may take another branch in some steps, and look at its tile after the offload."""
    tiles, n, uses, text = rng.choice((2, 3, 6)), rng.choice((1, 8, 32)), ["panel"], Text()
    region = rng.random() < 0.5
    if region:
        text.begin(f"#pragma omp target data map(tofrom: x@[0:{tiles * n}])" + "\n{")
    team(rng, text, uses)
    text.begin(f"for (int i = 0; i < {tiles}; i++) {{")
    at, k = f"i * {n}", rng.randint(1, 9)
    offload = rng.choice(OFFLOADS + (REGION_ONLY * 2 if region else ())).format(at=at, n=n, k=k)
    small = rng.choice(("pivot@[i] = i * 5 + 2;", f"for (int j = 0; j < {n}; j++) pivot@[i] += j + i;",
                        "pivot@[i] = (int64_t)tau@[i] * 2 + 1;"))
    if not region and rng.random() < 0.4:
        uses.append("host use after offload in a task")
        small += f" pivot@[i] += x@[{at}];"
        if rng.random() < 0.5:
            small += f" x@[{at}] += 7;"
    body = "\n".join(rng.sample((offload, small), 2)) if "x@[" not in small else offload + "\n" + small
    if rng.random() < 0.5:
        uses.append("task that branches")
        period = rng.choice((2, 3))
        other = small if region else f"for (int j = 0; j < {n}; j++) x@[{at} + j] += 2; " + small
        body = f"if (i % {period} != {rng.randrange(period)}) {{\n{body}\n}} else {{\n{other}\n}}"
    text.step(f"#pragma omp task firstprivate(i) shared(pivot@, tau@) depend(inout: x@[{at}]) depend(out: pivot@[i]) "
              f"depend(in: tau@[i])\n{{\n{body}\n}}")
    for _ in range(rng.randint(1, 3)):
        text.step(rng.choice((
            f"#pragma omp target nowait depend(inout: x@[{at}]) depend(in: pivot@[i]) map(tofrom: x@[{at}:{n}]) "
            f"map(to: pivot@[i:1])\nfor (int j = 0; j < {n}; j++) x@[{at} + j] += pivot@[i];",
            "#pragma omp target nowait depend(inout: tau@[i]) depend(in: pivot@[i]) map(tofrom: tau@[i:1]) "
            "map(to: pivot@[i:1])\ntau@[i] += pivot@[i];",
            f"#pragma omp task firstprivate(i) shared(pivot@) depend(inout: pivot@[i])\npivot@[i] += {k};")))
    text.end()
    while text.open:
        text.step("#pragma omp taskwait")
        text.end()
    size = tiles * n
    setup = [f"int64_t *x@ = (int64_t *)malloc({size} * 8), *pivot@ = (int64_t *)calloc({tiles}, 8);",
             f"int64_t *tau@ = (int64_t *)malloc({tiles} * 8);",
             f"for (int j = 0; j < {size}; j++) x@[j] = j + 1;", f"for (int j = 0; j < {tiles}; j++) tau@[j] = j + 3;"]
    tear = ["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {size}) + HASH_OF(pivot@, {tiles}) * 3);",
            f"REMEMBER(HASH_OF(tau@, {tiles}));", "free(x@); free(pivot@); free(tau@);"]
    return Scene(top=[CALL], setup=setup, steps=text.steps, tear=tear, uses=uses)


@scene("task data", weight=2, alone=True)
def task_data(rng):
    """Thread numbers, threadprivate variables and reductions in tasks that offload."""
    threads, count, n, uses, text = rng.choice((1, 2, 4, 8)), rng.choice((4, 12, 40)), rng.choice((1, 16)), ["task data"], Text()
    reduce = rng.random() < 0.6
    text.begin(f"#pragma omp parallel num_threads({threads})\n{{\nmine@ = 100 + omp_get_thread_num();\n"
               "#pragma omp barrier\n#pragma omp master\n{")
    if reduce:
        uses.append("task reduction")
        text.begin("#pragma omp taskgroup task_reduction(+: sum@)\n{")
    clause = " in_reduction(+: sum@)" if reduce else ""
    offload = rng.choice(OFFLOADS).format(at=f"i * {n}", n=n, k=rng.randint(1, 9))
    checks = ["wrong@[i] += mine@ != 100 + omp_get_thread_num();",
              f"wrong@[i] += omp_get_num_threads() != {threads};"]
    if rng.random() < 0.3:
        uses.append("deep stack in a task")
        checks.append("wrong@[i] += deep@(40, i) != 40 * i;")
    if rng.random() < 0.3:
        uses.append("who runs at once")  # tied: a thread runs one such body at a time, if it has no task scheduling point
        checks.append("{ int me = omp_get_thread_num(), was;\n#pragma omp atomic capture\n{ was = inside@[me]; inside@[me]++; }\n"
                      "wrong@[i] += was; for (volatile int w = 0; w < 20000; w++);\n#pragma omp atomic\ninside@[me]--;\n}")
    add = "sum@ += i * 3 + 1;" if reduce else ""
    body = "\n".join(checks) + "\n" + "\n".join(rng.sample((offload, add), 2)) + "\n" + checks[0]
    depend = rng.choice(("", f" depend(inout: x@[i * {n}])", f" depend(inout: x@[i % 3 * {n}])", " depend(in: x@[0])"))
    if depend == " depend(in: x@[0])":
        uses.append("unordered tasks with depend")
    text.step(f"for (int i = 0; i < {count}; i++) {{\n#pragma omp task firstprivate(i) shared(x@, wrong@, inside@)"
              f"{clause}{depend}\n{{\n{body}\n}}\n}}")
    while text.open:
        text.end("}\n}" if len(text.open) == 1 else "}")
    setup = [f"int64_t *x@ = (int64_t *)malloc({count * n} * 8); int wrong@[{count}] = {{0}}; int64_t sum@ = 5; "
             f"int inside@[{threads}] = {{0}}; (void)inside@;", f"for (int j = 0; j < {count * n}; j++) x@[j] = j + 1;"]
    tear = [f"REMEMBER(HASH_OF(x@, {count * n}) + (uint64_t)sum@);", f"REMEMBER(1 + HASH_OF(wrong@, {count}));", "free(x@);"]
    top = [CALL, "static int mine@;\n#pragma omp threadprivate(mine@)",
           "static __attribute__((noinline)) int deep@(int depth, int x) { volatile char room[20000]; room[0] = (char)depth; "
           "return depth == 0 ? room[0] : x + deep@(depth - 1, x); }"]
    return Scene(top=top, setup=setup, steps=text.steps, tear=tear, uses=uses)


ADD = (  # k to the tile t[0:n], in any order
    "#pragma omp target map(tofrom: t[0:{n}])\nfor (int j = 0; j < {n}; j++) t[j] += {k};",
    "#pragma omp target data map(tofrom: t[0:{n}]) use_device_ptr(t)\nadd@(t, {n}, {k});",
    "#pragma omp target data map(tofrom: t[0:{n}])\n{{\n#pragma omp target map(tofrom: t[0:{n}])\n"
    "for (int j = 0; j < {n}; j++) t[j] += {k};\n}}",
    "for (int j = 0; j < {n}; j++) t[j] += {k};",
)
ADD_TO = "static __attribute__((noinline)) void add@(int64_t *t, int n, int64_t k) { for (int j = 0; j < n; j++) t[j] += k; }"
LOCKED = (
    "#pragma omp critical(name@)\n{{\n{offload}\n}}",
    "omp_set_lock(&lock@);\n{offload}\nomp_unset_lock(&lock@);",
)
SHOWN_AND_LOCKED = (
    "#pragma omp target data map(tofrom: t[0:{n}]) use_device_ptr(t)\n{{\nomp_set_lock(&lock@);\nadd@(t, {n}, {k});\n"
    "omp_unset_lock(&lock@);\n}}")


@scene("locks in tasks", weight=1)
def locks(rng):
    """Tasks offload while they hold a lock, ordered by depend clauses or by nothing else; kernels use the same data."""
    tiles, n, rounds = rng.choice((1, 3, 6)), rng.choice((1, 8, 32)), rng.choice((1, 3, 8))
    uses, text = ["locks in tasks"], Text()
    region = rng.random() < 0.6
    if region:
        text.begin(f"#pragma omp target data map(tofrom: x@[0:{tiles * n}], y@[0:{tiles * n}])" + "\n{")
    team(rng, text, uses)
    locked, shape = rng.choice(LOCKED), {"n": n, "k": rng.randint(1, 9)}
    kinds = ADD[:3] if region else ADD  # the host may not use what a region maps

    def task(array, depend, form):
        begin = f"#pragma omp task firstprivate(i){depend}" + "\n{\n" + f"int64_t *t = {array} + i * {n};\n"
        return begin + form + "\n}"

    def offload():
        return locked.format(offload=rng.choice(kinds).format(**shape))

    first = offload()
    if region and rng.random() < 0.2:
        uses.append("lock taken while an address is shown")
        first = SHOWN_AND_LOCKED.format(**shape)
    inside = [task("x@", f" depend(inout: x@[i * {n}])", first)]
    if rng.random() < 0.8:
        inside.append(task("y@", "", offload()))
    if rng.random() < 0.5:
        inside.append(f"#pragma omp target nowait depend(inout: x@[i * {n}]) map(tofrom: x@[i * {n}:{n}])\n"
                      f"for (int j = 0; j < {n}; j++) x@[i * {n} + j] += 3;")
    wait = "#pragma omp taskwait\n" if rng.random() < 0.5 else ""
    text.step(f"for (int r = 0; r < {rounds}; r++) {{\nfor (int i = 0; i < {tiles}; i++) {{\n" + "\n".join(inside) +
              f"\n}}\n{wait}}}")
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup = [f"int64_t *x@ = (int64_t *)malloc({tiles * n} * 8), *y@ = (int64_t *)malloc({tiles * n} * 8);",
             f"for (int j = 0; j < {tiles * n}; j++) x@[j] = y@[j] = j + 1;", "omp_lock_t lock@;", "omp_init_lock(&lock@);"]
    tear = ["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {tiles * n}) + HASH_OF(y@, {tiles * n}) * 3);",
            "omp_destroy_lock(&lock@); free(x@); free(y@);"]
    return Scene(top=[ADD_TO], setup=setup, steps=text.steps, tear=tear, uses=uses)


@scene("disjoint parts", weight=1)
def disjoint(rng):
    """Tasks map one array whole, name it as read, and write parts of their own."""
    count, n, uses, text = rng.choice((2, 4, 8)), rng.choice((1, 16)), ["disjoint parts"], Text()
    region = rng.random() < 0.7
    if region:
        text.begin(f"#pragma omp target data map(tofrom: x@[0:{count * n}])" + "\n{")
    team(rng, text, uses)
    depend = rng.choice((" depend(in: x@[0])", f" depend(in: x@[0:{count * n}])", "", f" depend(inout: x@[i * {n}])"))
    whole = region or depend == "XX"
    section = f"x@[0:{count * n}]" if whole else f"x@[i * {n}:{n}]"
    for _ in range(rng.randint(1, 3)):
        text.step(f"for (int i = 0; i < {count}; i++) {{\n#pragma omp target nowait{depend} map(tofrom: {section})\n"
                  f"for (int j = 0; j < {n}; j++) x@[i * {n} + j] = x@[i * {n} + j] * 3 % 10007 + i;\n}}")
        text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup = [f"int64_t *x@ = (int64_t *)malloc({count * n} * 8);", f"for (int j = 0; j < {count * n}; j++) x@[j] = j + 1;"]
    tear = ["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {count * n}));", "free(x@);"]
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses)


OBJECT = """\
struct O@ {
    int64_t n, *data;
    explicit O@(int64_t n_) : n(n_), data(new int64_t[n_]) { for (int64_t j = 0; j < n; j++) data[j] = j + n; }
    O@(const O@ &other) : n(other.n), data(new int64_t[other.n]) { for (int64_t j = 0; j < n; j++) data[j] = other.data[j]; }
    ~O@() { for (int64_t j = 0; j < n; j++) data[j] = -1; delete[] data; n = -1; }
    int64_t total() const { int64_t sum = 0; for (int64_t j = 0; j < n; j++) sum += data[j]; return sum; }
};"""


@scene("firstprivate objects", weight=1.5, cpp=True)
def objects(rng):
    """Tasks, with and without constructs inside, that own copies of objects with destructors."""
    count, n, uses, text = rng.choice((3, 20)), rng.choice((1, 9)), ["firstprivate objects"], Text()
    team(rng, text, uses)
    offload = rng.choice(OFFLOADS).format(at=f"i * {n}", n=n, k=rng.randint(1, 9))
    body = "\n".join(rng.sample((f"out@[i] += o.total() + i;", offload), 2))
    text.step(f"for (int i = 0; i < {count}; i++) {{\nO@ o(i + 1);\n#pragma omp task firstprivate(i, o) shared(x@, out@) "
              f"depend(inout: x@[i * {n}])\n{{\n{body}\n}}\no.data[0] = 77;\n}}")
    if rng.random() < 0.5:
        uses.append("firstprivate object of a kernel on the host")
        text.step(f"for (int i = 0; i < {count}; i++) {{\nO@ o(i + 2);\n#pragma omp target nowait firstprivate(i) "
                  f"if(!yes) map(tofrom: x@[i * {n}:{n}]) depend(inout: x@[i * {n}])\nx@[i * {n}] += i;\n"
                  f"#pragma omp task firstprivate(i, o) shared(out@) depend(in: x@[i * {n}]) depend(inout: out@[i])\n"
                  "out@[i] += o.total();\n}")
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup = [f"int64_t *x@ = (int64_t *)malloc({count * n} * 8); int64_t out@[{count}] = {{0}};",
             f"for (int j = 0; j < {count * n}; j++) x@[j] = j + 1;"]
    tear = ["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {count * n}) + HASH_OF(out@, {count}));", "free(x@);"]
    return Scene(top=[OBJECT, CALL], setup=setup, steps=text.steps, tear=tear, uses=uses)
