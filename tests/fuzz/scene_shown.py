# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device addresses of sections, kept ones, and the device's number, in the midst of other kernels on the same arrays;
several sections in one construct; events that are fulfilled where serial code goes on."""

from program import Scene
from scene import Text, scene
from scene_tasks import team

PAGE = 512  # elements
LOOP = "for (int64_t j = 0; j < {n}; j++) {x}[j] = {x}[j] * 3 % 10007 + j + {k};"


def loop(x, n, k):
    return LOOP.format(x=x, n=n, k=k)


def made(names, size):
    """(setup, tear) of arrays."""
    setup = [f"int64_t *{x}@ = (int64_t *)malloc({size} * 8);" for x in names]
    setup += [f"for (int64_t j = 0; j < {size}; j++) {x}@[j] = j * {i + 3} + 1;" for i, x in enumerate(names)]
    tear = ["#pragma omp taskwait"] + [f"REMEMBER(HASH_OF({x}@, {size}));" for x in names]
    return setup, tear + ["".join(f"free({x}@);" for x in names)]


@scene("several sections", weight=1.5)
def several(rng):
    """Updates and ends of regions by sections of several arrays, after tasks on their tiles, beside tasks that need the
    memory. What a region's end does not name stays as it was."""
    tiles, n, uses, text = rng.choice((2, 3, 5)), rng.choice((16, PAGE)), ["several sections"], Text()
    names, size = "abcd"[:rng.choice((2, 3, 4))], tiles * n
    kind = rng.choice(("to", "to", "tofrom"))
    text.step(f"#pragma omp target enter data " + " ".join(f"map(to: {x}@[0:{size}])" for x in names))
    team(rng, text, uses)
    at = f"t * {n}"
    for _ in range(rng.choice((1, 1, 2, 3))):
        work = []
        for x in rng.sample(names, rng.randint(1, len(names))):
            y = rng.choice([""] + [y for y in names if y != x])
            other = f" depend(in: {y}@[{at}]) map(to: {y}@[{at}:{n}])" if y else ""
            source = f"{y}@[{at} + j]" if y else "1"
            work.append(f"#pragma omp target nowait depend(inout: {x}@[{at}]) map({kind}: {x}@[{at}:{n}]){other}\n"
                        f"for (int64_t j = 0; j < {n}; j++) {x}@[{at} + j] = "
                        f"({x}@[{at} + j] * 3 + {source}) % 10007 + {rng.randint(1, 9)};")
        text.step(f"for (int t = 0; t < {tiles}; t++) {{\n" + "\n".join(work) + "\n}")
        if rng.random() < 0.6:
            text.step(f"for (int t = 0; t < {tiles}; t++) {{\n#pragma omp target nowait depend(inout: z@[{at}]) "
                      f"map(tofrom: z@[{at}:{n}])\n" + loop(f"(z@ + {at})", n, 2) + "\n}")
        if rng.random() < 0.5:
            text.step("#pragma omp taskwait")
        some = rng.sample(names, rng.randint(1, len(names)))
        uses.append(f"update of {len(some)}")
        text.step(f"#pragma omp target update{moved(rng, some, tiles, n, 'from({})')}")
    ends = rng.sample(names, rng.randint(1, len(names)))
    uses.append(f"end of {len(ends)}")
    text.step("#pragma omp target exit data" + moved(rng, ends, tiles, n, "map(from: {})"))
    rest = [x for x in names if x not in ends]
    if rest:
        text.step("#pragma omp target exit data" + moved(rng, rest, tiles, n, rng.choice(("map(from: {})", "map(release: {})"))))
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup, tear = made(names + "z", size)
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=8 * n * 3 + (24 << 10), discards=True)


def moved(rng, names, tiles, n, clause):
    """The clauses of a construct that moves a section of each, ordered behind the tasks on their tiles."""
    every = ", ".join(f"{x}@[{t * n}]" for x in names for t in range(tiles))
    sections = []
    for x in names:
        lo = rng.choice((0, rng.randrange(tiles) * n, rng.randrange(tiles * n)))
        sections.append(f"{x}@[{lo}:{rng.randint(1, tiles * n - lo)}]")
    clauses = " ".join(clause.format(section) for section in sections)
    nowait = " nowait" if rng.random() < 0.5 else ""
    return f"{nowait} depend(inout: {every}) {clauses}"


