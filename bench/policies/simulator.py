# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of the simulator, for the scripts beside this one."""

import csv
import io
import pathlib
import shlex
import subprocess
import sys


def add_argument(parser):
    build = pathlib.Path(__file__).resolve().parents[2] / "build" / "ompdarts-sim"
    parser.add_argument("--sim", default=str(build), help="the simulator (default: build/ompdarts-sim)")


def parse(parser):
    options = parser.parse_args()
    if not pathlib.Path(options.sim).exists():
        sys.exit(f"{parser.prog}: {options.sim} is not there: build ompdarts with SimGrid, or say --sim")
    return options


def with_rule(policy):
    """Options for POLICY or POLICY+RULE, where a semicolon stands for a comma."""
    name, _, rule = policy.partition("+")
    return ["--sched", name.replace(";", ","), *(("--evict", rule) if rule else ())]


def run(simulator, **settings):
    """One run's row of figures, as text by column; settings are options with a value, `more` is a list of words."""
    more = settings.pop("more", [])
    command = [simulator, "--csv", "-", "--quiet", *more]
    for name, value in settings.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return next(csv.DictReader(io.StringIO(done.stdout)))


def bytes_moved(row):
    return sum(float(row[column]) for column in ("h2d_bytes", "d2h_bytes", "d2d_bytes"))
