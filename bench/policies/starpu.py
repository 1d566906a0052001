#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our policies beside StarPU's, both simulated on the platform `pcie`.

usage: starpu.py [--sim PATH] [--policies P,P+RULE,...] [--platform NAME] [--buffer B]
       starpu.py --table FILE [--sim PATH] [--policy P] [--platform NAME]

Prints a table in Markdown: GFlop/s (MB from the host + MB between GPUs). StarPU's figures were measured with its master branch of
August 2026 over SimGrid 3.32, kernel times as in sim/platforms/v100.times, 500 MiB of memory per GPU for the products and
2000 MiB for the factorisations. In --policies a comma inside a policy's options is written as a semicolon.

With --table, StarPU's figures come from a Markdown table: lines `| WORKLOAD N, GPUS | SPEED (MB) | - | ... |`, or
`| WORKLOAD N, GPUS, PLATFORM | ...`. One policy (default: auto) is compared with the best of each row. Exit codes then: 0 in 95 %
of the rows it is at least as fast, and in all 0.98 times as fast; 1 it is not, 2 FILE has no rows.
"""

import argparse
import pathlib
import re
import sys

import simulator

# Workload, GPUs, memory; StarPU's eager, lws, dmdar, dmdas, darts, darts with plain eviction, HFP: GFlop/s.
ROWS = (
    ("gemm2d:n=60", 1, "500Mi", (5497, 5497, 7916, None, 13221, 10454, 13220)),
    ("gemm2d:n=90", 2, "500Mi", (5572, 5572, 11143, None, 26130, 14791, None)),
    ("gemm3d:n=12", 1, "500Mi", (2182, 2182, 6411, 6411, 6890, 11361, None)),
    ("gemm3d:n=12", 2, "500Mi", (4472, 16275, 20192, 20192, 8670, 8515, None)),
    ("cholesky:n=20", 1, "2000Mi", (7937, 8822, 12412, 11054, 12559, 12559, None)),
    ("cholesky:n=20", 2, "2000Mi", (9421, 19636, 20650, 20564, 21032, 21032, None)),
    ("cholesky:n=20", 8, "2000Mi", (5643, 9228, 17852, 16761, 8215, 8873, None)),
    ("lu:n=20", 1, "2000Mi", (5352, 6200, 11084, 7706, 12723, None, None)),
    ("lu:n=20", 8, "2000Mi", (5759, 7788, 16161, 17338, 8283, None, None)),
)
THEIR_DARTS = 4
ALL_AS_FAST, LEAST = 0.95, 0.98
POLICIES = ("eager,lws,ap,dmda,dmdar,dmdas,dmdas+luf,dmdas:bus,dmdas:bus+luf,darts:alg12,darts,darts+lru,rcm,mst,hfp,mhfp,"
            "hypergraph")


def memory_of(workload):
    return "500Mi" if workload.startswith("gemm") else "2000Mi"


def run(options, workload, devices, memory, policy, **other):
    buffer = {} if options.buffer is None else {"buffer": options.buffer}
    settings = {"platform": options.platform, **buffer, **other}
    try:
        return simulator.run(options.sim, workload=workload, devices=devices, mem=memory, more=simulator.with_rule(policy),
                             **settings)
    except RuntimeError as error:
        sys.exit(f"starpu.py: {error}")


def cell(row):
    loaded, peer = float(row["h2d_bytes"]) / 1e6, float(row["d2d_bytes"]) / 1e6
    return f"{float(row['gflops']):.0f} ({loaded:.0f}" + (f"+{peer:.0f})" if peer else ")")


def print_row(options, policies, row):
    workload, devices, memory, theirs = row
    results = [run(options, workload, devices, memory, policy) for policy in policies]
    speed = {policy: float(result["gflops"]) for policy, result in zip(policies, results)}
    best = max(value for value in theirs if value)
    cells = [cell(result) for result in results]
    ours = max(speed.values())
    darts = f"{speed['darts'] / theirs[THEIR_DARTS]:.3f}" if "darts" in speed else "-"
    print(f"| {workload.replace(':n=', ' ')}, {devices} | " + " | ".join(cells) + f" | {best} | {ours / best:.3f} | {darts} |")


def rows_of(text, platform):
    """Workload, GPUs, platform and StarPU's best speed of each row of a table."""
    for line in text.splitlines():
        label = re.match(r"\|\s*(\w+) (\d+), (\d+)(?:, ([\w-]+))?\s*\|", line)
        speeds = [float(cell) for cell in re.findall(r"\|\s*([\d.]+) *(?:\([^)]*\))?\s*(?=\|)", line[label.end() - 1:] if label else "")]
        if speeds:
            yield f"{label[1]}:n={label[2]}", int(label[3]), label[4] or platform, max(speeds)


def compare(options):
    """One policy against the best of each row; the exit code."""
    rows, ratios = list(rows_of(options.table.read_text(encoding="utf-8"), options.platform)), []
    if not rows:
        print(f"starpu.py: {options.table} has no rows of figures", file=sys.stderr)
        return 2
    print(f"| workload, GPUs, platform | StarPU's best | {options.policy} | ratio |\n|---|---|---|---|")
    for workload, devices, platform, theirs in rows:
        row = run(options, workload, devices, memory_of(workload), options.policy, platform=platform)
        ratios.append(float(row["gflops"]) / theirs)
        print(f"| {workload.replace(':n=', ' ')}, {devices}, {platform} | {theirs:.0f} | {cell(row)} | {ratios[-1]:.3f} |", flush=True)
    good = sum(ratio >= 1 for ratio in ratios)
    print(f"\n{good} of {len(rows)} rows at least as fast, the least ratio is {min(ratios):.3f}")
    return 0 if good >= ALL_AS_FAST * len(rows) and min(ratios) >= LEAST else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    simulator.add_argument(parser)
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--platform", default="pcie")
    parser.add_argument("--buffer", type=int, help="tasks per task buffer (default: the simulator's)")
    parser.add_argument("--table", type=pathlib.Path, help="StarPU's figures, a Markdown table")
    parser.add_argument("--policy", default="auto", help="compared with --table (default: auto)")
    options = simulator.parse(parser)
    if options.table:
        sys.exit(compare(options))
    policies = options.policies.split(",")
    print("| workload, GPUs | " + " | ".join(policies) + " | StarPU's best | our best / its best | darts / its darts |")
    print("|---" * (len(policies) + 4) + "|")
    for row in ROWS:
        print_row(options, policies, row)


if __name__ == "__main__":
    main()
