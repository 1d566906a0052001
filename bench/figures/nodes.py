#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strong and weak scaling over simulated nodes, and what each step is bound by.

usage: nodes.py [--simulator FILE] [--workloads NAME...] [--policies NAME...] [--nodes N...] [--size N] [--weak N]
                [--tile N] [--generate] [--platform NAME] [--network NIC[:SWITCH[:LATENCY]]] [--mem SIZE]
                [--buffer B] [--model MODEL] [--limit SECONDS] [--csv FILE] [-o FOLDER]

Strong: `--size` tiles per side on all numbers of nodes. Weak: `--weak` tiles per side on one node, and as many on others
that each node has as many operations, the cube root of the number of nodes times as many per side; 0: none. With
--generate tiles are made by a task each, where it runs; else they come from the program's memory on node 0. Two policies
are yardsticks: `block-cyclic`, where each task has the device that owns the tile which it writes, by a two-dimensional
block-cyclic distribution on the most square grid; and `block-cyclic-nodes`, where only the tasks that begin a tile have,
all others run on the same node, on the device that would complete them first. The second needs --generate. A run that takes
longer than --limit seconds is left out, and so are runs of that policy on more nodes. With --csv the rows that FILE has
are not run again, and new ones are appended. Writes FOLDER/nodes-WORKLOAD.svg, where there is matplotlib, and a table to
standard output: GFlop/s, efficiency (strong: speed per node over that of the same policy on the fewest nodes), and the
largest of what the time is at least, over the time: computing on all devices, the critical path, what all devices load
over their links, what has gone over the network card of node 0, and over the busiest other one.