@scene("kept address", weight=1.5, alone=True)
def kept(rng):
    """The address of a section outlives the construct that has shown it, as the region does; kernels write through it,
    others name the array, some fit on no device."""
    tiles, n, uses, text = rng.choice((2, 3)), rng.choice((16, PAGE)), ["kept address"], Text()
    size = tiles * n
    lo, m = rng.choice(((0, size), (0, n), (n, n), (n, size - n), (rng.randrange(n), n)))
    named = rng.choice(("", f" map(tofrom: d@[0:{m}])"))
    text.step(f"#pragma omp target enter data map(to: a@[0:{size}])" +
              rng.choice((f" map(to: b@[0:{size}])", f"\n#pragma omp target enter data map(to: b@[0:{size}])")))
    text.step(f"{{ int64_t *d@ = a@ + {lo};\n#pragma omp target data{named} use_device_ptr(d@)\np@ = d@; }}")

    def k():
        return rng.randint(1, 9)

    def section():
        at = rng.choice((0, n, rng.randrange(size)))
        return at, rng.choice((size - at, rng.randint(1, size - at)))

    for _ in range(rng.randint(4, 12)):
        at, length = section()
        x = rng.choice("aab")
        step = rng.choice(("address", "address", "address", "name", "name", "all", "both", "nowait", "host", "update", "copy"))
        uses.append(step)
        text.step({
            "address": "#pragma omp target is_device_ptr(p@)\n" + loop("p@", m, k()),
            "name": f"#pragma omp target map(tofrom: {x}@[{at}:{length}])\n" + loop(f"({x}@ + {at})", length, k()),
            "all": f"#pragma omp target map(tofrom: {x}@[0:{size}])\n" + loop(f"{x}@", size, k()),
            "both": f"#pragma omp target map(tofrom: a@[0:{size}], b@[0:{size}])\n"
                    f"for (int64_t j = 0; j < {size}; j++) b@[j] = a@[j] = (a@[j] * 3 + b@[j]) % 10007 + {k()};",
            "nowait": f"for (int t = 0; t < {tiles}; t++) {{\n#pragma omp target nowait map(tofrom: {x}@[t * {n}:{n}])\n" +
                      loop(f"({x}@ + t * {n})", n, k()) + "\n}\n#pragma omp taskwait",
            "host": f"#pragma omp target if(!yes) map(tofrom: c@[0:{size}])\n" + loop("c@", size, k()),
            "update": f"#pragma omp target update {rng.choice(('from', 'from', 'to'))}({x}@[{at}:{length}])\n"
                      f"REMEMBER(HASH_OF({x}@ + {at}, {length}));",
            "copy": f"omp_target_memcpy(c@, p@, {8 * m}, 0, 0, omp_get_initial_device(), omp_get_default_device());\n"
                    f"REMEMBER(HASH_OF(c@, {m}));"}[step])
    text.step(f"#pragma omp target exit data map(from: a@[0:{size}], b@[0:{size}])")
    setup, tear = made("abc", size)
    memory = rng.choice((2, 3)) * 8 * size + (32 << 10)  # more than half full, a GPU would not keep it
    return Scene(setup=["int64_t *p@ = NULL;"] + setup, steps=text.steps, tear=tear, uses=sorted(set(uses)), memory=memory, discards=True)


@scene("shown sections", weight=1.5)
def sections(rng):
    """While the address of a section is shown, kernels work through it, on another section, and on the whole array;
    threads, or tasks, have sections of their own."""
    tiles, n, uses, text = rng.choice((2, 3, 4)), rng.choice((16, PAGE, PAGE)), ["shown sections"], Text()
    size, who = tiles * n, rng.choice(("serial", "serial", "threads", "tasks"))
    uses.append(who)
    full = size + (who != "serial")  # the last element is a sum of all
    text.begin(f"#pragma omp target data map(tofrom: x@[0:{full}], y@[0:{size}])" + "\n{")
    mine, k = f"(x@ + t * {n})", rng.randint(1, 9)
    clause = rng.choice(("", f" map(tofrom: d[0:{n}])"))
    steps = ["#pragma omp target is_device_ptr(d)\n" + loop("d", n, k),
             f"{{ int64_t *same = x@ + t * {n};\n#pragma omp target map(tofrom: same[0:{n}])\n" + loop("same", n, 5) + "\n}",
             f"#pragma omp target map(tofrom: y@[t * {n}:{n}]) is_device_ptr(d)\nfor (int64_t j = 0; j < {n}; j++) "
             f"y@[t * {n} + j] = d[j] = (d[j] * 5 + y@[t * {n} + j]) % 10007;",
             f"{{ int64_t *e = y@ + t * {n};\n#pragma omp target data use_device_ptr(e)\n"
             f"#pragma omp target is_device_ptr(d, e)\nfor (int64_t j = 0; j < {n}; j++) e[j] = d[j] = (d[j] * 5 + e[j]) % 10007;\n}}"]
    if who == "serial":
        other = f"((t + 1) % {tiles}) * {n}"
        steps += [f"#pragma omp target map(tofrom: x@[0:{size}])\n" + loop("x@", size, 4),
                  f"#pragma omp target map(tofrom: x@[{other}:{n}])\n" + loop(f"(x@ + {other})", n, 6),
                  f"{{ int64_t *same = x@;\n#pragma omp target\n" + loop("same", size, 7) + "\n}",
                  f"#pragma omp target update from(x@[t * {n}:{n}])",
                  f"#pragma omp target nowait map(tofrom: x@[0:{size}])\n" + loop("x@", size, 4) + "\n#pragma omp taskwait"]
    else:
        steps += [f"#pragma omp target map(tofrom: x@[0:{full}])\nfor (int64_t j = t * {n}; j < (t + 1) * {n}; j++) {{\n"
                  f"x@[j] = x@[j] * 3 % 10007 + 8;\n#pragma omp atomic\nx@[{size}] += x@[j];\n}}"]
    body = "\n".join([steps[0]] + rng.choices(steps, k=rng.randint(1, 4)))
    shown = (f"{{ int64_t *d = {mine};\n#pragma omp target data{clause} use_device_ptr(d)\n{{\n{body}\n}}\n}}")
    rounds = rng.choice((1, 2, 4))
    if who == "serial":
        text.step(f"for (int r = 0; r < {rounds}; r++)\nfor (int t = 0; t < {tiles}; t++) {shown}")
    elif who == "threads":
        text.step(f"#pragma omp parallel for num_threads({rng.choice((2, 4))}) schedule(static, 1)\n"
                  f"for (int t = 0; t < {tiles}; t++)\nfor (int r = 0; r < {rounds}; r++) {shown}")
    else:
        team(rng, text, uses)
        text.step(f"for (int r = 0; r < {rounds}; r++)\nfor (int t = 0; t < {tiles}; t++) {{\n"
                  f"#pragma omp task firstprivate(t) depend(inout: x@[t * {n}])\n{shown}\n}}")
        text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup, tear = made("xy", full)
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=2 * 8 * size + (40 << 10))


