# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded runs (docs/graph-format.md) of programs of other shapes than the simulator's workloads, made up at random.

All tasks are created at once, each datum is in a region of its own, and what a task takes is known when it is created.
"""

PRIORITIES = ("levels", "levels", "none", "random", "against")  # bottom levels, and what misleads
PAGE = 4096


class Program:
    """Data by their bytes, and tasks (kernel, seconds, uses) in the order of their creation; a use is (datum, writes)."""

    def __init__(self, rng):
        self.rng, self.sizes, self.tasks = rng, [], []
        self.seconds = rng.choice((0.2e-3, 1e-3, 5e-3))
        self.bytes = rng.choice((1 << 20, 4 << 20, 14745600, 40 << 20))

    def data(self, count, size=None):
        first = len(self.sizes)
        self.sizes += [int(size or self.bytes)] * count
        return list(range(first, first + count))

    def task(self, kernel, times, reads, writes):
        self.tasks.append((kernel, times * self.seconds, [(d, False) for d in reads if d != writes] + [(writes, True)]))


def wavefront(program):
    n = program.rng.randint(3, 14)
    a = [program.data(n) for _ in range(n)]
    for i in range(n):
        for j in range(n):
            program.task("cell", 1, [a[i - 1][j]] * (i > 0) + [a[i][j - 1]] * (j > 0), a[i][j])


def stencil(program):
    n, steps = program.rng.randint(4, 40), program.rng.randint(1, 10)
    a = [program.data(n), program.data(n)]
    for step in range(steps):
        for i in range(n):
            program.task("step", 1, a[step % 2][max(0, i - 1):i + 2], a[(step + 1) % 2][i])


def reduction(program):
    data, fan = program.data(program.rng.choice((8, 16, 40, 100))), program.rng.choice((2, 4))
    while len(data) > 1:
        for i in range(0, len(data), fan):
            for other in data[i + 1:i + fan]:
                program.task("reduce", 0.5, [other], data[i])
        data = data[::fan]


def layered(program):
    rng = program.rng
    kinds = [(f"kind{k}", 10 ** rng.uniform(-1, 1), program.bytes * 10 ** rng.uniform(-1.5, 0))
             for k in range(rng.choice((1, 3, 8)))]
    before = program.data(rng.randint(2, 30))
    for _ in range(rng.randint(2, 12)):
        layer = []
        for _ in range(rng.randint(1, 30)):
            kernel, times, size = rng.choice(kinds)
            layer += program.data(1, size)
            program.task(kernel, times, rng.sample(before, min(len(before), rng.randint(1, 4))), layer[-1])
        before = layer


def fork_and_join(program):
    centre, parts = program.data(1)[0], program.data(program.rng.randint(2, 40))
    for _ in range(program.rng.randint(1, 8)):
        program.task("fork", 1, [], centre)
        for part in parts:
            program.task("work", 1, [centre], part)
        for i in range(0, len(parts), 6):
            program.task("join", 0.25, parts[i:i + 6], centre)


def chains(program):
    """Long chains beside wide independent work."""
    rng = program.rng
    ends, shared = program.data(rng.randint(1, 4)), program.data(rng.randint(2, 12))
    tasks = [("link", end) for end in ends for _ in range(rng.randint(5, 40))]
    tasks += [("free", None)] * rng.randint(20, 200)
    if rng.random() < 0.5:
        rng.shuffle(tasks)
    for kernel, end in tasks:
        if kernel == "link":
            program.task(kernel, 1, [], end)
        else:
            program.task(kernel, 0.7, rng.sample(shared, 2), program.data(1, program.bytes / 8)[0])


def unequal(program):
    """Tasks and data of very different sizes."""
    rng = program.rng
    data = [program.data(1, 10 ** rng.uniform(4, 7.6))[0] for _ in range(rng.randint(5, 60))]
    kinds = [(f"kind{k}", 100 ** rng.random() / 10) for k in range(6)]
    for _ in range(rng.randint(10, 200)):
        written, *read = rng.sample(data, min(len(data), rng.randint(1, 4)))
        program.task(*rng.choice(kinds), read, written)


def tiny(program):
    program.seconds, data = 20e-6, program.data(program.rng.randint(10, 100), 1 << 16)
    for _ in range(program.rng.randint(100, 500)):
        written, *read = program.rng.sample(data, 3)
        program.task("tiny", 1, read, written)


def factorisation(program, name, n):
    a = {(i, j): program.data(1)[0] for i in range(n) for j in range(i + 1)}
    tasks = []
    for k in range(n):
        tasks.append((f"{name}-potrf", 1.5, [], a[k, k]))
        tasks += [(f"{name}-trsm", 0.7, [a[k, k]], a[i, k]) for i in range(k + 1, n)]
        for i in range(k + 1, n):
            tasks += [(f"{name}-gemm", 1, [a[i, k], a[j, k]], a[i, j]) for j in range(k + 1, i)]
            tasks.append((f"{name}-syrk", 0.6, [a[i, k]], a[i, i]))
    return tasks


def two_factorisations(program):
    both = [factorisation(program, name, program.rng.randint(3, 9)) for name in ("left", "right")]
    turns = [side for side in (0, 1) for _ in both[side]]
    if program.rng.random() < 0.5:
        program.rng.shuffle(turns)
    for side in turns:
        program.task(*both[side].pop(0))


def sparse_iteration(program):
    n = program.rng.randint(4, 16)
    blocks = [(i, j) for i in range(n) for j in range(n) if i == j or program.rng.random() < 0.25]
    a = dict(zip(blocks, program.data(len(blocks), 8 << 20)))
    x, y, dot = program.data(n, 1 << 18), program.data(n, 1 << 18), program.data(1, PAGE)[0]
    for _ in range(program.rng.randint(2, 6)):
        for i, j in blocks:
            program.task("multiply", 1, [a[i, j], x[j]], y[i])
        for i in range(n):
            program.task("dot", 0.1, [y[i]], dot)
        for i in range(n):
            program.task("axpy", 0.1, [dot, y[i]], x[i])


SHAPES = (wavefront, stencil, reduction, layered, fork_and_join, chains, unequal, tiny, two_factorisations, sparse_iteration)


def predecessors(tasks):
    """As depend clauses say it, task by task."""
    writer, readers, all_of_them = {}, {}, []
    for number, (_, _, uses) in enumerate(tasks):
        before = {writer[d] for d, _ in uses if d in writer}
        for datum, writes in uses:
            before |= readers.get(datum, set()) if writes else set()
            readers[datum] = set() if writes else readers.get(datum, set()) | {number}
            if writes:
                writer[datum] = number
        all_of_them.append(sorted(before))
    return all_of_them


def levels(tasks, before):
    """Microseconds of the longest path from the beginning of each."""
    path = [0.0] * len(tasks)
    for number in reversed(range(len(tasks))):
        path[number] += tasks[number][1]
        for other in before[number]:
            path[other] = max(path[other], path[number])
    return [int(seconds * 1e6) for seconds in path]


def priorities(program, before):
    how, bottom = program.rng.choice(PRIORITIES), levels(program.tasks, before)
    return how, {"levels": bottom, "none": [0] * len(bottom), "against": [-level for level in bottom],
                 "random": [program.rng.randint(0, 10**6) for _ in bottom]}[how]


def recording(program, before, urgency):
    """The text of a run on one device."""
    bases, base = [], 1 << 32
    for size in program.sizes:
        bases.append(base)
        base += -(-size // PAGE) * PAGE + PAGE
    lines = ["ompdarts-graph 4", f"run devices=1 memory={sum(program.sizes) + (1 << 20)} buffer=3 seed=1 spill=1 active=0",
             "policy darts", "eviction luf", "links 12000000000 0.000001 12000000000 0.000001"]
    lines += [f"open 0 0 {at:#x} {size} defined" for at, size in zip(bases, program.sizes)]
    for number, (_, seconds, uses) in enumerate(program.tasks, 1):
        items = " ".join(f"{bases[datum]:#x}:{'rw' if writes else 'r'}" for datum, writes in uses)
        lines.append(f"create {number} 0 {seconds:.9f} {len(uses)} {items}")
    lines.append("await 0")
    lines += [f"datum {d} {at:#x} {size}" for d, (at, size) in enumerate(zip(bases, program.sizes))]
    kernels = list(dict.fromkeys(kernel for kernel, _, _ in program.tasks))
    lines += [f"kernel {k} {name}" for k, name in enumerate(kernels)]
    for number, (kernel, seconds, uses) in enumerate(program.tasks):
        items = " ".join(f"{datum}:{'rw' if writes else 'r'}" for datum, writes in uses)
        others = "".join(f" {other + 1}" for other in before[number])
        lines.append(f"task {number + 1} 0 {kernels.index(kernel)} {urgency[number]} {seconds:.9f} {len(uses)} {items} "
                     f"{len(before[number])}{others}")
        lines.append(f"ran {number + 1} 0 0 {seconds:.9f} 0")
    return "\n".join([*lines, f"end {len(program.tasks)} {len(program.sizes)} {len(lines) + 1}", ""])


def write(path, rng):
    """A program at random; what it is in words, bytes of the task that uses most, of all data, of the largest one."""
    program, shape = Program(rng), rng.choice(SHAPES)
    shape(program)
    before = predecessors(program.tasks)
    how, urgency = priorities(program, before)
    path.write_text(recording(program, before, urgency), encoding="ascii")
    used = (sum(program.sizes[datum] for datum, _ in uses) for _, _, uses in program.tasks)
    return f"{shape.__name__}, {len(program.tasks)} tasks, priorities: {how}", max(used), sum(program.sizes), max(program.sizes)
