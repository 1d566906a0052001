# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Teams of many threads, threads that OpenMP did not create, regions with many variables, tasks without data."""

from program import Scene
from scene import Text, scene

KERNEL = "#pragma omp target{} map(tofrom: x[0:n])\nfor (int j = 0; j < n; j++) x[j] = x[j] * 3 % 10007 + {};"


@scene("many threads", weight=0.4, alone=True)
def many_threads(rng):
    """Tasks of a large team, most threads of which have nothing to do."""
    threads, count, n = rng.choice((16, 50, 100, 200)), rng.choice((1, 10, 60)), rng.choice((1, 20))
    text, uses = Text(), [f"team of {threads}"]
    offload = rng.random() < 0.8
    construct = rng.choice((f"target nowait map(tofrom: x@[i * {n}:{n}])",
                            f"target nowait map(tofrom: x@[i * {n}:{n}]) depend(inout: x@[i * {n}])")) if offload else \
        f"task firstprivate(i) depend(inout: x@[i * {n}])"
    if not offload:
        uses.append("large team without offload")
    text.step(f"#pragma omp parallel num_threads({threads})\n#pragma omp {rng.choice(('single', 'master'))}\n"
              f"for (int i = 0; i < {count}; i++) {{\n#pragma omp {construct}\n"
              f"for (int j = 0; j < {n}; j++) x@[i * {n} + j] += j + i;\n}}")
    text.step(f"#pragma omp parallel for num_threads({threads})\nfor (int i = 0; i < {count}; i++) {{\n"
              + (f"#pragma omp target map(tofrom: x@[i * {n}:{n}])\n" if offload and threads <= 16 else "") +
              f"for (int j = 0; j < {n}; j++) x@[i * {n} + j] += 1;\n}}")
    setup = [f"int64_t *x@ = (int64_t *)malloc({count * n} * 8);", f"for (int j = 0; j < {count * n}; j++) x@[j] = j;"]
    return Scene(setup=setup, steps=text.steps, tear=[f"REMEMBER(HASH_OF(x@, {count * n})); free(x@);"], uses=uses)


@scene("threads that end", weight=1, alone=True)
def threads_that_end(rng):
    """Threads of pthread_create, one after the other or at once, that offload and end, some with tasks in flight."""
    rounds, at_once, n, uses = rng.choice((1, 3, 10)), rng.choice((1, 2, 3)), rng.choice((1, 50)), ["threads that end"]
    inside = []
    for _ in range(rng.randint(1, 3)):
        k = rng.randint(1, 9)
        inside.append(rng.choice((
            KERNEL.format(" depend(inout: x[0])", k), KERNEL.format(" nowait depend(inout: x[0])", k),
            # tasks in teams of such threads are beyond libomp 19
            "#pragma omp taskwait\n#pragma omp parallel num_threads(2)\n#pragma omp single\n{\n" +
            KERNEL.format("", k) + "\n}",
            f"#pragma omp task depend(inout: x[0])\nfor (int j = 0; j < n; j++) x[j] += {k};",
            "#pragma omp target enter data map(to: x[0:n]) depend(inout: x[0])\n" + KERNEL.format(" nowait depend(inout: x[0])", k) +
            "\n#pragma omp target exit data map(from: x[0:n]) depend(inout: x[0])")))
    ends_in_flight = rng.random() < 0.5
    if ends_in_flight:
        uses.append("thread ends with tasks in flight")
    else:
        inside.append("#pragma omp taskwait")
    body = "\n".join(inside)
    top = [f"static void *thread@(void *given)\n{{\nint64_t *x = (int64_t *)given; const int n = {n};\n{body}\n"
           "return NULL;\n}"]
    text = Text()
    text.step(f"for (int round = 0; round < {rounds}; round++) {{\npthread_t handles[{at_once}];\n"
              f"for (int i = 0; i < {at_once}; i++) pthread_create(&handles[i], NULL, thread@, x@ + i * {n});\n"
              f"for (int i = 0; i < {at_once}; i++) pthread_join(handles[i], NULL);\n}}")
    setup = [f"int64_t *x@ = (int64_t *)malloc({at_once * n} * 8);",
             f"for (int j = 0; j < {at_once * n}; j++) x@[j] = j + 1;"]
    return Scene(top=top, setup=setup, steps=text.steps, tear=[f"REMEMBER(HASH_OF(x@, {at_once * n})); free(x@);"], uses=uses)