@scene("device number", weight=1)
def number(rng):
    """What omp_get_default_device() answers while addresses are shown names the device of all that is present."""
    tiles, n, uses, text = rng.choice((1, 3, 6)), rng.choice((8, PAGE)), ["device number"], Text()
    size = tiles * n
    text.begin(f"#pragma omp target data map(tofrom: x@[0:{size}], y@[0:{size}])" + "\n{")
    mine = f"y@ + t * {n}"
    steps = [f"present@[t] += omp_target_is_present({mine}, number);",
             f"#pragma omp target device(number) map(tofrom: y@[t * {n}:{n}])\n" + loop(f"({mine})", n, 3),
             f"{{ int64_t *there = (int64_t *)omp_get_mapped_ptr({mine}, number);\n"
             f"#pragma omp target device(number) is_device_ptr(there)\n" + loop("there", n, 5) + "\n}",
             f"#pragma omp target update device(number) from(y@[t * {n}:{n}])",
             "#pragma omp target is_device_ptr(d)\n" + loop("d", n, 2)]
    body = "\n".join(rng.choices(steps, k=rng.randint(2, 5)))
    shown = (f"{{ int64_t *d = x@ + t * {n};\n#pragma omp target data use_device_ptr(d)\n"
             f"{{\nint number = omp_get_default_device();\n{body}\n(void)number;\n}}\n}}")
    how = rng.choice(("serial", "threads", "tasks"))
    uses.append(how)
    if how == "tasks":
        team(rng, text, uses)
    before = {"serial": "", "tasks": "#pragma omp task firstprivate(t)\n",
              "threads": f"#pragma omp parallel for num_threads({rng.choice((2, 4))}) schedule(static, 1)\n"}[how]
    every = f"for (int t = 0; t < {tiles}; t++)\n"
    text.step(before + every + shown if how == "threads" else every + "{\n" + before + shown + "\n}")
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup, tear = made("xy", size)
    setup.append(f"int present@[{tiles}] = {{0}};")
    tear.insert(1, f"REMEMBER(1 + HASH_OF(present@, {tiles}));")
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=2 * 8 * size + (16 << 10))


FULFIL = {  # the event of a task that may be under way
    "directly": "omp_fulfill_event(event);",
    "task": "#pragma omp task firstprivate(event)\nomp_fulfill_event(event);",
    "task after a kernel": "#pragma omp task firstprivate(event) depend(in: y@[0])\nomp_fulfill_event(event);",
    "taskloop": "#pragma omp taskloop grainsize(3) firstprivate(event) shared(count@)\n"
                "for (int i = 0; i < 12; i++) {{\nif (i == {k})\nomp_fulfill_event(event);\n#pragma omp atomic\ncount@++;\n}}",
    "region": "#pragma omp parallel num_threads({threads})\n#pragma omp single\nomp_fulfill_event(event);",
}


