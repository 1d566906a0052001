#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recursive factorisations on the simulated node of the slides on recursive tasks: GFlop/s over matrix size, each rule
that splits tasks beside single tile sizes.

usage: recursive.py [--simulator FILE] [--sizes N...] [--workloads NAME...] [--csv FILE] [-o FOLDER]

Sizes are tiles of 3840 per side. With --csv the rows that FILE has are not run again, and new ones are appended. Writes
FOLDER/recursive-WORKLOAD.svg, and for each size the rules over the best single tile size, and the bound (the linear program:
all units busy without a break) over it, to standard output. All sizes take an hour.

Exit status: 0 success; 1 a simulation failed; 2 the command line was refused.
"""

import argparse
import csv
import os
import subprocess
import sys

TILE = 3840
SIZES = [4, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60]
MACHINE = ["--platform", "a100x2", "--devices", "2", "--sched", "dmdas"]
WORKERS = ["--cpu", "62"]  # of the 64 cores two drive the devices
LEVELS = "levels=3840/1920/480"
PEAK = 2 * 19500 + 62 * 41.6  # GFlop/s
SMALL_TILE, MOST_SMALL = 480, 15  # beyond there are too many tasks of the smallest tile

# Name, tile (None: recursive), rule, whether with CPU workers, colour, line.
CURVES = [
    ("3840, GPUs alone", 3840, None, False, "#999999", ":"),
    ("3840", 3840, None, True, "#000000", ":"),
    ("1920", 1920, None, True, "#be7d00", ":"),
    ("480", 480, None, True, "#c3191e", ":"),
    ("recursive, never", None, "never", True, "#555555", "--"),
    ("recursive, lp", None, "lp", True, "#8a4fb0", "--"),
    ("recursive, gaspp", None, "gaspp", True, "#2e8b57", "--"),
    ("recursive, starve", None, "starve", True, "#5aa9e6", "--"),
    ("recursive, auto", None, "auto", True, "#1955be", "-"),
]


def command(simulator, workload, size, curve):
    _, tile, rule, workers, _, _ = curve
    n = size * TILE // tile if tile else size
    blocks = f"tile={tile}" if tile else LEVELS
    what = ["--workload", f"{workload}:n={n},{blocks},element=8"]
    return ([simulator] + what + MACHINE + (WORKERS if workers else []) + (["--split", rule] if rule else []) +
            ["--csv", "-", "--quiet"])


def run(simulator, workload, size, curve):
    done = subprocess.run(command(simulator, workload, size, curve), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"recursive.py: {' '.join(command(simulator, workload, size, curve))}: {done.stderr.strip()}")
    row = list(csv.DictReader(done.stdout.splitlines()))[0]
    return {"workload": workload, "curve": curve[0], "size": str(size), "gflops": row["gflops"],
            "makespan_s": row["makespan_s"], "cpu_tasks": row["cpu_tasks"], "splits": row["splits"],
            "bound_s": row["compute_bound_s"]}


def measure(options):
    """{(workload, curve, size): GFlop/s}, and for the curve `bound` what no rule exceeds"""
    rows = []
    if options.csv and os.path.exists(options.csv):
        with open(options.csv, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    known = {(r["workload"], r["curve"], int(r["size"])): float(r["gflops"]) for r in rows}
    for workload in options.workloads:
        for size in options.sizes:
            for curve in CURVES:
                key = (workload, curve[0], size)
                if key in known or (curve[1] == SMALL_TILE and size > MOST_SMALL):
                    continue
                rows.append(run(options.simulator, workload, size, curve))
                known[key] = float(rows[-1]["gflops"])
                if options.csv:
                    with open(options.csv, "w", encoding="utf-8") as file:
                        writer = csv.DictWriter(file, rows[-1].keys())
                        writer.writeheader()
                        writer.writerows(rows)
    for row in rows:
        if row["curve"] == CURVES[-1][0] and float(row["bound_s"]) > 0:
            bound = float(row["gflops"]) * float(row["makespan_s"]) / float(row["bound_s"])
            known[row["workload"], "bound", int(row["size"])] = bound
    return known


def draw(workload, known, sizes, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ompdarts"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9, 4.5))
    for name, _, _, _, colour, line in CURVES:
        points = [(n * TILE, known[workload, name, n] / 1e3) for n in sizes if (workload, name, n) in known]
        axes.plot(*zip(*points), line, color=colour, label=name, marker=".", markersize=4)
    bounds = [(n * TILE, known[workload, "bound", n] / 1e3) for n in sizes if (workload, "bound", n) in known]
    axes.plot(*zip(*bounds), color="#d9a0d9", linewidth=0.8, label="bound")
    axes.axhline(PEAK / 1e3, color="#bbbbbb", linewidth=0.8, label="peak")
    axes.set_xlabel("order of the matrix")
    axes.set_ylabel("TFlop/s")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{workload}, 2 A100 and 62 cores, simulated")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def compare(workload, known, sizes):
    for n in sizes:
        single = {c[0]: known[workload, c[0], n] for c in CURVES if c[1] and (workload, c[0], n) in known}
        rules = {c[0]: known[workload, c[0], n] for c in CURVES if not c[1]}
        best = max(single, key=single.get)
        rules["bound"] = known.get((workload, "bound", n), 0)
        print(f"{workload} {n:3}: best single {best:16} {single[best]:8.0f}; " +
              ", ".join(f"{name.removeprefix('recursive, ')} {value / single[best]:.3f}" for name, value in rules.items()))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--simulator", default=os.path.join(here, "../../build/ompdarts-sim"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--workloads", nargs="+", default=["cholesky", "lu"], choices=["cholesky", "lu"])
    parser.add_argument("--csv")
    parser.add_argument("-o", dest="output", default=".")
    options = parser.parse_args()
    known = measure(options)
    os.makedirs(options.output, exist_ok=True)
    for workload in options.workloads:
        compare(workload, known, options.sizes)
        draw(workload, known, options.sizes, os.path.join(options.output, f"recursive-{workload}.svg"))


if __name__ == "__main__":
    main()
