# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing program small: statements out, compound statements replaced by their bodies, clauses and operations
out, numbers down, as long as the model accepts the program and it still fails. Candidates are built several at a
time."""

import time

from emit import source
from model import Invalid, judge
from program import Block, Code, Index, Loop, Parallel, Roots, Scene, clone

BATCH = 8
PLAIN = (("nowait", False), ("condition", None), ("device", None), ("form", "target"), ("flags", ""), ("kernel", True),
         ("threads", 2), ("threads", 1), ("kind", "single"), ("count", 1), ("count", 2))


def shrink(program, fails, deadline, enough=0):
    """`fails(candidates)` gets a list of (program, readable) and returns the index of one that fails, or None. Ends when
    so few statements are left, too."""
    improved = True
    while improved:
        improved = False
        for pass_ in (without_statements, hoisted, without_details, smaller):
            skip = 0
            while time.monotonic() < deadline and program.count() > enough:
                found, skip = first_failing(pass_(program), skip, fails, deadline)
                if found is None:
                    break
                program = found
                improved = True
    return program


def first_failing(candidates, skip, fails, deadline):
    """The first candidate that fails, and where it was: the search in it goes on from there. (None, 0) if none does,
    after those before `skip` have had their turn too."""
    early, late = [], []
    for number, candidate in enumerate(candidates):
        (early if number < skip else late).append((number, candidate))
    batch = []
    for number, candidate in late + early:
        try:
            _, readable = judge(candidate)
            source([(candidate, readable)])
        except (Invalid, LookupError):  # a kernel uses what a statement that is gone now had named
            continue
        batch.append((number, candidate, readable))
        if len(batch) == BATCH:
            index = fails([(program, masks) for _, program, masks in batch])
            if index is not None:
                return batch[index][1], batch[index][0]
            batch = []
            if time.monotonic() > deadline:
                return None, 0
    index = fails([(program, masks) for _, program, masks in batch]) if batch else None
    return (None, 0) if index is None else (batch[index][1], batch[index][0])


def lists(program):
    """Every statement list of a program, outer before inner, largest first."""
    found = [program.body]
    for statement in program.walk():
        found += statement.bodies()
    return found


def statements(program):
    return list(program.walk())


def without_statements(program):
    """Runs of statements removed, long ones first."""
    sizes = [len(body) for body in lists(program)]
    length = max(sizes)
    while length >= 1:
        for number, size in enumerate(sizes):
            if length > size:
                continue
            for at in range(0, size - length + 1, max(1, length // 2)):
                twin = clone(program)
                del lists(twin)[number][at:at + length]
                yield twin
        length //= 2


def hoisted(program):
    """Compound statements replaced by one of their bodies; a loop by its first or last iteration."""
    for number, body in enumerate(lists(program)):
        for at, statement in enumerate(body):
            for which in range(len(statement.bodies())):
                for value in (0, statement.count - 1) if isinstance(statement, Loop) else (0,):
                    twin = clone(program)
                    target = lists(twin)[number]
                    inner = target[at].bodies()[which]
                    if isinstance(statement, Loop):
                        substitute(inner, statement.variable, value)
                    target[at:at + 1] = inner
                    yield twin


def substitute(node, variable, value):
    """Replaces a loop variable by its value in all indices below `node`."""
    if isinstance(node, list):
        for item in node:
            substitute(item, variable, value)
    elif hasattr(node, "__dict__"):
        for name, field in vars(node).items():
            if isinstance(field, Index):
                gone = sum(step * value for name2, step in field.steps if name2 == variable)
                rest = tuple(pair for pair in field.steps if pair[0] != variable)
                setattr(node, name, Index(field.base + gone, rest))
            else:
                substitute(field, variable, value)


def edits(statement):
    """Functions that each take something off a statement."""
    if isinstance(statement, Code):
        for at in range(len(statement.items)):
            yield lambda s, at=at: drop_item(s, at)
        for at in range(len(statement.ops)):
            yield lambda s, at=at: s.ops.pop(at)
            yield lambda s, at=at: setattr(s.ops[at], "src", -1)
            yield lambda s, at=at: setattr(s.ops[at], "n", 1)
            yield lambda s, at=at: setattr(s.ops[at], "k", Index(1))
    elif isinstance(statement, Scene):
        for path in step_paths(statement.steps):
            yield lambda s, path=path: drop_step(s.steps, path)
            yield lambda s, path=path: hoist_step(s.steps, path)
    elif hasattr(statement, "items"):
        for at in range(len(statement.items)):
            yield lambda s, at=at: s.items.pop(at)
    for at in range(len(getattr(statement, "depends", []))):
        yield lambda s, at=at: s.depends.pop(at)
    for name, plain in PLAIN:
        if hasattr(statement, name) and getattr(statement, name) != plain and isinstance(
                getattr(statement, name), (int, str)):
            yield lambda s, name=name, plain=plain: setattr(s, name, plain)
    for at, item in enumerate(getattr(statement, "items", [])):
        for name in ("alias", "always", "present"):
            if getattr(item, name):
                yield lambda s, at=at, name=name: setattr(s.items[at], name, False)
    if isinstance(statement, Parallel) and len(statement.phases) > 1:
        for at in range(len(statement.phases)):
            yield lambda s, at=at: s.phases.pop(at)
    if isinstance(statement, Roots):
        for at in range(len(statement.threads)):
            yield lambda s, at=at: s.threads.pop(at)


def step_paths(steps):
    """The places of all steps, outer before inner: lists of indices."""
    for at, step in enumerate(steps):
        yield [at]
        if isinstance(step, Block):
            yield from ([at] + path for path in step_paths(step.body))


def drop_step(steps, path):
    for at in path[:-1]:
        steps = steps[at].body
    del steps[path[-1]]


def hoist_step(steps, path):
    """A block is replaced by its body."""
    for at in path[:-1]:
        steps = steps[at].body
    block = steps[path[-1]]
    steps[path[-1]:path[-1] + 1] = block.body if isinstance(block, Block) else [block]


def drop_item(code, at):
    """An item with the operations that write it; those that only read it go on without a source."""
    code.items.pop(at)
    kept = []
    for op in code.ops:
        if op.dst == at or op.src == at and op.kind in ("check", "sum"):
            continue
        op.src = -1 if op.src == at else op.src - (op.src > at)
        op.dst -= op.dst > at
        kept.append(op)
    code.ops = kept


def without_details(program):
    for number, statement in enumerate(statements(program)):
        for edit in edits(statement):
            twin = clone(program)
            edit(statements(twin)[number])
            yield twin


def smaller(program):
    """Arrays and repetitions."""
    for name, value in (("work", 1), ("type", "int64_t")):
        if getattr(program, name) != value:
            twin = clone(program)
            setattr(twin, name, value)
            yield twin
    if any(array.elements > 1 for array in program.arrays):
        twin = clone(program)
        for array in twin.arrays:
            array.elements = 1
        yield twin
    for number, array in enumerate(program.arrays):
        for name, values in (("tiles", range(1, array.tiles)), ("offset", (0,)), ("kind", ("heap",))):
            for value in values:
                if getattr(array, name) != value and array.kind != "scalar":
                    twin = clone(program)
                    setattr(twin.arrays[number], name, value)
                    yield twin