@scene("events", weight=1)
def events(rng):
    """Detached tasks among kernels; their events are fulfilled in what the creating thread does next."""
    n, rounds, uses, text = rng.choice((8, PAGE)), rng.choice((1, 3)), ["events"], Text()
    threads = team(rng, text, uses)
    text.begin(f"for (int r = 0; r < {rounds}; r++) {{\nomp_event_handle_t event = (omp_event_handle_t)0;")

    def kernel(x):
        return (f"#pragma omp target nowait depend(inout: {x}@[0]) map(tofrom: {x}@[0:{n}])\n" + loop(x + "@", n, rng.randint(1, 9)))

    how = rng.choice(list(FULFIL))
    uses.append(how)
    if rng.random() < 0.5:
        text.step(kernel(rng.choice("xy")))
    if threads <= 1 and how == "taskloop":  # libomp miscounts beside kernels
        text.step("#pragma omp taskwait")
    depend = rng.choice((" depend(inout: x@[0])", " depend(inout: x@[0])", ""))
    body = "x@[0] += 5;" if depend else "z@[0] += 5;"
    text.step(f"#pragma omp task detach(event) shared(x@, z@){depend}\n{body}")
    if rng.random() < 0.6 and not (threads <= 1 and how == "taskloop"):
        text.step(kernel(rng.choice("xy")))
    inner = rng.choice((2, 3) if threads == 1 else (1, 2, 3))  # one in one: hangs with OMP_CANCELLATION, a known fault
    text.step(FULFIL[how].format(k=rng.randrange(12), threads=inner))
    if rng.random() < 0.5:
        text.step(kernel("x"))
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    setup, tear = made("xyz", n)
    setup.append("int count@ = 0;")
    tear.insert(1, "REMEMBER(1 + (uint64_t)count@);")
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=64 << 10)


@scene("shown struct", weight=1, alone=True)
def shown_struct(rng):
    """A struct whose device address the program has: arrays are attached to its pointers and taken away meanwhile, and
    kernels use them through the address, or by name."""
    n, uses, text = rng.choice((3, 64, PAGE)), ["shown struct"], Text()
    attached, last = {}, {}  # pointer -> array, which it gets once: libomptarget 19 does not always write the word again
    begin = rng.choice(("", "", "p"))
    text.step("#pragma omp target enter data map(to: s@)" +  # apart: what takes the array away gives back a reference to s
              (f"\ns@.p = a@;\n#pragma omp target enter data map(to: s@.p[0:{n}])" if begin else ""))
    if begin:
        attached["p"] = last["p"] = "a"

    def address():
        return rng.choice(("d@ = (struct S@ *)omp_get_mapped_ptr(&s@, omp_get_default_device());",
                           "#pragma omp target data use_device_addr(s@)\nd@ = &s@;"))

    def take_away(pointer):
        del attached[pointer]
        return f"#pragma omp target exit data map(from: s@.{pointer}[0:{n}])"

    text.step(address())
    for _ in range(rng.randint(4, 12)):
        k, pointer = rng.randint(1, 9), rng.choice("pq")
        step = rng.choice(("attach", "attach", "address", "address", "address", "name", "ask", "others", "away"))
        free = [x for x in "abc" if x not in last.values()]
        if step in ("address", "name") and pointer not in attached:
            step = "attach"
        if step == "attach" and pointer in last or step == "away" and pointer not in attached:
            step = "others"
        uses.append(step)
        if step == "attach":
            attached[pointer] = last[pointer] = rng.choice(free)
            text.step(f"s@.{pointer} = {attached[pointer]}@;\n#pragma omp target enter data map(to: s@.{pointer}[0:{n}])")
        elif step == "away":
            text.step(take_away(pointer))
        elif step == "ask":
            text.step(address())
        elif step == "others":
            text.step(f"for (int t = 0; t < 3; t++) {{ int64_t *own = z@ + t * {n};\n"
                      f"#pragma omp target nowait map(tofrom: own[0:{n}])\n" + loop("own", n, k) +
                      "\n}\n#pragma omp taskwait")
        elif step == "address":
            text.step("#pragma omp target is_device_ptr(d@)\n{ d@->n += " + str(k) + ";\n" + loop(f"d@->{pointer}", n, k) + "\n}")
        else:
            text.step("#pragma omp target\n{ s@.n += " + str(k) + ";\n" + loop(f"s@.{pointer}", n, k) + "\n}")
    for pointer in sorted(attached):
        text.step(take_away(pointer))
    text.step("#pragma omp target update from(s@.n)\nREMEMBER((uint64_t)s@.n);\n#pragma omp target exit data map(release: s@)")
    setup, tear = made("abc", n)
    more, end = made("z", 3 * n)
    top = ["struct S@ { int64_t n; int64_t *p, *q; } s@ = {0, NULL, NULL}, *d@;"]
    return Scene(setup=top + setup + more, steps=text.steps, tear=tear + end, uses=sorted(set(uses)),
                 memory=8 * 8 * n + (96 << 10), discards=True)
