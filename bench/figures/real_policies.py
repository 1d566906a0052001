#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy auto against each other one, in real runs on slowed host devices.

usage: real_policies.py [--build BUILD] [--rounds N] [--devices N] [--backend B] [--only PROGRAM,...]

Cholesky, LU and a 3D product on tiles, a stencil and conjugate gradients (in slices), each under every policy in turn, N
(11) rounds after one that is not counted, in which kernel times are measured. Medians of seconds, of the time from the
first task to the last one for the first three and of the process for the others; and auto's divided by the least of the
others. Then ten Cholesky factorisations in one process under auto: medians of the second and of the tenth. Kernels and
links are slowed (omptarget:link=100M,slow=40): devices that wait leave the processors to others, and times are those of
devices rather than of few processors that do everything (as with link=400M,slow=10).
Exit codes: 0 auto is nowhere slower than the best by more than 3 %, 1 it is, or a program failed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

POLICIES = ["auto", "darts", "stationary", "dmdas", "dmdar", "lws", "eager", "ap"]
PROGRAMS = {  # words, memory of each device, settings
    "cholesky": (["bench/cholesky", "--json", "--style", "region", "12", "128"], "1500K", {}),
    "lu": (["bench/lu", "--json", "--style", "region", "10", "128"], "2M", {}),
    "gemm3d": (["bench/gemm3d", "--json", "--style", "region", "8", "128"], "2M", {}),
    "stencil": (["examples/stencil", "--steps", "60"], "2M", {}),
    "poisson": (["examples/poisson"], "4M", {"OMPDARTS_SLICE": "4"}),
}


def run(args, name, policy, cache, words=()):
    program, memory, settings = PROGRAMS[name]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP", "KMP", "LIBOMP", "LD_"))}
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        environment.update(settings, OMPDARTS_BACKEND=args.backend, OMPDARTS_DEVICES=str(args.devices), OMPDARTS_MEM=memory,
                           OMPDARTS_SCHED=policy, OMPDARTS_STATS=file.name, OMPDARTS_CACHE="1", XDG_CACHE_HOME=cache)
        command = [str(args.build / "ompdarts"), "run", str(args.build / program[0]), *program[1:], *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"real_policies: {' '.join(command)} under {policy}: exit code {done.returncode}\n{done.stderr}")
        if "--json" in program:
            return json.loads(done.stdout)
        return {"seconds": json.load(open(file.name, encoding="utf-8"))["wall_s"]}


def compare(args, name, folder):
    """Medians by policy, and auto's ratio to the best of the others."""
    times = {policy: [] for policy in POLICIES}
    for number in range(args.rounds + 1):
        for policy in POLICIES[:: 1 if number % 2 else -1]:
            seconds = run(args, name, policy, f"{folder}/{name}-{policy}")["seconds"]
            if number:
                times[policy].append(seconds)
    medians = {policy: statistics.median(values) for policy, values in times.items()}
    best = min(medians[policy] for policy in POLICIES[1:])
    cells = "".join(f"{medians[policy]:12.3f}" for policy in POLICIES)
    print(f"{name:10}{cells}{medians['auto'] / best:8.3f}", flush=True)
    return medians["auto"] / best


def iterate(args, folder):
    rounds = [run(args, "cholesky", "auto", f"{folder}/iterations", ["--repeat", "10"])["each"] for _ in range(args.rounds)]
    second, tenth = (statistics.median(each[i] for each in rounds) for i in (1, 9))
    ratio = statistics.median(each[9] / each[1] for each in rounds)
    print(f"ten Cholesky factorisations in a process: the 2nd {second:.3f} s, the 10th {tenth:.3f} s, ratio {ratio:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--backend", default="omptarget:link=100M,slow=40")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs, by name")
    args = parser.parse_args()
    chosen = args.only.split(",")
    if not set(chosen) <= set(PROGRAMS):
        parser.error(f"--only: allowed are {', '.join(PROGRAMS)}")
    print(f"{'seconds':10}" + "".join(f"{policy:>12}" for policy in POLICIES) + "   ratio")
    with tempfile.TemporaryDirectory() as folder:
        ratios = [compare(args, name, folder) for name in chosen]
        if "cholesky" in chosen:
            iterate(args, folder)
    return 0 if max(ratios) <= 1.03 else 1


if __name__ == "__main__":
    sys.exit(main())
