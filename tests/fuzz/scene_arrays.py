# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole arrays that are entered once, and tasks that work on parts of them.

What orders the tasks is as a rule not what their clauses say of the arrays: tasks between two waits write to disjoint
elements (a residue class, a range between cuts that lie anywhere, a tile of a matrix stored by columns), or are links
of a chain that has a token, or add to one element by `atomic`. So sections in depend clauses may be right, wrong or
missing, and kernels have page faults. Sections of one round are cells of one grid, since OpenMP has storage in depend
clauses either equal or disjoint. Only products of tiles name what they use, by first elements, as factorisations do.
"""

from dataclasses import dataclass

from program import Scene
from scene import Text, scene

PAGE = 512  # elements
FORMS = ("target", "target", "target parallel for num_threads(2)", "target teams distribute parallel for num_teams(2)")
CHANGE = "{x}[{at}] = ({x}[{at}] * 3 + {source} + {k}) % 1000003;"


@dataclass
class Share:
    """The elements of one task: `loops` around its statement, which is about element `at`; `lo`: one of them."""

    loops: str
    at: str
    lo: int


@dataclass
class Whole:
    name: str
    size: int
    offset: int  # from what malloc() returns
    inside: bool = False  # of a region


class Arrays:
    def __init__(self, rng):
        self.rng, self.text, self.uses = rng, Text(), set()
        self.arrays = [Whole(name + "@", rng.choice((2, 3, 6, 20, 60)) * PAGE + rng.choice((0, 0, rng.randrange(PAGE))),
                             rng.randrange(8)) for name in "xyz"[:rng.choice((1, 2, 2, 3))]]
        self.hint = rng.choice(("right", "wrong", "wrong", "none", "mixed", "mixed"))
        self.style = rng.choice(("section", "section", "element"))

    def chance(self, p):
        return self.rng.random() < p

    # --- who writes what

    def shares(self, array, count):
        """Disjoint elements of an array for so many tasks."""
        kind = self.rng.choice(("residues", "ranges", "ranges", "tiles", "tiles"))
        self.uses.add("whole array by " + kind)
        return getattr(self, kind)(array, count)

    def residues(self, array, count):
        first = [self.rng.randrange(array.size // count // 2) * count for _ in range(count)]
        last = [self.rng.randint(first[t] + count, array.size) for t in range(count)]
        return [Share(f"for (int64_t j = {first[t] + t}; j < {last[t]}; j += {count})", "j", first[t] + t)
                for t in range(count)]

    def ranges(self, array, count):
        cuts = sorted(self.rng.sample(range(1, array.size), count - 1))
        cuts = [0, *cuts, array.size]
        return [Share(f"for (int64_t j = {cuts[t]}; j < {cuts[t + 1]}; j++)", "j", cuts[t]) for t in range(count)]

    def tiles(self, array, count):
        """Rows of all tiles of a column are in one page, or in few."""
        rows, height = self.rng.choice((1, 2, 3, 4)), self.rng.choice((5, 16, 100))
        rows = min(rows, count)
        ld, columns = rows * height, -(-count // rows)
        width = max(1, array.size // ld // columns)
        out = []
        for t in range(count):
            row, column = t % rows * height, t // rows * width
            if (column + width) * ld > array.size:
                break
            out.append(Share(f"for (int64_t c = {column}; c < {column + width}; c++)\n"
                             f"for (int64_t j = {row}; j < {row + height}; j++)", f"c * {ld} + j", column * ld + row))
        return out

    # --- what their clauses say

    def grid(self, array):
        cells = self.rng.choice((2, 4, 8))
        cuts = sorted({0, array.size, *(self.rng.randrange(1, array.size) for _ in range(cells - 1))})
        return list(zip(cuts, cuts[1:]))

    def hints(self, array, grid, share):
        kind = self.rng.choice(("right", "wrong", "none")) if self.hint == "mixed" else self.hint
        self.uses.add("depend hints that are " + kind)
        if kind == "none":
            return ""
        cell = next(cell for cell in grid if cell[0] <= share.lo < cell[1]) if kind == "right" else self.rng.choice(grid)
        mode = "inout" if kind == "right" else self.rng.choice(("in", "in", "inout", "out"))
        length = f" : {cell[1] - cell[0]}" if self.style == "section" else ""
        return f" depend({mode}: {array.name}[{cell[0]}{length}])"

    def maps(self, arrays):
        """Present all the same, so the type does not matter; a pointer needs no clause at all."""
        text = ""
        for array in arrays:
            form = self.rng.choice(("whole", "whole", "none", "to"))
            if form != "none":
                text += f" map({'tofrom' if form == 'whole' else 'to'}: {array.name}[0 : {array.size}])"
        return text

    # --- steps

    def kernel(self, clauses, share, statement, form=None):
        form = form or self.rng.choice(FORMS)
        if "teams" in form and "nowait" in clauses:
            form = "target"
        self.text.step(f"#pragma omp {form}{clauses}\n{share.loops}\n{statement}")

    def source(self, others):
        """An element that no task of the round writes to, in terms of j."""
        if not others or self.chance(0.3):
            return "j", []
        other = self.rng.choice(others)
        stride = self.rng.choice((1, 1, 3, 513))
        return f"{other.name}[(j * {stride} + {self.rng.randrange(other.size)}) % {other.size}]", [other]

    def round(self):
        array, count = self.rng.choice(self.arrays), self.rng.choice((2, 3, 5, 8, 12))
        others = [other for other in self.arrays if other is not array]
        grid = self.grid(array)
        chains = self.chance(0.3)
        shares = [share for share in self.shares(array, count) for _ in range(self.rng.choice((1, 3)) if chains else 1)]
        if chains:
            self.uses.add("overlapping tasks of one array, in chains")
        for share in shares:
            source, used = self.source(others)
            ordered = f" depend(inout: token@[{shares.index(share) % 64}])" if chains else ""
            clauses = self.maps([array, *used]) + " nowait" + ordered + self.hints(array, grid, share)
            self.kernel(clauses, share, CHANGE.format(x=array.name, at=share.at, source=source, k=self.rng.randint(1, 99)),
                        "target" if self.chance(0.7) else "target parallel for num_threads(2)")
        self.text.step("#pragma omp taskwait")

    def sums(self):
        """All tasks add to a few elements, which nothing but `atomic` orders, and write to elements of their own around them."""
        array, count = self.rng.choice(self.arrays), self.rng.choice((2, 4, 8))
        self.uses.add("atomic additions of tasks")
        grid, at = self.grid(array), self.rng.randrange(array.size)
        for t in range(count):
            first = at // 16 * 16 + t + 1
            own = f"{array.name}[{first}] += j;" if first < array.size and first != at and self.chance(0.5) else ""
            share = Share(f"for (int64_t j = 0; j < {self.rng.choice((1, 50, 400))}; j++)", "j", at)
            clauses = self.maps([array]) + " nowait" + self.hints(array, grid, share)
            self.kernel(clauses, share, f"{{\n#pragma omp atomic\n{array.name}[{at}] += j + {t};\n{own}\n}}", "target")
        self.text.step("#pragma omp taskwait")

    def products(self):
        """A tile becomes a sum of products of two others, or of itself, in the order in which the tasks name them."""
        array, height = self.rng.choice(self.arrays), self.rng.choice((16, 100, 128, PAGE))
        rows = self.rng.choice((2, 3, 4))
        ld = rows * height
        width = self.rng.choice((4, 8, 20))
        columns = array.size // ld // width
        if not columns:
            return
        self.uses.add("products of tiles by name")
        other = self.rng.choice((array, self.rng.choice(self.arrays)))
        for _ in range(self.rng.choice((6, 20, 40))):
            to, a, b = (self.rng.randrange(rows) * height + self.rng.randrange(columns) * width * ld for _ in range(3))
            mode = "in" if other is array or self.chance(0.7) else "inout"
            if other is not array and max(a, b) + (width - 1) * ld + height > other.size:
                continue
            items = {(array.name, to): "inout"}
            for at in (a, b):
                items.setdefault((other.name, at), mode)
            clauses = self.maps([array, other] if other is not array else [array]) + " nowait" + "".join(
                f" depend({how}: {name}[{at}])" for (name, at), how in items.items())
            share = Share(f"for (int64_t c = 0; c < {width}; c++)\nfor (int64_t j = 0; j < {height}; j++)", "", 0)
            self.kernel(clauses, share, CHANGE.format(
                x=array.name, at=f"{to} + c * {ld} + j", k=self.rng.randint(1, 99),
                source=f"{other.name}[{a} + c * {ld} + j] * {other.name}[{b} + c * {ld} + {height - 1} - j]"), "target")
        self.text.step("#pragma omp taskwait")

    def all_of_it(self):
        array = self.rng.choice(self.arrays)
        share = Share(f"for (int64_t j = 0; j < {array.size}; j++)", "j", 0)
        self.kernel(self.maps([array]), share, CHANGE.format(x=array.name, at="j", source="j", k=5))

    def update(self):
        array = self.rng.choice(self.arrays)
        lo = self.rng.randrange(array.size)
        n = min(array.size - lo, self.rng.choice((1, 10, PAGE, 3 * PAGE)))
        section, name = f"{array.name}[{lo} : {n}]", array.name
        if self.chance(0.5):
            self.text.step(f"#pragma omp target update from({section})\nREMEMBER(HASH_OF(&{name}[{lo}], {n}));")
        else:
            self.text.step(f"for (int64_t j = {lo}; j < {lo + n}; j++) {name}[j] = j % 97;\n"
                           f"#pragma omp target update to({section})")

    def scene(self):
        tasks = self.chance(0.5)
        self.text.step("#pragma omp target enter data" + "".join(
            f" map(to: {array.name}[0 : {array.size}])" for array in self.arrays))
        if tasks:
            self.text.begin("#pragma omp parallel num_threads(2)\n#pragma omp single\n{")
        for _ in range(self.rng.randint(2, 7)):
            self.rng.choice((self.round, self.round, self.round, self.products, self.products, self.sums, self.all_of_it,
                             self.update))()
        if tasks:
            self.text.end()
        setup, tear = ["static char token@[64]; (void)token@;"], []
        for array in self.arrays:
            bytes_ = f"{array.size + array.offset} * sizeof(int64_t)"
            setup += [f"int64_t *m{array.name} = (int64_t *)malloc({bytes_});",
                      f"int64_t *{array.name} = m{array.name} + {array.offset};",
                      f"for (int64_t j = 0; j < {array.size}; j++) {array.name}[j] = j % 1009;"]
            how = self.rng.choice(("from", "from", "from", "release"))
            tear += [f"#pragma omp target exit data map({how}: {array.name}[0 : {array.size}])",
                     f"REMEMBER(HASH_OF({array.name}, {array.size})); free(m{array.name});"]
        return Scene(setup=setup, steps=self.text.steps, tear=tear, uses=sorted(self.uses), cost=60, memory=128 << 10)


@scene("whole arrays", weight=1.5, alone=True)
def whole_arrays(rng):
    """Arrays entered once; tasks that touch parts of them, whatever their depend clauses say."""
    return Arrays(rng).scene()


@scene("parts in sweeps", weight=1.2)
def sweeps(rng):
    """Two arrays, one of them without contents at first, in equal parts that end anywhere; each sweep's tasks read a part
    of one, and what of its neighbours they name, and write a part of the other. All are named by first elements."""
    parts, uses, text = rng.choice((2, 3, 4, 8, 13)), ["parts in sweeps"], Text()
    n = rng.choice((PAGE // 2, PAGE, 2 * PAGE, 5 * PAGE)) + rng.choice((0, 0, rng.randrange(1, PAGE)))
    size, halo = parts * n, rng.choice((0, 0, 1, 1, 7))
    entered = rng.choice(("alloc", "alloc", "to"))
    uses += [f"entered {entered}", f"halo of {halo}"]
    text.step(f"#pragma omp target enter data map(to: u@[0:{size}]) map({entered}: v@[0:{size}])")
    threads = rng.choice((0, 0, 2, 4))
    if threads:
        text.begin(f"#pragma omp parallel num_threads({threads})\n#pragma omp single\n{{")
    x, y = "u@", "v@"
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        near = ("p > 0 ? p - 1 : 0", "p", f"p < {parts - 1} ? p + 1 : p") if halo else ("p",)
        reads = ", ".join(f"{x}[({at}) * {n}]" for at in near)
        left, right = f"{x}[j < {halo} ? 0 : j - {halo}]", f"{x}[j + {halo} < {size} ? j + {halo} : {size - 1}]"
        text.step(f"for (int p = 0; p < {parts}; p++) {{\n#pragma omp {rng.choice(FORMS[:3])} nowait depend(in: {reads}) "
                  f"depend(out: {y}[p * {n}])\nfor (int64_t j = p * {n}; j < (p + 1) * {n}; j++)\n"
                  f"{y}[j] = ({left} + {x}[j] * 3 + {right} + {rng.randint(1, 9)}) % 1000003;\n}}")
        if rng.random() < 0.3:
            text.step("#pragma omp taskwait")
            if rng.random() < 0.5:
                lo = rng.randrange(size)
                text.step(f"#pragma omp target update from({y}[{lo}:{rng.randint(1, size - lo)}])")
        x, y = y, x
    text.step("#pragma omp taskwait")
    while text.open:
        text.end()
    text.step(f"#pragma omp target exit data map(from: {x}[0:{size}]) map({rng.choice(('delete', 'release'))}: {y}[0:{size}])")
    setup = [f"int64_t *u@ = (int64_t *)malloc({size} * 8), *v@ = (int64_t *)malloc({size} * 8);",
             f"for (int64_t j = 0; j < {size}; j++) {{ u@[j] = j * 7 % 1009; v@[j] = 1; }}"]
    tear = [f"REMEMBER(HASH_OF({x}, {size}));", "free(u@); free(v@);"]
    return Scene(setup=setup, steps=text.steps, tear=tear, uses=uses, memory=8 * 4 * n + (48 << 10), cost=parts * 8, discards=True)
