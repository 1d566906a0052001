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
    """`kind` is heap (a pointer), local (an array variable), scalar, global (declare target), or device (memory of
    omp_target_alloc, which the host does not look into). `device` is the device clause of all that uses it."""

    name: str
    tiles: int
    blocks: int  # per tile
    elements: int  # per block
    kind: str = "heap"
    offset: int = 0  # elements between the start of the allocation and that of the array
    device: Optional[int] = None

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
    pointers, arrays, scalars and globals decide; `firstprivate` for scalars and arrays; empty in host code and
    for device addresses. `zero` maps no element of it: a section of length zero at its begin. `alias` names it by a
    pointer to its first element, which may be a member of a struct (the statement's `shape`); `member` is its number
    in the struct of the region that the statement goes `through`.
    """

    section: Section
    map: str = ""
    always: bool = False
    present: bool = False
    close: bool = False
    hold: bool = False
    zero: bool = False
    alias: bool = False
    member: int = 0


@dataclass
class Op:
    """One loop over `n` blocks. Positions are in blocks from the start of the items `dst` and `src`.

    set: dst = f(src, k)    update: dst = f(dst, src, k)    add: dst += k    check: remember a hash of src
    sum, max: dst[0] += every element of src, or becomes the largest
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
    """`type` on a place of an array (n = 0: the element), on a token (array = -1), or on all memory (array = -2)."""

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
    """`shape` is how aliases are spelled (SHAPES); `through` the label of a Data whose struct the kernel goes through,
    `parent` whether it maps that struct."""

    form: str = "target"
    nowait: bool = False
    depends: list = field(default_factory=list)
    spelling: str = "plain"
    condition: Optional[bool] = None  # the if clause's value, known at run time only
    device: Optional[int] = None
    by_default: bool = False  # the device is not named, but the default device meanwhile
    shape: str = ""
    through: Optional[int] = None
    parent: bool = False
    defaultmap: bool = False  # scalars are mapped tofrom where no clause names them


# A pointer variable each (empty); members of a struct that is not mapped itself, or is; of a struct variable; elements
# of a table of pointers; or what a mapper of a struct maps.
SHAPES = ("", "members", "parent", "variable", "table", "mapper")
SPELLINGS = ("plain", "depobj", "iterator")  # of depend clauses


@dataclass
class Motion(Statement):
    """A directive that is about data only."""

    items: list = field(default_factory=list)
    nowait: bool = False
    depends: list = field(default_factory=list)
    spelling: str = "plain"
    device: Optional[int] = None
    by_default: bool = False
    shape: str = ""


@dataclass
class Enter(Motion):
    pass


@dataclass
class Exit(Motion):
    pass


@dataclass
class Update(Motion):
    """`map` of an item says the direction: to or from."""


@dataclass
class Data(Body):
    """target data around a body."""

    items: list = field(default_factory=list)
    device: Optional[int] = None
    by_default: bool = False
    shape: str = ""
    label: Optional[int] = None


@dataclass
class DeviceCall(Code):
    """A call with addresses that target data use_device_ptr shows; its items may be mapped by that construct too. `how`
    is call, kernel (with is_device_ptr), or address (a kernel: use_device_addr and has_device_addr)."""

    how: str = "call"
    device: Optional[int] = None


@dataclass
class Mapped(Code):
    """A kernel on addresses that omp_get_mapped_ptr gives."""

    device: Optional[int] = None


@dataclass
class Memcpy(Statement):
    """omp_target_memcpy of the second item's section to the first one's. An item's `map` says where: `host`, `own` (an
    array of kind device) or `mapped` (where omp_get_mapped_ptr says)."""

    items: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class Present(Statement):
    """Remembers what omp_target_is_present says of the items' first elements."""

    items: list = field(default_factory=list)
    device: Optional[int] = None


@dataclass
class Associate(Body):
    """An array has device memory of the program's own while the body runs (omp_target_associate_ptr)."""

    array: int = 0


@dataclass
class Renew(Statement):
    """Arrays are freed, allocated in this order, and filled afresh."""

    arrays: list = field(default_factory=list)


@dataclass
class Task(Body):
    depends: list = field(default_factory=list)
    spelling: str = "plain"
    flags: str = ""  # untied, mergeable, priority(n), if(0), final(1)


@dataclass
class Detached(Statement):
    """A host task that completes with an event, and a second one that fulfils it."""

    first: Task = field(default_factory=Task)
    second: Task = field(default_factory=Task)

    def bodies(self):
        return [self.first.body, self.second.body]


# Constructs with a barrier -> what stands below them. Clang 19 emits nothing, thus no barrier, for `sections` with an
# empty block.
WITH_BARRIER = {"barrier": "", "single": "{ }", "for": "for (int none = 0; none < 2; none++) (void)none;",
                "sections": "{ ; }"}


@dataclass
class Taskwait(Statement):
    """`instead`: outside of all regions and tasks, one of WITH_BARRIER, which waits as well."""

    depends: list = field(default_factory=list)
    spelling: str = "plain"
    nowait: bool = False
    instead: str = ""


@dataclass
class Taskgroup(Body):
    pass


@dataclass
class Cancelled(Body):
    """A taskgroup: its body, a wait, then a task that cancels it. What `dead` holds comes after that and never runs: the
    first statement in that task, the others as tasks of the group."""

    before: list = field(default_factory=list)  # in the task that cancels
    dead: list = field(default_factory=list)

    def bodies(self):
        return [self.body, self.before]


@dataclass
class Loop(Body):
    variable: str = "i"
    count: int = 2


@dataclass
class Taskloop(Loop):
    """Each iteration is a task; all are done at its end, or with the next wait (nogroup)."""

    flags: str = ""


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
class Step:
    """C text (scene.py)."""

    text: str = ""


@dataclass
class Block(Step):
    """`text` opens it."""

    body: list = field(default_factory=list)
    close: str = "}"


PLACES = ("linked", "opened")  # shared libraries


@dataclass
class Scene(Statement):
    """A piece of a program with variables of its own: file-scope text, declarations, steps, and what ends it.

    `last` ends the program, mostly in a way that the runtime must report. `place` is where its code is: the program, or a
    shared library that is linked or opened. `devices` says whether it names devices. `cost`: steps of other statements
    that take as long. `memory`: of a device, bytes that are enough for it. `discards`: the host is to keep values that
    kernels have replaced on devices. `gpus`: it is right there, too."""

    kind: str = ""
    top: list = field(default_factory=list)
    setup: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    tear: list = field(default_factory=list)
    last: bool = False
    place: str = ""
    devices: bool = False
    cost: int = 20
    memory: int = 1 << 20
    discards: bool = False
    gpus: bool = True
    uses: list = field(default_factory=list)  # names of what was drawn, for the report


@dataclass
class Program:
    seed: int
    arrays: list
    body: list
    type: str = "int64_t"
    work: int = 1  # repetitions inside each element operation
    tokens: int = 4
    cpp: bool = False

    def scenes(self):
        return [statement for statement in self.walk() if isinstance(statement, Scene)]

    @property
    def wrong(self):
        """It ends in a way that the runtime must report."""
        return any(scene.last for scene in self.scenes())

    def walk(self, body=None):
        """All statements, outer before inner."""
        for statement in self.body if body is None else body:
            yield statement
            for inner in statement.bodies():
                yield from self.walk(inner)

    def count(self):
        return sum(1 for _ in self.walk())


def productions(program):
    """Names of what a program uses, each use once: statements, clauses, kinds of arrays, what scenes have drawn."""
    names = ["C++" if program.cpp else "C"] + [f"{array.kind} array" for array in program.arrays]
    for statement in program.walk():
        names.append(f"scene {statement.kind}" if isinstance(statement, Scene) else type(statement).__name__.lower())
        names += [f"{statement.kind}: {use}" for use in statement.uses] if isinstance(statement, Scene) else []
        names += [f"scene in {statement.place} library"] if getattr(statement, "place", "") else []
        names += [f"{statement.instead} outside of regions"] if getattr(statement, "instead", "") else []
        names += [name for name in ("nowait", "depends", "shape", "parent", "by_default", "defaultmap")
                  if getattr(statement, name, None)]
        for item in getattr(statement, "items", []):
            names += [f"map {item.map}"] if item.map else []
            names += [name for name in ("always", "present", "close", "hold", "zero", "alias") if getattr(item, name)]
    return names


def clone(node):
    """A deep copy; several times faster than copy.deepcopy for these trees."""
    if isinstance(node, list):
        return [clone(item) for item in node]
    if isinstance(node, (Program, Array, Section, Item, Op, Depend, Statement, Step)):
        twin = object.__new__(type(node))
        for f in fields(node):
            setattr(twin, f.name, clone(getattr(node, f.name)))
        return twin
    return node  # Index is never changed in place
