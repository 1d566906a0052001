#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the patches for LLVM cost a program that offloads nothing, in instructions.

usage: no_scheduler.py [--stock DIR] [--patched DIR] [--rounds N] [--clang CLANG]

Runs a host program on one thread under callgrind (valgrind), with libomp in each folder: ROUNDS (2,000) rounds of a loop
with a reduction, eight tasks with dependences, a taskwait and a barrier, on two sizes, so that what starting takes does
not count. Both are to be built alike: scripts/build-llvm-runtimes.sh, without --patched and with it. Instructions are the
same in each run to a few thousands. Prints them per round, and the ratio. Exit code 1: the program failed.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long sum = 0, rounds = argc > 1 ? atol(argv[1]) : 0;
    int cell[8] = {0};
#pragma omp parallel
    for (long round = 0; round < rounds; round++) {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 64; i++)
            sum += i;
#pragma omp single
        {
            for (int i = 0; i < 8; i++) {
#pragma omp task depend(inout : cell[i / 2]) shared(cell)
                cell[i / 2]++;
            }
#pragma omp taskwait
        }
#pragma omp barrier
    }
    printf("%ld %d\n", sum, cell[0]);
    return sum == rounds * 64 * 63 / 2 && cell[3] == 2 * rounds ? 0 : 1;
}
"""


def without_debug_information(folder, work):
    """A copy: valgrind of Debian 12 cannot read what clang 19 writes."""
    copy = pathlib.Path(work) / folder.resolve().parent.name
    copy.mkdir()
    library = "libomp.so.5"
    subprocess.run(["objcopy", "--strip-debug", str(folder / library), str(copy / library)], check=True)
    return copy


def instructions(program, folder, rounds, work):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP", "KMP", "LIBOMP", "LD_"))}
    clean.update(OMP_NUM_THREADS="1", LD_LIBRARY_PATH=str(folder), LIBOMP_USE_HIDDEN_HELPER_TASK="0")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/out", str(program), str(rounds)]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"no_scheduler: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stock", type=pathlib.Path, default=pathlib.Path("build/llvm-19-stock/lib"))
    parser.add_argument("--patched", type=pathlib.Path, default=pathlib.Path("build/llvm-19-patched/lib"))
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--clang", default="clang-19")
    args = parser.parse_args()
    for folder in (args.stock, args.patched):
        if not (folder / "libomp.so.5").exists():
            sys.exit(f"no_scheduler: no libomp.so.5 in {folder} (scripts/build-llvm-runtimes.sh)")
    with tempfile.TemporaryDirectory() as work:
        program = pathlib.Path(work) / "program"
        source = program.with_suffix(".c")
        source.write_text(PROGRAM, encoding="utf-8")
        subprocess.run([args.clang, "-O2", "-fopenmp", str(source), "-o", str(program)], check=True)
        each = {}
        for name, folder in (("stock", args.stock), ("patched", args.patched)):
            copy = without_debug_information(folder, work)
            few, many = (instructions(program, copy, n, work) for n in (args.rounds, 2 * args.rounds))
            each[name] = (many - few) / args.rounds
            print(f"{name:8} {each[name]:10.1f} instructions a round ({few:,} in {args.rounds} rounds)")
    print(f"ratio    {each['patched'] / each['stock']:10.4f}")


if __name__ == "__main__":
    main()
