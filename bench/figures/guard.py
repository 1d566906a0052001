#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes spilled and seconds of the example program fronts: plain, with the guard, with recomputation (docs/memory.md).

Temporaries exceed the memory of two devices by 2 and by 4 times. Medians of real runs on LLVM's host devices with a slow
link, and, with --simulate, of one simulated run each of a recording with ample memory.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

DEVICES = 2
GRAPHS = {  # the program's arguments, and bytes of temporaries at once
    "tree": (["--depth", "8", "--order", "192", "--pivots", "64"], 92_000_000),
    "contraction": (["--graph", "contraction", "--order", "128", "--grid", "8", "--inner", "4"], 67_000_000),
}
POLICIES = ("darts", "stationary", "auto")
COLUMNS = {  # title, guard and recomputation, in memory of all devices
    "off": ("off", lambda memory: ("off", "off")),
    "auto": ("`auto`", lambda memory: ("auto", "off")),
    "half": ("half the memory", lambda memory: (str(memory // 2), "off")),
    "recompute": ("recompute", lambda memory: ("off", "auto")),
    "both": ("half the memory, recompute", lambda memory: (str(memory // 2), "auto")),
}


def run(options, graph, settings, backend="omptarget"):
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "stats.json"
        environment = dict(os.environ, OMP_NUM_THREADS="4", OMPDARTS_DEVICES=str(DEVICES), OMPDARTS_STATS=str(stats),
                           OMPDARTS_BACKEND=backend, **settings)
        program = [options.folder / "ompdarts", "run", options.folder / "examples/fronts", *GRAPHS[graph][0]]
        subprocess.run(program, env=environment, check=True, capture_output=True)
        return json.loads(stats.read_text())


def measure(options, graph, policy, memory, guard, recompute):
    settings = {"OMPDARTS_SCHED": policy, "OMPDARTS_MEM": str(memory), "OMPDARTS_GUARD": guard,
                "OMPDARTS_RECOMPUTE": recompute}
    runs = [run(options, graph, settings, f"omptarget:link={options.link}") for _ in range(options.runs)]
    totals = [figures["totals"] for figures in runs]
    return (statistics.median(t["spilled_bytes"] for t in totals),
            statistics.median(t["h2d_bytes"] + t["d2h_bytes"] + t["d2d_bytes"] for t in totals),
            statistics.median(figures["wall_s"] for figures in runs))


def simulate(options, graph, policy, memory, guard, recompute):
    ended = subprocess.run([options.folder / "ompdarts", "sim", "--graph", options.recorded / graph, "--platform", options.platform,
                            "--devices", str(DEVICES), "--sched", policy, "--mem", str(memory), "--guard", guard,
                            "--recompute", recompute, "--csv", "-", "--quiet"], check=True, capture_output=True, text=True)
    row = next(csv.DictReader(io.StringIO(ended.stdout)))
    moved = sum(int(row[name]) for name in ("h2d_bytes", "d2h_bytes", "d2d_bytes"))
    return int(row["spilled_bytes"]), moved, float(row["makespan_s"])


def record(options, graph):
    run(options, graph, {"OMPDARTS_RECORD": str(options.recorded / graph), "OMPDARTS_MEM": "1G"})


def print_table(options, figures_of):
    columns = [COLUMNS[name] for name in options.columns.split(",")]
    print(f"| graph, times the memory, policy | {' | '.join(title for title, _ in columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    for graph, (_, most) in GRAPHS.items():
        for times in (2, 4):
            memory = most // times // DEVICES
            for policy in POLICIES:
                cells = []
                for _, settings in columns:
                    spilled, moved, seconds = figures_of(options, graph, policy, memory, *settings(memory * DEVICES))
                    cells.append(f"{spilled / 1e6:.1f}, {moved / 1e6:.1f}, {seconds:.3g} s")
                print(f"| `{graph}`, {times}, `{policy}` | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="build folder")
    parser.add_argument("--runs", type=int, default=3, help="of each setting (default: 3)")
    parser.add_argument("--link", default="20M", help="bytes per second of the host devices' link (default: 20M)")
    parser.add_argument("--columns", default="off,auto,half,recompute", help=f"of {', '.join(COLUMNS)}")
    parser.add_argument("--simulate", action="store_true", help="simulated runs")
    parser.add_argument("--platform", default="pcie", help="of simulated runs (default: pcie)")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if not options.simulate:
        print_table(options, measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        options.recorded = pathlib.Path(folder)
        for graph in GRAPHS:
            record(options, graph)
        print_table(options, simulate)


if __name__ == "__main__":
    main()
