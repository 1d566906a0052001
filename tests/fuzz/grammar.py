# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs. Each statement is proposed with an eye on the model's state, tried on a copy of the World, and kept
only if that accepts it. Each program draws the weights of the constructs anew, so that some programs are all of a kind.
Statements are proposed in grammar_data.py and grammar_tasks.py, from parts drawn in grammar_parts.py.
"""

import random

import scene
import scene_api  # each registers its kinds
import scene_arrays
import scene_regions
import scene_shown
import scene_static
import scene_stored
import scene_structs
import scene_tasks
import scene_threads
from grammar_data import DataStatements
from grammar_parts import Impossible, Parts
from grammar_tasks import TaskStatements
from model import Invalid, World, judge
from program import (PLACES, Array, DeviceCall, Index, Item, Mapped, Memcpy, Program, Scene, Section, Target,
                     Taskwait, Update)

TRIES = 12
STATEMENTS = {  # name -> usual weight
    "target": 10, "host": 3, "enter": 3, "exit": 3, "update": 3, "data": 3, "devicecall": 1.5, "task": 4, "taskwait": 1,
    "taskgroup": 1, "loop": 3, "taskloop": 0.7, "parallel": 2.5, "roots": 0.3, "mapped": 1.5, "memcpy": 1.5,
    "present": 0.5, "associate": 0.4, "renew": 0.8, "detached": 0.5, "cancelled": 0.3,
    "scene": 1.5,
}
COMPOUND = ("data", "task", "taskgroup", "loop", "taskloop", "parallel", "roots", "associate", "cancelled")
NEEDS_PARALLEL = ("parallel", "roots")


def generate(seed, enabled=()):
    """The program of a seed, with its World and what the host may read at its end. `enabled` names productions that are
    drawn beside the usual ones."""
    attempt = 0
    while True:
        program = Generator(random.Random(f"{seed}/{attempt}"), seed, enabled).program()
        try:
            world, readable = judge(program)
        except Invalid:
            pass
        else:
            if any(isinstance(s, (Target, DeviceCall, Mapped, Scene)) for s in program.walk()):
                return program, world, readable
        attempt += 1


def of_scenes(seed, names):
    """A program of a few scenes of these kinds, in the shared libraries that are named."""
    rng = random.Random(f"{seed}/scenes")
    known, places = [name for name in names if name in scene.KINDS], [name for name in names if name in PLACES]
    if not known:
        raise SystemExit(f"fuzz: no such scenes; there are: {', '.join((*scene.KINDS, *PLACES))}")
    body = [scene.make(rng.choice(known), rng) for _ in range(rng.randint(1, 3))]
    for made in body if places else []:
        made.place = rng.choice(places)
    last = [at for at, made in enumerate(body) if made.last]
    body = body[:last[0] + 1] if last else body
    program = Program(seed, [], body, cpp=any(scene.KINDS[made.kind].cpp for made in body))
    return (program, *judge(program))


class Generator(Parts, DataStatements, TaskStatements):
    def __init__(self, rng, seed, enabled=()):
        self.rng = rng
        self.seed = seed
        self.enabled = enabled
        self.weights = {name: weight * rng.choice((0.1, 0.5, 1, 1, 2, 4)) for name, weight in STATEMENTS.items()}
        self.depend_style = rng.choice(("tile", "tile", "section", "token", "other", "chain", "mixed"))
        # With nested regions, teams on LLVM's host devices run into an assertion of libomp 19 (th_set_nproc >= 1).
        self.nested = rng.random() < 0.15
        self.nowait = rng.choice((0.0, 0.5, 0.9, 0.9, 1.0))
        self.alias = rng.choice((0.0, 0.5, 1.0))
        self.shape = rng.choice((0.0, 0.0, 0.3, 0.8))
        self.implicit = rng.choice((0.0, 0.2, 0.6))
        self.spelling = rng.choice((0.0, 0.1, 0.5))
        self.hold = rng.choice((0.0,) * 9 + (0.3,))
        self.globals = rng.choice((0.0,) * 5 + (0.5,))
        self.homes = rng.choice((0.0,) * 4 + (0.5,))
        self.labels = 0
        self.structs = []  # (label, Data) around whose structs kernels may go through
        self.loops = []  # of (variable, count) around
        self.depth = 0
        self.parallel = 0
        self.in_task = 0
        self.cpp = rng.random() < 0.3
        self.place = rng.choice(("",) * 8 + ("linked", "opened"))
        self.budget = rng.choice((12, 25, 50))  # statements, more or less

    def chance(self, p):
        return self.rng.random() < p

    # --- the whole

    def program(self):
        rng = self.rng
        arrays = [self.make_array(name) for name in "abcd"[:rng.choice((1, 2, 2, 3, 3, 4))]]
        if self.chance(0.3):
            arrays.append(Array("m", self.tiles, self.blocks, self.elements, "device"))
        if self.chance(0.3):
            arrays.append(Array("s", 1, 1, 1, "scalar"))
        for array in arrays:
            if array.kind in ("heap", "device") and self.chance(self.homes):
                array.device = rng.randint(0, 3)
        self.out = Program(self.seed, arrays, [], type=rng.choice(("int64_t", "double", "uint32_t", "uint64_t")[:2]),
                           work=rng.choice((1, 1, 1, 40)), cpp=self.cpp)
        world = World(self.out)
        first, world = self.first_values(world)
        body, world = self.statements(world, rng.randint(3, 8))
        self.out.body = first + body
        self.close_regions(world)
        self.go_wrong()
        return self.out

    def go_wrong(self):
        """Some programs end in an error."""
        names = {name: kind.weight for name, kind in scene.KINDS.items() if kind.last and self.allows(name)}
        if names and self.chance(0.05) and (self.cpp or not all(scene.KINDS[name].cpp for name in names)):
            name = self.rng.choices(list(names), list(names.values()))[0]
            self.out.body.append(scene.make(name, self.rng))

    def allows(self, name):
        return name in scene.KINDS and scene.KINDS[name].on or name in self.enabled or "all" in self.enabled

    def propose_scene(self, _):
        """A piece that the model does not look into (scene.py)."""
        top = not (self.parallel or self.in_task or self.depth)
        names = {name: weight for name, weight in scene.kinds(self.cpp, top).items() if self.allows(name)}
        if not names:
            raise Impossible
        made = scene.make(self.rng.choices(list(names), list(names.values()))[0], self.rng)
        if self.place and self.chance(0.7):
            made.place = self.place
        return made

    def first_values(self, world):
        """Device memory has none, and globals not those of the host, until the program sees to it."""
        body = []
        for number, array in enumerate(self.out.arrays):
            whole = Section(number, Index(0), array.size)
            if array.kind == "global" and self.chance(0.9):
                body.append(Update([Item(whole, "to")]))
            elif array.kind == "device" and self.chance(0.8):
                sources = [Item(Section(n, Index(0), array.size), "host") for n, other in enumerate(self.out.arrays)
                           if other.kind == "heap" and (other.size, other.elements) == (array.size, array.elements)]
                if sources:
                    body.append(Memcpy([Item(whole, "own"), self.rng.choice(sources)], array.device))
        for statement in body:
            world.run(statement)
        return body, world

    def make_array(self, name):
        rng = self.rng
        if not hasattr(self, "elements"):
            self.elements = rng.choice((1, 3, 8, 16, 64))
            self.tiles, self.blocks = rng.randint(1, 6), rng.choice((1, 1, 2, 4))
        if self.chance(0.2):
            return Array(name, rng.randint(1, 6), rng.choice((1, 2, 3)), rng.choice((1, 5, 8, 40)), "heap",
                         rng.choice((0, 1, 3)))
        kind = "global" if self.chance(self.globals) else "local" if self.chance(0.15) else "heap"
        offset = rng.choice((0, 0, 1, 7)) if kind == "heap" else 0
        return Array(name, self.tiles, self.blocks, self.elements, kind, offset)

    def close_regions(self, world):
        """Most programs close what they opened."""
        if self.chance(0.2):
            return
        candidate = world.copy()
        try:
            candidate.run(Taskwait())
            self.out.body.append(Taskwait())
            for number in range(len(self.out.arrays)):
                for _ in range(4):
                    statement = self.propose_exit(candidate, array=number)
                    trial = candidate.copy()
                    trial.run(statement)
                    candidate = trial
                    self.out.body.append(statement)
        except (Invalid, Impossible):
            pass

    def statements(self, world, count):
        """A list of statements and the World after it."""
        body = []
        for _ in range(count):
            if self.budget <= 0:
                break
            statement, world = self.statement(world)
            if statement is not None:
                body.append(statement)
                self.budget -= 1
        return body, world

    def statement(self, world):
        names = [name for name in self.weights if self.permitted(name)]
        for _ in range(TRIES):
            name = self.rng.choices(names, [self.weights[name] for name in names])[0]
            trial = world.copy()
            try:
                statement = getattr(self, "propose_" + name)(trial)
                trial = world.copy()
                trial.run(statement)
                return statement, trial
            except (Invalid, Impossible):
                continue
        return None, world

    def permitted(self, name):
        if name in COMPOUND and self.depth >= 4:
            return False
        if name == "renew" and (self.parallel or self.in_task):
            return False
        if name in NEEDS_PARALLEL and (self.parallel > self.nested or self.in_task or self.loops):
            return False
        return not (name == "roots" and self.parallel)

    def inner(self, world, statement, body, low=1, high=4):
        """Fills `body`, which lies inside `statement`."""
        self.depth += 1
        try:
            inside = world.inside(statement)
            body[:], _ = self.statements(inside, self.rng.randint(low, high))
        finally:
            self.depth -= 1
        if all(isinstance(s, Taskwait) for s in body):
            raise Impossible
