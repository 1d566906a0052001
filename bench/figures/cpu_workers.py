#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What CPU workers bring beside slow devices, and cost beside fast ones: real runs on two host devices.

usage: cpu_workers.py [--build BUILD] [--rounds N] [--tile N] [--sched POLICY] [--only PROGRAM,...] [--kind slow|fast]

Cholesky, LU and a 3D product on tiles, in rounds of three runs, the first one of a round in turn; N (11) rounds after one
that is not counted, in which kernels are measured:
  slow    kernels on devices take four times as long (omptarget:slow=4): two CPU workers against none, and none again;
  fast    they take as long as they do: OMPDARTS_CPU=auto against none, and none again.
Median seconds of the time from the first task to the last one, and the median of the rounds' ratios with the 95 % interval
that resampling gives: none to CPU workers, and none to none again, which says how much this machine can tell apart (more
rounds tell more). Run it on a machine that does nothing else.
Exit codes: 0 at least 1.3 times as fast beside slow devices, and no more than 1 % slower beside fast ones; 1 not so, or a
program failed; 2 the command line was refused.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = {"cholesky": "12", "lu": "8", "gemm3d": "6"}  # tiles per side
KINDS = {  # back-end, CPU workers, the least ratio
    "slow": ("omptarget:slow=4", "2", 1.3),
    "fast": ("omptarget", "auto", 0.99),
}


def run(args, name, kind, workers, cache):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP", "KMP", "LIBOMP", "LD_"))}
    environment.update(OMPDARTS_BACKEND=KINDS[kind][0], OMPDARTS_DEVICES="2", OMPDARTS_SCHED=args.sched,
                       OMPDARTS_CPU=workers, OMPDARTS_CACHE="1", XDG_CACHE_HOME=cache)
    command = [str(args.build / "ompdarts"), "run", str(args.build / "bench" / name), "--json", "--style", "region",
               PROGRAMS[name], str(args.tile)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cpu_workers: {' '.join(command)} with OMPDARTS_CPU={workers}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["seconds"]


def interval(ratios, samples=2000):
    """Of 95 %, for the median: what the medians of samples with replacement are within."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(samples))
    return medians[samples // 40], medians[-samples // 40 - 1]


def ratio_text(ratios):
    low, high = interval(ratios)
    return f"{statistics.median(ratios):8.3f} ({low:.3f} to {high:.3f})"


def compare(args, name, kind, folder):
    """The median of the rounds' ratios; a line of output."""
    runs = (("none", "0"), ("workers", KINDS[kind][1]), ("again", "0"))
    rounds = []
    for number in range(args.rounds + 1):
        first = number % len(runs)
        rounds.append({what: run(args, name, kind, workers, f"{folder}/{name}-{kind}")
                       for what, workers in runs[first:] + runs[:first]})
    rounds = rounds[1:]
    without, with_them = (statistics.median(seconds[what] for seconds in rounds) for what in ("none", "workers"))
    ratios, control = ([seconds["none"] / seconds[what] for seconds in rounds] for what in ("workers", "again"))
    print(f"{name:10}{kind:6}{without:12.3f}{with_them:12.3f}{ratio_text(ratios)}{ratio_text(control)}", flush=True)
    return statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--tile", type=int, default=480)
    parser.add_argument("--sched", default="auto")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--kind", choices=KINDS)
    args = parser.parse_args()
    names = args.only.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no {unknown[0]}: {', '.join(PROGRAMS)}")
    if args.rounds < 1 or args.tile < 1:
        parser.error("--rounds and --tile are at least 1")
    print(f"{'':16}{'none (s)':>12}{'workers (s)':>12}{'ratio':>8}{'':17}{'none again':>11}")
    with tempfile.TemporaryDirectory() as folder:
        ratios = {(name, kind): compare(args, name, kind, folder) for kind in KINDS if args.kind in (None, kind) for name in names}
    return int(any(ratio < KINDS[kind][2] for (_, kind), ratio in ratios.items()))


if __name__ == "__main__":
    sys.exit(main())
