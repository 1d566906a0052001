# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that the program allocates and copies itself, reductions of tasks on devices, iterators in depend, and
use_device_addr, beside tasks on the same arrays. No mappers: libomptarget 19 gives kernels host addresses by them where
a struct is present, and loses what they write in loops over structs."""

from program import Scene
from scene import Text, scene
from scene_shown import PAGE, loop, made
from scene_tasks import team


def finish(text):
    while text.open:
        text.end()
    return text.steps


@scene("memory api", weight=1)
def memory(rng):
    """Copies to and from allocated device memory and mapped arrays, whole, in rectangles, or asynchronous behind tasks."""
    rows, columns, uses, text = rng.choice((2, 4)), rng.choice((8, PAGE)), ["memory api"], Text()
    n = rows * columns
    host, device = "omp_get_initial_device()", "omp_get_default_device()"
    text.step(f"p@ = (int64_t *)omp_target_alloc({8 * n}, {device});\n"
              f"omp_target_memcpy(p@, y@, {8 * n}, 0, 0, {device}, {host});")
    region = rng.random() < 0.7
    if region:
        text.begin(f"#pragma omp target data map(tofrom: x@[0:{n}])" + "\n{")
    team(rng, text, uses)
    part = rng.randint(1, n)
    lo = rng.randint(0, n - part)
    height, width = rng.randint(1, rows), rng.randint(1, columns)
    rect = ("{{ size_t volume[2] = {{{h}, {w}}}, at[2] = {{0, 0}}, shape[2] = {{{r}, {c}}};\n"
            "omp_target_memcpy_rect({to}, {of}, 8, 2, volume, at, at, shape, shape, {td}, {fd}); }}")
    sizes = dict(h=height, w=width, r=rows, c=columns)
    steps = {
        "kernel": f"#pragma omp target is_device_ptr(p@)\n" + loop("p@", n, rng.randint(1, 9)),
        "both": f"#pragma omp target is_device_ptr(p@) map(tofrom: x@[0:{n}])\nfor (int64_t j = 0; j < {n}; j++) "
                f"x@[j] = p@[j] = (x@[j] * 3 + p@[j]) % 10007;",
        "nowait": f"#pragma omp target nowait depend(inout: x@[0], p@[0]) is_device_ptr(p@) map(tofrom: x@[0:{n}])\n"
                  f"for (int64_t j = 0; j < {n}; j++) x@[j] = p@[j] = (x@[j] * 3 + p@[j]) % 10007;\n#pragma omp taskwait",
        "tasks": f"for (int r = 0; r < {rows}; r++) {{\n#pragma omp target nowait depend(inout: x@[r * {columns}]) "
                 f"map(tofrom: x@[r * {columns}:{columns}])\n" + loop(f"(x@ + r * {columns})", columns, 3) +
                 "\n}\n#pragma omp taskwait",
        "to": f"omp_target_memcpy(p@, y@, {8 * part}, {8 * lo}, 0, {device}, {host});",
        "from": f"omp_target_memcpy(y@, p@, {8 * part}, 0, {8 * lo}, {host}, {device});\nREMEMBER(HASH_OF(y@, {n}));",
        "rectangle to": rect.format(to="p@", of="y@", td=device, fd=host, **sizes),
        "rectangle from": rect.format(to="y@", of="p@", td=host, fd=device, **sizes),
        "asynchronous": f"{{ omp_depend_t behind;\n#pragma omp depobj(behind) depend(inout: x@[0])\n"
                        f"omp_target_memcpy_async(y@, p@, {8 * n}, 0, 0, {host}, {device}, 1, &behind);\n"
                        "#pragma omp taskwait\n}",
    }
    if region:
        steps["mapped"] = (f"{{ int64_t *there = (int64_t *)omp_get_mapped_ptr(x@, {device});\n"
                           f"if (there) omp_target_memcpy(there, y@, {8 * part}, {8 * lo}, 0, {device}, {host}); }}")
        steps["mapped from"] = (f"{{ int64_t *there = (int64_t *)omp_get_mapped_ptr(x@ + {lo}, {device});\n"
                                f"if (there) omp_target_memcpy(y@, there, {8 * part}, 0, 0, {host}, {device}); }}")
    for _ in range(rng.randint(3, 9)):
        kind = rng.choice(list(steps))
        uses.append("memory " + kind)
        text.step(steps[kind])
    text.step(f"omp_target_memcpy(y@, p@, {8 * n}, 0, 0, {host}, {device});\nomp_target_free(p@, {device});")
    setup, tear = made("xy", n)
    return Scene(setup=["int64_t *p@ = NULL;"] + setup, steps=finish(text), tear=tear, uses=sorted(set(uses)),
                 memory=4 * 8 * n + (48 << 10))


OPERATORS = (("+", "0", "sum@ += x@[i * {n} + j];"), ("max", "-1", "sum@ = sum@ > x@[i * {n} + j] ? sum@ : x@[i * {n} + j];"),
             ("^", "0", "sum@ ^= x@[i * {n} + j];"))


@scene("in_reduction", weight=1, alone=True)
def in_reduction(rng):
    """Target tasks, and host tasks, that take part in a taskgroup's reduction."""
    tiles, n, uses, text = rng.choice((2, 5)), rng.choice((8, PAGE)), ["in_reduction"], Text()
    operator, start, add = rng.choice(OPERATORS)
    uses.append("in_reduction " + operator)
    add = add.format(n=n)
    region = rng.random() < 0.5
    if region:
        text.begin(f"#pragma omp target data map(to: x@[0:{tiles * n}])" + "\n{")
    team(rng, text, uses)
    text.step(f"sum@ = {start};")
    text.begin(f"#pragma omp taskgroup task_reduction({operator}: sum@)" + "\n{")
    nowait = rng.choice((" nowait", ""))
    text.step(f"for (int i = 0; i < {tiles}; i++) {{\n#pragma omp target{nowait} in_reduction({operator}: sum@) "
              f"map(to: x@[i * {n}:{n}]) firstprivate(i)\nfor (int64_t j = 0; j < {n}; j++) {add}\n}}")
    if rng.random() < 0.5:
        uses.append("in_reduction beside host tasks")
        text.step(f"for (int i = 0; i < {tiles}; i++) {{\n#pragma omp task in_reduction({operator}: sum@) firstprivate(i)\n"
                  f"for (int64_t j = 0; j < {n}; j++) {add}\n}}")
    setup, tear = made("x", tiles * n)
    tear.insert(1, "REMEMBER(1 + (uint64_t)sum@);")
    return Scene(setup=setup + ["int64_t sum@ = 0;"], steps=finish(text), tear=tear, uses=uses, memory=2 * 8 * tiles * n + (32 << 10))


