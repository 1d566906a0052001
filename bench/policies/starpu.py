#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our policies beside StarPU's, both simulated on the platform `pcie`.

usage: starpu.py [--sim PATH] [--policies P,P+RULE,...] [--platform NAME] [--buffer B] [--lookahead S]

Prints a table in Markdown: GFlop/s (MB from the host + MB between GPUs). StarPU's figures were measured with its master branch of
August 2026 over SimGrid 3.32, kernel times as in sim/platforms/v100.times, 500 MiB of memory per GPU for the products and
2000 MiB for the factorisations. In --policies a comma inside a policy's options is written as a semicolon.
"""

import argparse
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
POLICIES = ("eager,lws,ap,dmda,dmdar,dmdas,dmdas+luf,dmdas:bus,dmdas:bus+luf,darts:alg12,darts,darts+lru,rcm,mst,hfp,mhfp,"
            "hypergraph")


def run(options, workload, devices, memory, policy):
    buffer = {} if options.buffer is None else {"buffer": options.buffer}
    try:
        return simulator.run(options.sim, workload=workload, devices=devices, mem=memory, platform=options.platform,
                             lookahead=options.lookahead, more=simulator.with_rule(policy), **buffer)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    simulator.add_argument(parser)
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--platform", default="pcie")
    parser.add_argument("--buffer", type=int, help="tasks per task buffer (default: the simulator's)")
    parser.add_argument("--lookahead", type=float, default=0.012, help="seconds of work ahead (default: 0.012)")
    options = simulator.parse(parser)
    policies = options.policies.split(",")
    print("| workload, GPUs | " + " | ".join(policies) + " | StarPU's best | our best / its best | darts / its darts |")
    print("|---" * (len(policies) + 4) + "|")
    for row in ROWS:
        print_row(options, policies, row)


if __name__ == "__main__":
    main()