@scene("many variables", weight=0.3, alone=True)
def many_variables(rng):
    """A parallel region that shares more variables than some tables have room for."""
    count, threads, offload = rng.choice((40, 130, 300)), rng.choice((1, 2, 3)), rng.random() < 0.5
    names = [f"v@_{i}" for i in range(count)]
    setup = ["int64_t " + ", ".join(f"{name} = {i}" for i, name in enumerate(names)) + ", total@ = 0;"]
    text = Text()
    text.step(f"#pragma omp parallel num_threads({threads})\n{{\nint64_t sum = 0;\n" +
              " ".join(f"sum += {name};" for name in names) +
              f"\nfor (int i = omp_get_thread_num(); i < {count}; i += omp_get_num_threads()) {{\n" +
              " ".join(f"if (i == {i}) {name} += sum;" for i, name in enumerate(names)) + "\n}\n#pragma omp barrier\n" +
              ("#pragma omp target map(tofrom: total@)\n" if offload else "") + "\n#pragma omp atomic\ntotal@ += 1;\n}")
    if offload:  # one total on the device while the threads are there
        text.steps[0].text = "#pragma omp target data map(tofrom: total@)\n" + text.steps[0].text
    read = " + ".join(f"(uint64_t){name} * {i + 1}" for i, name in enumerate(names))
    # each thread reads all before any writes
    text.steps[0].text = text.steps[0].text.replace("\nfor (int i = omp_get_thread_num()",
                                                    "\n#pragma omp barrier\nfor (int i = omp_get_thread_num()")
    return Scene(setup=setup, steps=text.steps, tear=[f"REMEMBER((uint64_t)total@ + {read});"],
                 uses=[f"{count} shared variables"])


@scene("no data", weight=0.5)
def no_data(rng):
    """Tasks that map nothing, or only a scalar."""
    count, text = rng.choice((8, 60, 300)), Text()
    depend = rng.choice(("", " depend(inout: token@)", " depend(in: token@)"))
    text.step(f"for (int i = 0; i < {count}; i++) {{\n#pragma omp target nowait{depend}\n{{ }}\n}}")
    text.step("#pragma omp taskwait")
    text.step(f"for (int i = 0; i < {count}; i++) {{\n#pragma omp target nowait depend(inout: token@) map(tofrom: sum@)\n"
              "sum@ += i;\n}")
    return Scene(setup=["char token@; (void)token@; int64_t sum@ = 0;"], steps=text.steps,
                 tear=["#pragma omp taskwait", "REMEMBER(1u + (uint64_t)sum@);"],
                 uses=["tasks without data"], cost=4 * count)


@scene("kernels with teams", weight=0.7)
def kernels_with_teams(rng):
    """Kernels with parallel regions inside, in tasks of taskloops or at once."""
    count, n, text = rng.choice((2, 8)), rng.choice((4, 64)), Text()
    inner = rng.choice(("target teams distribute parallel for", "target parallel for", "target teams distribute"))
    around = rng.choice(("", "#pragma omp taskloop grainsize(1) shared(x@)\n"))
    nowait = "" if around else rng.choice((" nowait", f" nowait depend(inout: x@[i * {n}])"))
    text.step(around + f"for (int i = 0; i < {count}; i++) {{\n#pragma omp {inner}{nowait} map(tofrom: x@[i * {n}:{n}])\n"
              f"for (int j = 0; j < {n}; j++) x@[i * {n} + j] = x@[i * {n} + j] * 3 % 10007 + i;\n}}")
    setup = [f"int64_t *x@ = (int64_t *)malloc({count * n} * 8);", f"for (int j = 0; j < {count * n}; j++) x@[j] = j;"]
    return Scene(setup=setup, steps=text.steps,
                 tear=["#pragma omp taskwait", f"REMEMBER(HASH_OF(x@, {count * n})); free(x@);"], uses=["kernels with teams"])