@scene("iterators", weight=1)
def iterators(rng):
    """Tasks that depend on many tiles by an iterator, among those that depend on one."""
    tiles, n, uses, text = rng.choice((2, 4, 9)), rng.choice((8, 64)), ["iterators"], Text()
    if rng.random() < 0.5:
        text.begin(f"#pragma omp target data map(tofrom: x@[0:{tiles * n}], y@[0:{n}])" + "\n{")
    team(rng, text, uses)
    for _ in range(rng.choice((1, 3))):
        text.step(f"for (int t = 0; t < {tiles}; t++) {{\n#pragma omp target nowait depend(inout: x@[t * {n}]) "
                  f"map(tofrom: x@[t * {n}:{n}])\n" + loop(f"(x@ + t * {n})", n, rng.randint(1, 9)) + "\n}")
        first, step = rng.choice(((0, 1), (0, 1), (0, 2), (1, 1)))
        every = f"iterator(int k = {first}:{tiles}:{step}), in: x@[k * {n}]"
        gathered = (f"for (int k = {first}; k < {tiles}; k += {step}) for (int64_t j = 0; j < {n}; j++) "
                    f"y@[j] = (y@[j] * 3 + x@[k * {n} + j]) % 10007;")
        how = rng.choice(("target", "host"))
        uses.append("iterator on a " + how)
        if how == "target":
            text.step(f"#pragma omp target nowait depend({every}) depend(inout: y@[0]) map(tofrom: y@[0:{n}]) "
                      f"map(to: x@[0:{tiles * n}])\n{gathered}")
        elif not text.open or not text.open[0].text.startswith("#pragma omp target data"):
            text.step(f"#pragma omp task depend({every}) depend(inout: y@[0])\n{gathered}")
        else:
            text.step(f"#pragma omp task depend({every}) depend(inout: y@[0])\n{{\n"
                      f"#pragma omp target map(tofrom: y@[0:{n}]) map(to: x@[0:{tiles * n}])\n{gathered}\n}}")
    text.step("#pragma omp taskwait")
    setup, tear = made("xy", tiles * n)
    return Scene(setup=setup, steps=finish(text), tear=tear, uses=uses, memory=2 * 8 * tiles * n + (32 << 10))


@scene("device addresses of arrays", weight=0.7)
def addresses(rng):
    """use_device_addr and has_device_addr of an array and a scalar, inside a region or with it."""
    n, uses, text = rng.choice((8, PAGE)), ["use_device_addr"], Text()
    nested = rng.random() < 0.6
    if nested:
        text.begin("#pragma omp target data map(tofrom: x@, s@)\n{")
    team(rng, text, uses)
    for _ in range(rng.randint(1, 3)):
        k = rng.randint(1, 9)
        work = f"for (int64_t j = 0; j < {n}; j++) x@[j] = x@[j] * 3 % 10007 + s@ + {k};\ns@ = (s@ + x@[{n - 1}]) % 1009;"
        clauses = "use_device_addr(x@, s@)" if nested else "map(tofrom: x@, s@) use_device_addr(x@, s@)"
        text.step(f"#pragma omp target data {clauses}\n{{\n#pragma omp target has_device_addr(x@, s@)\n{{\n{work}\n}}\n}}")
        if rng.random() < 0.5:
            uses.append("named beside its address")
            text.step(f"#pragma omp target map(tofrom: x@, s@)\n{{\n{work}\n}}")
        if rng.random() < 0.5:
            text.step(f"#pragma omp target nowait depend(inout: x@[0]) map(tofrom: x@, s@)\n{{\n{work}\n}}\n#pragma omp taskwait")
    setup = [f"int64_t x@[{n}], s@ = 5;", f"for (int64_t j = 0; j < {n}; j++) x@[j] = j * 7 + 1;"]
    tear = ["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {n}));", "REMEMBER(1 + (uint64_t)s@);"]
    return Scene(setup=setup, steps=finish(text), tear=tear, uses=uses, memory=2 * 8 * n + (32 << 10))
