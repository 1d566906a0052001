#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes moved by factorisations of a matrix that is mapped as one array, against tiles that are mapped one by one.

usage: whole_arrays.py [--build BUILD] [--seeds N] [--devices N] [--share PERCENT] [--sched POLICY] [NTILESxTILE]...

Each factorisation (cholesky and lu, double) runs once and four times in a process, in the styles region (tiles mapped
one by one), array (one array of tiles) and lapack (stored by columns, tiles named by their first elements): what a later
one moves is a third of the difference. Each device's limit is PERCENT (25) of the matrix. Medians over the seeds (3) of
MB moved between all places, of its ratio to region's, of page faults, and of tasks that ran on the host, where no device
had room. docs/performance.md has its figures. Exit code 1: a program failed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

RUNS = 4
MOVED = ["h2d_bytes", "d2h_bytes", "d2d_bytes", "fault_bytes"]


def run(args, program, style, size, repeat, seed):
    tiles, tile = size
    memory = int((tiles * tile) ** 2 * 8 * args.share / 100)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        environment = dict(os.environ, OMPDARTS_BACKEND="omptarget:link=1G", OMPDARTS_DEVICES=str(args.devices),
                           OMPDARTS_MEM=str(memory), OMPDARTS_SEED=str(seed), OMPDARTS_STATS=file.name)
        if args.sched:
            environment["OMPDARTS_SCHED"] = args.sched
        command = [os.path.join(args.build, "ompdarts"), "run", os.path.join(args.build, "bench", program)]
        command += ["--style", style, "--type", "double", "--repeat", str(repeat), str(tiles), str(tile)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"whole_arrays: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        totals = json.load(open(file.name, encoding="utf-8"))["totals"]
    return {"moved": sum(totals[key] for key in MOVED), "faults": totals["faults"], "host": totals["host_tasks"]}


def measure(args, program, style, size):
    """The first factorisation, and a later one, each by seed."""
    first, later = [], []
    for seed in range(1, args.seeds + 1):
        once, all_runs = (run(args, program, style, size, repeat, seed) for repeat in (1, RUNS))
        first.append(once)
        later.append({key: (all_runs[key] - once[key]) / (RUNS - 1) for key in once})
    return first, later


def median(values, key):
    return statistics.median(value[key] for value in values)


def size_of(text):
    tiles, _, tile = text.partition("x")
    if not tiles.isdigit() or not tile.isdigit() or not int(tiles) or not int(tile):
        raise argparse.ArgumentTypeError(f"{text}: not NTILESxTILE, as 8x512")
    return int(tiles), int(tile)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--share", type=float, default=25, help="percent of the matrix that each device's memory holds")
    parser.add_argument("--sched", help="policy")
    parser.add_argument("sizes", nargs="*", type=size_of, metavar="NTILESxTILE")
    args = parser.parse_args()
    print(f"{'MB moved':22}" + " ".join(f"{title:>8}{'ratio':>7}{'faults':>8}{'host':>6}" for title in ("first", "later")))
    for size in args.sizes or [(8, 512), (12, 256), (10, 300)]:
        for program in "cholesky", "lu":
            base = None
            for style in "region", "array", "lapack":
                parts = measure(args, program, style, size)
                base = base or [median(part, "moved") for part in parts]
                line = f"{size[0]}x{size[1]} {program} {style}"
                print(f"{line:22}" + " ".join(
                    f"{median(part, 'moved') / 1e6:8.1f}{median(part, 'moved') / own:7.2f}{median(part, 'faults'):8.0f}"
                    f"{median(part, 'host'):6.0f}" for part, own in zip(parts, base)), flush=True)


if __name__ == "__main__":
    main()
