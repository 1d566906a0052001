# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device addresses that kernels store in what is mapped, and that later kernels follow, in the midst of others."""

from program import Scene
from scene import Text, scene

TASK = "#pragma omp target nowait depend(inout: {}){}\n"


def walk(start, k):
    return f"for (struct N@ *e = {start}; e; e = e->next) {{ s[0] += e->v; e->v = (e->v * 3 + {k}) % 10007; }}"


@scene("stored addresses", weight=1.5, alone=True)
def stored(rng):
    """Blocks of nodes: lists in each block, in the order of the kernel that made them, or trees from block to block; a
    table of rows of an array; all of that used, changed, and made anew."""
    blocks, n, text = rng.choice((2, 4, 8)), rng.choice((1, 5, 60)), Text()
    form = rng.choice(("list", "list", "tree", "rows"))
    uses = ["stored addresses", f"stored {form}"]
    text.step(f"for (int i = 0; i < {blocks}; i++) {{ struct N@ *of = b@[i];\n#pragma omp target enter data map(alloc: of[0:{n}])\n}}")
    text.step(f"#pragma omp target enter data map(to: a@[0:{blocks * n}]) map(alloc: r@[0:{blocks}])")

    def make():
        k = rng.randint(1, 9)
        order = rng.choice(("j + 1 < {n} ? &of[j + 1] : 0", "j ? &of[j - 1] : 0")).format(n=n)
        if form == "tree":
            text.step(f"for (int i = {blocks - 1}; i >= 0; i--) {{ struct N@ *of = b@[i], *under = b@[i + 1 < {blocks} ? i + 1 : i];\n"
                      f"int last = i + 1 == {blocks};\n" + TASK.format("of[0], b@[0]", " depend(inout: under[0])") +
                      f"for (int j = 0; j < {n}; j++) {{ of[j].v = j + {k}; of[j].next = last ? 0 : &under[j]; }} }}")
        else:
            text.step(f"for (int i = 0; i < {blocks}; i++) {{ struct N@ *of = b@[i];\n" + TASK.format("of[0]", "") +
                      f"for (int j = 0; j < {n}; j++) {{ of[j].v = j * {k}; of[j].next = {order}; }} }}")
        text.step(f"#pragma omp target nowait depend(inout: a@[0], r@[0])\nfor (int i = 0; i < {blocks}; i++) r@[i] = &a@[i * {n}];")

    make()
    for _ in range(rng.randint(2, 7)):
        k = rng.randint(1, 9)
        step = rng.choice(("walk", "walk", "row", "row", "array", "other", "wait", "sync", "make"))
        uses.append(f"stored: {step}")
        start = "of" if rng.random() < 0.5 else f"&of[{n - 1}]"
        one, names = ("b@[0]", "of[0], b@[0]") if form == "tree" else ("b@[i]", "of[0]")
        if step == "make":
            make()
            continue
        text.step({
            "walk": f"for (int i = 0; i < {blocks}; i++) {{ struct N@ *of = {one}; int64_t *s = &sum@[i];\n" +
                    TASK.format(names, " map(tofrom: s[0:1])") + "{ " + walk(start, k) + " } }",
            "row": TASK.format("a@[0], r@[0]", "") + f"for (int i = 0; i < {blocks}; i++) for (int j = 0; j < {n}; j++) "
                   f"r@[i][j] = (r@[i][j] * 5 + {k}) % 10007;",
            "array": TASK.format("a@[0]", "") + f"for (int j = 0; j < {blocks * n}; j++) a@[j] = a@[j] * 3 % 10007 + {k};",
            "other": f"for (int i = 0; i < {blocks}; i++) {{ int64_t *z = &z@[i * 64];\n" + TASK.format("z[0]", " map(tofrom: z[0:64])") +
                     f"for (int j = 0; j < 64; j++) z[j] += {k}; }}",
            "wait": "#pragma omp taskwait",
            "sync": f"#pragma omp taskwait\n{{ int64_t s[1] = {{0}}; struct N@ *of = b@[0];\n#pragma omp target map(tofrom: s)\n{{ "
                    + walk(start, k) + " }\nREMEMBER((uint64_t)s[0]); }",
        }[step])
    setup = ["struct N@ { struct N@ *next; int64_t v; };",
             f"struct N@ *b@[{blocks}]; int64_t sum@[{blocks}] = {{0}};",
             f"for (int i = 0; i < {blocks}; i++) b@[i] = (struct N@ *)calloc({n}, sizeof *b@[i]);",
             f"int64_t *a@ = (int64_t *)malloc({blocks * n} * 8), *z@ = (int64_t *)calloc({blocks} * 64, 8);",
             f"int64_t **r@ = (int64_t **)calloc({blocks}, sizeof *r@);",
             f"for (int64_t j = 0; j < {blocks * n}; j++) a@[j] = j * 7;"]
    tear = ["#pragma omp taskwait",
            f"for (int i = 0; i < {blocks}; i++) {{ struct N@ *of = b@[i];\n#pragma omp target exit data map(delete: of[0:{n}])\n"
            "REMEMBER((uint64_t)sum@[i]); }",
            f"#pragma omp target exit data map(from: a@[0:{blocks * n}]) map(delete: r@[0:{blocks}])",
            f"REMEMBER(HASH_OF(a@, {blocks * n}) + HASH_OF(z@, {blocks} * 64));",
            f"for (int i = 0; i < {blocks}; i++) free(b@[i]);", "free(a@); free(r@); free(z@);"]
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=4 * blocks * (n * 24 + 8 + 512) + (96 << 10),
                 discards=True, gpus=False)
