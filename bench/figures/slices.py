#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it brings to run synchronous kernels in slices on all devices, and what it costs: real runs on four host devices.

usage: slices.py [--build BUILD] [--rounds N] [--only PROGRAM,...] [--kind gain|eager|cost|long]

The synchronous programs of examples/programs, in rounds of two runs, the first one of a round in turn; N (5) rounds after
one that is not counted:
  gain    kernels on devices take 10 times as long (omptarget:slow=10): four slices on four devices against kernels that
          run whole on one of them. A device is one thread of the processors (OMP_NUM_THREADS=1), whoever uses it, as
          four have two processors, of which a whole kernel would otherwise use both. The host's part, such as the check
          of the results, is left out: of a run whose kernels are not slowed it is what a tenth does not explain;
  eager   likewise, with slices of the next kernel beginning early (OMPDARTS_SLICE=eager:4);
  cost    they take as long as they do, so that the processors have nothing to spare: OMPDARTS_SLICE=auto against off;
  long    likewise, in runs of several seconds, in which `auto` tries slices.
Median seconds of the process, of both, and the median of the rounds' ratios: how many times as fast. About half of the
time, where kernels are not slowed, is the program's check of its results on the host. Run it on a machine that does
nothing else. Exit codes: 0 at least 3 times as fast on the stencil (lattice) and the lookup (transport), and nowhere more
than 1 % slower, that is 2 % of what is not the check; 1 not so, or a program failed; 2 the command line was refused.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

PROGRAMS = {  # arguments of each kind
    "lattice": {"gain": "--height 128 --width 2048 --steps 150", "cost": "--height 512 --width 512 --steps 60",
                "long": "--height 512 --width 512 --steps 500"},
    "transport": {"gain": "--particles 200000 --batches 100", "cost": "--particles 60000 --batches 12",
                  "long": "--particles 60000 --batches 300"},
    "water": {"gain": "--height 512 --width 1024 --steps 100", "cost": "--height 768 --width 768 --steps 60",
              "long": "--height 768 --width 768 --steps 500"},
    "tracking": {"gain": "--steps 40", "cost": "", "long": "--steps 200"},
    "poisson": {"gain": "--steps 60", "cost": "", "long": "--steps 5000"},
}
SLOW = 10
GAIN = {"OMPDARTS_BACKEND": f"omptarget:slow={SLOW}", "OMP_NUM_THREADS": "1", "OMPDARTS_DEVICES": "4"}
COST = ({"OMPDARTS_DEVICES": "4", "OMPDARTS_SLICE": "off"}, {"OMPDARTS_DEVICES": "4", "OMPDARTS_SLICE": "auto"})
KINDS = {  # environment of the first and the second run
    "gain": ({**GAIN, "OMPDARTS_SLICE": "off"}, {**GAIN, "OMPDARTS_SLICE": "4"}),
    "eager": ({**GAIN, "OMPDARTS_SLICE": "off"}, {**GAIN, "OMPDARTS_SLICE": "eager:4"}),
    "cost": COST,
    "long": COST,
}
LEAST = {("lattice", "gain"): 3, ("transport", "gain"): 3}
LEAST_OF_COST = 0.99
SLOWED = ("gain", "eager")


def seconds(args, name, kind, settings):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP", "KMP", "LIBOMP", "LD_"))}
    environment.update(settings, OMPDARTS_CACHE="0")
    command = [str(args.build / "ompdarts"), "run", str(args.build / "examples" / name),
               *PROGRAMS[name]["gain" if kind in SLOWED else kind].split()]
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"slices: {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return time.monotonic() - begin


def host_seconds(args, name, slowed):
    """Of a process that took so many seconds with kernels that are slowed and whole."""
    plain = seconds(args, name, "gain", {**KINDS["gain"][0], "OMPDARTS_BACKEND": "omptarget"})
    return plain - (slowed - plain) / (SLOW - 1)


def compare(args, name, kind):
    """The median of the rounds' ratios; a line of output."""
    rounds = []
    for number in range(args.rounds + 1):
        order = (0, 1) if number % 2 else (1, 0)
        taken = {which: seconds(args, name, kind, KINDS[kind][which]) for which in order}
        host = host_seconds(args, name, taken[0]) if kind in SLOWED else 0
        rounds.append((taken[0] - host, taken[1] - host))
    before, after = (statistics.median(column) for column in zip(*rounds[1:]))
    ratio = statistics.median(a / b for a, b in rounds[1:])
    print(f"{name:12}{kind:8}{before:12.3f}{after:12.3f}{ratio:8.3f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--kind", choices=KINDS)
    args = parser.parse_args()
    names = args.only.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no {unknown[0]}: {', '.join(PROGRAMS)}")
    if args.rounds < 1:
        parser.error("--rounds is at least 1")
    print(f"{'':20}{'whole (s)':>12}{'slices (s)':>12}{'ratio':>8}")
    ratios = {(name, kind): compare(args, name, kind) for kind in KINDS if args.kind in (None, kind) for name in names}
    return int(any(ratio < (LEAST_OF_COST if kind not in SLOWED else LEAST.get((name, kind), 0))
                   for (name, kind), ratio in ratios.items()))


if __name__ == "__main__":
    sys.exit(main())
