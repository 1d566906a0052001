# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tasks, loops of them, waits, teams and root threads."""

from grammar_parts import Impossible
from program import (WITH_BARRIER, Cancelled, Data, Detached, Host, Index, Loop, Memcpy, Parallel, Roots, Scene, Section,
                     Target, Task, Taskgroup, Taskloop, Taskwait)
from scene import scene_text


def has_teams(statement):
    """It is, or has, a kernel with teams."""
    if isinstance(statement, Scene):
        return "teams" in scene_text(statement.steps)
    return isinstance(statement, Target) and "teams" in statement.form


class TaskStatements:
    """A base of Generator."""

    def propose_task(self, world):
        """A host task; its dependences are found from what its body touches."""
        task = Task(flags=self.rng.choice(("", "", "", "", "untied", "mergeable", "priority(2)", "if(0)", "final(1)")))
        self.in_task += 1
        try:
            self.inner(world, task, task.body, 1, self.rng.choice((1, 1, 3)))
        finally:
            self.in_task -= 1
        # libomp may go on with an untied task on top of its own child, which waits: then neither ends, also without the
        # library. Clang 19 breaks on the next two ("Instruction does not dominate all uses"), and forgets the arguments of a
        # data region where the task is interrupted inside.
        unsuited = (Task, Detached, Taskgroup, Cancelled, Taskloop, Data, Scene)
        if task.flags == "untied" and any(isinstance(s, unsuited) for s in self.out.walk(task.body)):
            task.flags = ""
        if task.flags == "untied":
            self.spell_without_objects(task.body)
        task.depends = self.depends(self.touched(task.body))
        self.spell_depends(task)
        if len(task.body) == 1 and isinstance(task.body[0], Host):
            self.set_like(task.depends, task.body[0])
        if self.chance(0.7):
            task.body.append(Taskwait())
        if all(isinstance(s, (Host, Taskwait)) for s in task.body):
            task.body = [s for s in task.body if not isinstance(s, Taskwait)]
        return task

    def spell_without_objects(self, body):
        """Where a construct in an untied task names such objects, or iterators, clang 19 saves the stack pointer in one part
        of the task and restores it in the next, which runs on another stack."""
        for statement in self.out.walk(body):
            if hasattr(statement, "spelling"):
                statement.spelling = "plain"

    def touched(self, body):
        """(section, writes) of all that a body touches; sections that move with loops inside it as whole arrays."""
        accesses = []
        outside = {name for name, _ in self.loops}
        for statement in self.out.walk(body):
            for index, item in enumerate(getattr(statement, "items", [])):
                writes = any(op.dst == index for op in getattr(statement, "ops", [])) or not hasattr(statement, "ops")
                if isinstance(statement, Memcpy):
                    writes = index == 0
                section = item.section
                if any(name not in outside for name, _ in section.lo.steps):
                    section = Section(section.array, Index(0), self.out.arrays[section.array].size)
                accesses.append((section, writes))
        return accesses

    def propose_taskwait(self, world):
        if self.chance(0.3):
            section = self.section(world, False)
            wait = Taskwait(self.depends([(section, self.chance(0.5))]))
            wait.nowait = bool(wait.depends) and self.chance(0.4)
            self.spell_depends(wait)
            return wait
        alone = not (self.parallel or self.in_task)
        return Taskwait(instead=self.rng.choice(tuple(WITH_BARRIER))
                        if alone and self.chance(0.4) else "")

    def propose_detached(self, world):
        statement = Detached()
        for task in (statement.first, statement.second):
            task.body = [self.propose_host(world)]
            task.depends = self.depends(self.touched(task.body))
        return statement

    def propose_cancelled(self, world):
        """What never runs is made for the state at the group's begin."""
        cancelled = Cancelled()
        self.inner(world, cancelled, cancelled.body, 1, 3)
        if self.chance(0.6):
            cancelled.before = [self.propose_host(world)]
        for _ in range(self.rng.randint(1, 3)):
            cancelled.dead.append(self.propose_target(world) if self.chance(0.6) else self.propose_host(world))
        return cancelled

    def propose_taskgroup(self, world):
        group = Taskgroup()
        self.inner(world, group, group.body)
        return group

    def propose_loop(self, world, kind=Loop):
        loop = kind(variable=f"i{len(self.loops)}", count=self.rng.choice((2, 3, 4, 6)))
        if kind is Taskloop:
            loop.flags = self.rng.choice(("", "", "", "nogroup", "mergeable", "final(1)", "priority(3)"))
        self.loops.append((loop.variable, loop.count))
        try:
            self.inner(world, loop, loop.body, 1, 3)
        finally:
            self.loops.pop()
        return loop

    def propose_taskloop(self, world):
        self.in_task += 1
        try:
            return self.propose_loop(world, Taskloop)
        finally:
            self.in_task -= 1

    def propose_parallel(self, world):
        kind = self.rng.choice(("single", "single", "single", "master", "threads"))
        parallel = Parallel(kind, self.rng.choice((1, 2, 2, 3, 4)), [])
        self.parallel += 1
        try:
            for _ in range(self.rng.choice((1, 1, 2))):
                parallel.phases.append([])
                for _ in range(parallel.threads if kind == "threads" else 1):
                    self.add_thread(world, parallel, parallel.phases[-1], 8 if kind != "threads" else 3)
        finally:
            self.parallel -= 1
        # On LLVM's host devices a thread that has run a kernel with teams miscounts the single constructs of its own region:
        # later ones may be left out, or met twice.
        if kind == "single" and len(parallel.phases) > 1 and any(map(has_teams, self.out.walk(parallel.bodies()[0]))):
            parallel.kind = "master"
        return parallel

    def propose_roots(self, world):
        if any(array.kind in ("local", "scalar") for array in self.out.arrays):
            raise Impossible
        roots, around = Roots([]), self.structs
        self.structs = []  # a function of its own does not see them
        try:
            for _ in range(2):
                self.add_thread(world, roots, roots.threads, 4)
        finally:
            self.structs = around
        return roots

    def add_thread(self, world, statement, bodies, high):
        body = []
        self.inner(world, statement, body, 2, high)
        bodies.append(body)