Exit status: 0 success; 1 a simulation failed; 2 the command line was refused.
"""

import argparse
import csv
import os
import subprocess
import sys

COLOURS = {"darts": "#1955be", "dmdas": "#c3191e", "eager": "#999999", "stationary": "#2e8b57", "lws": "#8a4fb0",
           "nodes": "#000000", "block-cyclic": "#e08214", "block-cyclic-nodes": "#b35806"}
YARDSTICKS = {"block-cyclic": ("", "eager"), "block-cyclic-nodes": (":first", "nodes:partition=0")}
KEYS = ("workload", "policy", "platform", "tile", "n", "generate", "network", "mem", "buffer", "model")
LIMITS = ("computing", "critical path", "loads", "node 0's card", "another card")


def size_of(kind, nodes, options):
    return options.size if kind == "strong" else round(options.weak * nodes ** (1 / 3))


def grid(nodes):
    rows = max(i for i in range(1, nodes + 1) if nodes % i == 0 and i * i <= nodes)
    return f"{rows}x{nodes // rows}"


def command(options, workload, policy, nodes, size):
    which, sched = YARDSTICKS.get(policy, (None, policy))
    line = [options.simulator, "--workload", f"{workload}:n={size},tile={options.tile}" + ",generate=1" * options.generate,
            "--platform", options.platform, "--devices", "all", "--nodes", str(nodes), "--network", options.network,
            "--sched", sched, "--buffer", str(options.buffer), "--model", options.model, "--csv", "-", "--quiet"]
    line += ["--sched-time", "measure"] if options.model == "simgrid" else []
    line += ["--block-cyclic", grid(nodes) + which] if which is not None else []
    return line + (["--mem", options.mem] if options.mem else [])


def simulate(line, limit):
    """The row of the run; None: it takes too long"""
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        sys.exit(f"nodes.py: {' '.join(line)}: {done.stderr.strip()}")
    return list(csv.DictReader(done.stdout.splitlines()))[0]


def limits_of(row):
    """What the time is at least, as parts of it, in the order of LIMITS"""
    time, card = float(row["makespan_s"]), float(row["card_bytes_s"])
    busy = [max(float(row[f"{who}_sent_bytes"]), float(row[f"{who}_received_bytes"])) / card if card else 0
            for who in ("first", "others")]
    bounds = [float(row["compute_bound_s"]), float(row["critical_path_s"]), float(row["bus_bound_s"])]
    return [seconds / time for seconds in bounds + busy]


def keep(path, row):
    new = not os.path.exists(path) or os.path.getsize(path) == 0
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row.keys())
        if new:
            writer.writeheader()
        writer.writerow(row)


def measure(options):
    """{(kind, workload, policy, nodes): row}"""
    rows, known = {}, {}
    if options.csv and os.path.exists(options.csv):
        with open(options.csv, encoding="utf-8") as file:
            known = {tuple(r[name] for name in KEYS): r for r in csv.DictReader(file)}
    more = {"network": options.network, "mem": options.mem or "", "generate": str(int(options.generate)),
            "buffer": str(options.buffer), "model": options.model, "tile": str(options.tile)}
    for workload in options.workloads:
        for policy in options.policies:
            for kind in ("strong", "weak"):
                for nodes in sorted(options.nodes):
                    size = size_of(kind, nodes, options)
                    if not size:
                        continue
                    platform = f"{nodes}*{options.platform}" if nodes > 1 else options.platform
                    mine = more | {"workload": workload, "policy": policy, "platform": platform, "n": str(size)}
                    key = tuple(mine[name] for name in KEYS)
                    if key not in known:
                        print(f"{workload} {policy}, {kind}, {nodes} nodes, n={size}", file=sys.stderr)
                        row = simulate(command(options, workload, policy, nodes, size), options.limit)
                        if not row:
                            print(f"  not in {options.limit} s", file=sys.stderr)
                            break
                        known[key] = row | mine
                        if options.csv:
                            keep(options.csv, known[key])
                    rows[kind, workload, policy, nodes] = known[key]
    return rows


def efficiency(kind, workload, policy, rows, nodes):
    mine = {key[3]: float(row["gflops"]) for key, row in rows.items() if key[:3] == (kind, workload, policy)}
    fewest = min(mine)
    return mine[nodes] / nodes / (mine[fewest] / fewest)


def print_table(rows):
    print("workload kind policy nodes devices n gflops efficiency us_per_decision bound_by part")
    for (kind, workload, policy, nodes), row in rows.items():
        part, name = max(zip(limits_of(row), LIMITS))
        decision = f"{1e6 * float(row['sched_s']) / int(row['tasks']):.1f}" if row["sched_s"] else "-"
        print(f"{workload} {kind} {policy} {nodes} {row['devices']} {row['n']} {float(row['gflops']):.0f} "
              f"{efficiency(kind, workload, policy, rows, nodes):.2f} {decision} \"{name}\" {part:.2f}")


def draw(rows, workload, folder):
    try:
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = "ompdarts"
        from matplotlib import pyplot
    except ImportError:
        print("nodes.py: no figures without matplotlib", file=sys.stderr)
        return
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for axis, kind in zip(axes, ("strong", "weak")):
        policies = dict.fromkeys(key[2] for key in rows if key[:2] == (kind, workload))
        for policy in policies:
            nodes = sorted(key[3] for key in rows if key[:3] == (kind, workload, policy))
            axis.plot(nodes, [efficiency(kind, workload, policy, rows, n) for n in nodes], marker="o", label=policy,
                      color=COLOURS.get(policy.split(":")[0]))
        axis.set_xscale("log", base=2)
        axis.set_ylim(0, 1.1)
        axis.set_xlabel("nodes")
        axis.set_title(f"{workload}, {kind} scaling")
        axis.grid(alpha=0.3)
        if policies:
            axis.legend()
    axes[0].set_ylabel("speed per node over that on the fewest")
    figure.savefig(os.path.join(folder, f"nodes-{workload}.svg"), metadata={"Date": None})
    pyplot.close(figure)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--simulator", default=os.path.join(here, "../../build/ompdarts-sim"))
    parser.add_argument("--workloads", nargs="+", default=["cholesky", "lu", "gemm3d"],
                        choices=["cholesky", "lu", "gemm3d", "gemm2d"])
    parser.add_argument("--policies", nargs="+", default=["nodes", "dmdas", "darts", "eager"])
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("--weak", type=int, default=30)
    parser.add_argument("--tile", type=int, default=1920)
    parser.add_argument("--platform", default="h200x8")
    parser.add_argument("--network", default="50")
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("--mem")
    parser.add_argument("--buffer", type=int, default=3)
    parser.add_argument("--model", default="simgrid", choices=["simgrid", "oracle"])
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--csv")
    parser.add_argument("-o", dest="folder", default=".")
    return parser.parse_args()


def main():
    options = parse()
    rows = measure(options)
    print_table(rows)
    os.makedirs(options.folder, exist_ok=True)
    for workload in options.workloads:
        draw(rows, workload, options.folder)


if __name__ == "__main__":
    main()
