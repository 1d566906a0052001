# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects with static storage, whose constructors and destructors offload before main begins and after it has ended."""

from program import Scene
from scene import Text, scene

OBJECT = """\
struct G@ {{
    int64_t *kept, n;
    G@() : kept(NULL), n({n}) {{
        if (!chosen("@"))
            return;
        int64_t *data = kept = (int64_t *)malloc(n * sizeof(int64_t));
        for (int64_t j = 0; j < n; j++) data[j] = j * 3 + 1;
        {constructor}
    }}
    ~G@() {{
        int64_t *data = kept;
        if (!data)
            return;
        {destructor}
        printf("@: %llu\\n", (unsigned long long)HASH_OF(data, n));
        free(data);
    }}
}};
static G@ global@;"""
WORK = ("\n#pragma omp target map({}tofrom: data[0:n])\nfor (int64_t j = 0; j < n; j++) data[j] = data[j] * 5 % 10007 + {};\n")


@scene("static object", weight=0.7, cpp=True, alone=True)
def static_object(rng):
    n, text = rng.choice((1, 20)), Text()
    region = rng.random() < 0.7
    constructor = "\n#pragma omp target enter data map(to: data[0:n])\n" if region else ""
    constructor += WORK.format("", 2) if rng.random() < 0.5 else ""
    destructor = WORK.format("", 3) if rng.random() < 0.3 else ""
    destructor += "\n#pragma omp target exit data map(from: data[0:n])\n" if region else ""
    for _ in range(rng.randint(0, 3)):
        k = rng.randint(1, 9)
        text.step(rng.choice((
            f"{{ int64_t *data = global@.kept; const int64_t n = {n};" + WORK.format("", k) + "}",
            f"{{ int64_t *data = global@.kept; const int64_t n = {n};" + WORK.format("always, ", k) + "}",
            "REMEMBER(HASH_OF(global@.kept, global@.n));")))
    return Scene(top=[OBJECT.format(n=n, constructor=constructor, destructor=destructor)], setup=[], steps=text.steps,
                 tear=[], uses=["static object" + (" with a region" if region else "")])
