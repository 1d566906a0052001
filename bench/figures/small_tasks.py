#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a tiny target task takes under the library, against plain libomptarget and another build of the library.

usage: small_tasks.py [--build BUILD] [--against LIBRARY] [--runtimes DIR] [--tasks N] [--pairs N] [--threads N,N...]

bench/tiny runs N (20,000) target tasks: empty ones; and ones that compute 64 numbers each, in chains over a few arrays,
and with an array of its own for each task, copied there and back. Without the library (with libomp's hidden helper
threads, its default, and without any), with it, and with LIBRARY; with LLVM's runtimes in DIR
(scripts/build-llvm-runtimes.sh), without the library and with it. Runs alternate, PAIRS (7) of each. Prints medians of
microseconds a task, and of the ratios to the plain run with helpers beside it. Exit code 1: a program failed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

TASKS = {"empty": ["--empty"], "in chains": ["--depend", "chain"], "own arrays": ["--depend", "none"]}


def run(args, tasks, threads, library, helpers, runtimes=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP", "KMP", "LIBOMP", "LD_"))}
    clean.update(OMP_NUM_THREADS=str(threads), OMPDARTS_STATS="0", OMPDARTS_CACHE="0")
    if library:
        clean["LD_PRELOAD"] = library
    if runtimes:
        clean["LD_LIBRARY_PATH"] = runtimes
    if not helpers:
        clean["LIBOMP_NUM_HIDDEN_HELPER_THREADS"] = "0"
    command = [str(args.build / "bench" / "tiny"), "--json", *TASKS[tasks], str(args.tasks)]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"small_tasks: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["us_per_task"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--against", type=pathlib.Path, help="another libompdarts.so")
    parser.add_argument("--runtimes", type=pathlib.Path, help="folder of other libomp and libomptarget")
    parser.add_argument("--tasks", type=int, default=20000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", default="1,4,16")
    args = parser.parse_args()
    library = args.build / "libompdarts.so"
    kinds = {"plain": (None, True), "no helpers": (None, False), "library": (str(library.resolve()), True)}
    if args.against:
        kinds["against"] = (str(args.against.resolve()), True)
    if args.runtimes:
        runtimes = str(args.runtimes.resolve())
        kinds["other runtimes"] = (None, True, runtimes)
        kinds["library there"] = (str(library.resolve()), True, runtimes)
    print(f"{'us a task (ratio)':24}" + "".join(f"{kind:>18}" for kind in kinds))
    for tasks in TASKS:
        for threads in (int(n) for n in args.threads.split(",")):
            runs = {kind: [] for kind in kinds}
            for pair in range(args.pairs):
                for kind in list(kinds)[:: 1 if pair % 2 else -1]:
                    runs[kind].append(run(args, tasks, threads, *kinds[kind]))
            cells = [f"{statistics.median(times):9.2f} ({statistics.median(t / p for t, p in zip(times, runs['plain'])):.2f})"
                     for times in runs.values()]
            print(f"{tasks + ', threads ' + str(threads):24}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
