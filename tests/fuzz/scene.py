# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scenes: pieces of programs with variables of their own, which may stand anywhere in a program.

The model (model.py) knows nothing of what is inside. A scene is race-free by construction: one thread makes its steps
one after the other, or orders them by depend clauses and waits. What it leaves to the run without the library is whether
everything is defined: device memory starts out with different garbage in each of those runs (run.py), so a program that reads what
nobody wrote gives two answers and is dropped.

Text of a scene: `@` becomes a number of its own, REMEMBER(x) adds x to the program's results, HASH_OF(array, n) is a hash.
Each kind of scene registers itself with the decorator `scene`.
"""

import random
import re
from dataclasses import dataclass, field

from program import Block, Scene, Step

KINDS = {}  # name -> Kind


@dataclass
class Kind:
    make: object  # function(rng) -> Scene
    weight: float
    cpp: bool
    alone: bool  # at the program's top level only, outside of all teams and tasks
    last: bool  # ends the program
    on: bool  # part of the quick set; the others are for `--productions`


def scene(name, weight=1.0, cpp=False, alone=False, last=False, on=True):
    def register(make):
        KINDS[name] = Kind(make, weight, cpp, alone, last, on)
        return make
    return register


def kinds(program_is_cpp, top):
    """Names of the kinds that may stand here, with their weights."""
    return {name: kind.weight for name, kind in KINDS.items()
            if (program_is_cpp or not kind.cpp) and (top or not kind.alone) and not kind.last}


def make(name, rng):
    """The scene of one kind; its numbers depend on rng alone."""
    made = KINDS[name].make(random.Random(rng.getrandbits(64)))
    made.kind, made.last = name, KINDS[name].last
    return made


@dataclass
class Text:
    """Collects steps; blocks nest."""

    steps: list = field(default_factory=list)
    open: list = field(default_factory=list)

    def step(self, text):
        (self.open[-1].body if self.open else self.steps).append(Step(text))

    def begin(self, text):
        block = Block(text)
        (self.open[-1].body if self.open else self.steps).append(block)
        self.open.append(block)

    def end(self, text="}"):
        self.open.pop().close = text


def print_scene(made, put, unique, slot):
    """`put` gets lines of C text; `slot` gives the number of a result."""
    def text(line):
        line = line.replace("@", unique)
        return re.sub(r"\bREMEMBER\(", lambda _: f"remember({slot()}, ", line)

    def steps(body):
        for step in body:
            for line in step.text.split("\n"):
                put(text(line))
            if isinstance(step, Block):
                steps(step.body)
                put(text(step.close))

    put("{ /* " + made.kind + " */")
    for line in made.setup:
        put(text(line))
    steps(made.steps)
    for line in made.tear:
        put(text(line))
    put("}")


def scene_text(steps):
    """All text of some steps."""
    return "\n".join(step.text + scene_text(getattr(step, "body", [])) for step in steps)


def top_text(made, unique):
    return "".join(line.replace("@", unique) + "\n" for line in made.top)
