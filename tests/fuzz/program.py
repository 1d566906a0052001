# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a generated program consists of: arrays, sections of them, map items, operations, and a tree of statements.

The unit of every section is a *block*, a fixed number of elements of its array, so that the model can keep what it
knows about an array in bit masks with one bit per block. Positions may depend on loop variables (Index).
Grammar builds these trees, model walks them, emit prints them, shrink takes them apart.
"""

from dataclasses import dataclass, field, fields
from typing import Optional


@dataclass
class Array:
    """`kind` is heap (a pointer), local (an array variable), scalar, or global (declare target)."""

    name: str
    tiles: int
    blocks: int  # per tile
    elements: int  # per block
    kind: str = "heap"
    offset: int = 0  # elements between the start of the allocation and that of the array

    @property
    def size(self):
        return self.tiles * self.blocks


@dataclass(frozen=True)
class Index:
    """base + the sum of coefficient * loop variable; in blocks where it is a position."""

    base: int
    steps: tuple = ()  # of (variable, coefficient)

    def at(self, values):
        return self.base + sum(step * values[name] for name, step in self.steps)


@dataclass
class Section:
    array: int
    lo: Index
    n: int  # blocks


@dataclass
class Item:
    """A section that a construct or a piece of host code names.

    `map` is to, from, tofrom, alloc, release or delete; `implicit` where no clause names it and OpenMP's rules for
    pointers, arrays and scalars decide; `firstprivate` for scalars; `device_ptr` for addresses shown by
    use_device_ptr; empty in host code and updates. `alias` names it by a pointer to its first element.
    """

    section: Section
    map: str = ""
    always: bool = False
    present: bool = False
    alias: bool = False


@dataclass
class Op:
    """One loop over `n` blocks. Positions are in blocks from the start of the items `dst` and `src`.

    set: dst = f(src, k)    update: dst = f(dst, src, k)    add: dst += k    check: remember a hash of src
    sum: dst[0] += every element of src
    """

    kind: str
    dst: int = -1
    at: int = 0
    src: int = -1
    src_at: int = 0
    n: int = 1
    k: Index = field(default_factory=lambda: Index(1))
    planted: bool = False  # wrong when the program is told so, for the fuzzer's own test


@dataclass
class Depend:
    """`type` on a place of an array (n = 0: the element) or on a token (array = -1)."""

    type: str
    array: int
    lo: Index
    n: int = 0


@dataclass
class Statement:
    def bodies(self):
        """The statement lists inside, as (owner, field name or index) -> list."""
        return []


@dataclass
class Body(Statement):
    body: list = field(default_factory=list)

    def bodies(self):
        return [self.body]


@dataclass
class Code(Statement):
    """What has items and operations on them."""

    items: list = field(default_factory=list)
    ops: list = field(default_factory=list)


@dataclass
class Host(Code):
    """Code of the thread or task that meets it."""


@dataclass
class Target(Code):
    form: str = "target"
    nowait: bool = False
    depends: list = field(default_factory=list)
    condition: Optional[bool] = None  # the if clause's value, known at run time only
    device: Optional[int] = None


@dataclass
class Enter(Statement):
    items: list = field(default_factory=list)
    nowait: bool = False
    depends: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class Exit(Statement):
    items: list = field(default_factory=list)
    nowait: bool = False
    depends: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class Update(Statement):
    """`map` of an item says the direction: to or from."""

    items: list = field(default_factory=list)
    nowait: bool = False
    depends: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class Data(Body):
    """target data around a body."""

    items: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class DeviceCall(Code):
    """A call with addresses that target data use_device_ptr shows; its items may be mapped by that construct too."""

    kernel: bool = False  # a kernel with is_device_ptr instead of a call


@dataclass
class Task(Body):
    depends: list = field(default_factory=list)
    flags: str = ""  # untied, mergeable, priority(n), if(0), final(1)


@dataclass
class Taskwait(Statement):
    depends: list = field(default_factory=list)


@dataclass
class Taskgroup(Body):
    pass


@dataclass
class Loop(Body):
    variable: str = "i"
    count: int = 2


@dataclass
class Taskloop(Loop):
    """Each iteration is a task; all are done at its end."""


@dataclass
class Parallel(Statement):
    """Phases of one body per thread, barriers between; kind single and master have one body."""

    kind: str = "single"
    threads: int = 2
    phases: list = field(default_factory=list)

    def bodies(self):
        return [body for phase in self.phases for body in phase]


@dataclass
class Roots(Statement):
    """Threads that OpenMP did not create, one body each."""

    threads: list = field(default_factory=list)

    def bodies(self):
        return self.threads


@dataclass
class Program:
    seed: int
    arrays: list
    body: list
    type: str = "int64_t"
    work: int = 1  # repetitions inside each element operation
    tokens: int = 4

    def walk(self, body=None):
        """All statements, outer before inner."""
        for statement in self.body if body is None else body:
            yield statement
            for inner in statement.bodies():
                yield from self.walk(inner)

    def count(self):
        return sum(1 for _ in self.walk())


def clone(node):
    """A deep copy; several times faster than copy.deepcopy for these trees."""
    if isinstance(node, list):
        return [clone(item) for item in node]
    if isinstance(node, (Program, Array, Section, Item, Op, Depend, Statement)):
        twin = object.__new__(type(node))
        for f in fields(node):
            setattr(twin, f.name, clone(getattr(node, f.name)))
        return twin
    return node  # Index is never changed in place
