#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fuzzer's own test: a difference that is planted in one operation of a program is found, and shrunk to that.

Uses no library: what counts as the run with the library is a second plain run that is told to be wrong. Also: the
programs of the seeds are the same each time they are made, and the compiler gives each construct that a program waits
by a barrier.
"""

import sys

sys.dont_write_bytecode = True

import argparse
import tempfile

from emit import source
from fuzz import Failure, minimise
from grammar import generate
from model import judge
from program import WITH_BARRIER, Program, Target, Taskwait
from run import Lab

SEEDS = (7,)
LARGEST = 4  # statements that may be left: the kernel, and what it needs


class WrongLab(Lab):
    def under(self, path, number, settings):
        return self.run(path, number, {"OMP_NUM_THREADS": "4"}, "wrong")


def plant(lab, program):
    """Marks the first operation of a kernel that changes what the program prints."""
    for statement in program.walk():
        for op in statement.ops if isinstance(statement, Target) else []:
            op.planted = op.kind in ("set", "update", "add")
            readable = judge(program)[1]
            path = lab.build([(program, readable)], "plant")
            right = lab.plain(path, 0)
            if not lab.under(path, 0, {}).same(right):
                return Failure(program.seed, program, readable, {}, lab.under(path, 0, {}).difference(right), "")
            op.planted = False
    return None


def check(lab, seed, options):
    program, _, readable = generate(seed)
    again, _, readable2 = generate(seed)
    assert source([(program, readable)]) == source([(again, readable2)]), "a seed makes two programs"
    failure = plant(lab, program)
    if failure is None:
        print(f"seed {seed}: no operation of a kernel shows")
        return True
    before = failure.program.count()
    minimise(lab, failure, options)
    left = failure.program.count()
    marked = [op for s in failure.program.walk() for op in getattr(s, "ops", []) if op.planted]
    right = left <= LARGEST and len(marked) == 1 and failure.rate == "10 of 10 runs fail"
    print(f"seed {seed}: {before} statements, {left} left; {failure.difference}; {failure.rate}")
    if not right:
        print(failure.text())
    return right


def has_barrier(lab, construct):
    """Whether a program of this construct alone calls libomp's barrier."""
    path = lab.build([(Program(0, [], [Taskwait(instead=construct)]), {})], construct)
    found = b"__kmpc_barrier\0" in path.read_bytes()
    if not found:
        print(f"clang emits no barrier for `{construct}`")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--llvm-libdir", default="/usr/lib/llvm-19/lib")
    parser.add_argument("--triple", default="x86_64-pc-linux-gnu")
    options = parser.parse_args()
    options.shrink, options.shrink_seconds, options.shrink_to = True, 120, LARGEST
    with tempfile.TemporaryDirectory(prefix="ompdarts-fuzz-") as folder:
        lab = WrongLab("/dev/null", options.clang, options.llvm_libdir, options.triple, folder)
        results = [check(lab, seed, options) for seed in SEEDS]
        results += [has_barrier(lab, construct) for construct in WITH_BARRIER]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
