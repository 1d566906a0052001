#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One policy against all others, simulated: speed and bytes at many sizes and numbers of devices.

usage: against.py [--sim PATH] [--policy P] [--others P,P+RULE,...] [--workloads W,...] [--sizes N,...] [--devices K,...]
                  [--platform NAME] [--jobs J]

Prints a table in Markdown: GFlop/s (GB moved in all directions) of the policy, of darts and of the fastest of the others; then the cases in
which it moves more than darts, is slower than the best of the others by more than 1 %, or slower than any other with fewer devices. 2000 MiB
of memory per device for factorisations, 500 MiB for products, as in starpu.py. In --others a comma inside a policy's
options is written as a semicolon.
"""

import argparse
import concurrent.futures
import itertools
import sys

import simulator

OTHERS = "eager,lws,ap,dmda,dmdar,dmdas,dmdas:bus+luf,dmdas:bus=1+luf,darts,darts:ratio,mhfp"


def run(options, workload, size, devices, policy):
    row = simulator.run(options.sim, workload=f"{workload}:n={size}", devices=devices, platform=options.platform,
                        mem="500Mi" if workload.startswith("gemm") else "2000Mi", more=simulator.with_rule(policy))
    return float(row["gflops"]), simulator.bytes_moved(row) / 1e9


def cell(result):
    return f"{result[0]:.0f} ({result[1]:.1f})"


def complaints(options, results, workload, size, devices, best):
    ours = results[workload, size, devices, options.policy]
    darts = results[workload, size, devices, "darts"]
    if ours[1] > darts[1] * 1.0001:
        yield f"moves {ours[1] / darts[1]:.2f} of what darts moves"
    if ours[0] < 0.99 * best[0]:
        yield f"{ours[0] / best[0]:.3f} of the speed of the best other"
    fewer = max(result[0] for (w, n, k, _), result in results.items() if (w, n) == (workload, size) and k <= devices)
    if ours[0] < 0.99 * fewer:
        yield f"{ours[0] / fewer:.3f} of the best speed with as many or fewer devices"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    simulator.add_argument(parser)
    parser.add_argument("--policy", default="stationary")
    parser.add_argument("--others", default=OTHERS)
    parser.add_argument("--workloads", default="cholesky,lu,qr,gemm3d")
    parser.add_argument("--sizes", default="10,20,30,40", help="tiles per side (default: 10,20,30,40)")
    parser.add_argument("--devices", default="1,2,4,8")
    parser.add_argument("--platform", default="pcie")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at once (default: 2)")
    options = simulator.parse(parser)
    others = sorted({"darts", *options.others.split(",")})
    cases = list(itertools.product(options.workloads.split(","), map(int, options.sizes.split(",")),
                                   map(int, options.devices.split(","))))
    runs = [(*case, policy) for case in cases for policy in [options.policy, *others]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            results = dict(zip(runs, pool.map(lambda one: run(options, *one), runs)))
        except RuntimeError as error:
            sys.exit(f"against.py: {error}")
    found = []
    print(f"| workload, GPUs | {options.policy} | darts | best other | speed / best | bytes / darts |\n|---|---|---|---|---|---|")
    for workload, size, devices in cases:
        name, best = max(((policy, results[workload, size, devices, policy]) for policy in others), key=lambda one: one[1][0])
        ours, darts = (results[workload, size, devices, policy] for policy in (options.policy, "darts"))
        print(f"| {workload} {size}, {devices} | {cell(ours)} | {cell(darts)} | {cell(best)} `{name}` | {ours[0] / best[0]:.3f} | "
              f"{ours[1] / darts[1]:.2f} |", flush=True)
        found += [f"{workload} {size}, {devices}: {text}" for text in complaints(options, results, workload, size, devices, best)]
    print(f"\n{len(cases)} cases; it falls short in {len(found)}:" if found else f"\n{len(cases)} cases, it falls short in none")
    for line in found:
        print(f"- {line}")


if __name__ == "__main__":
    main()
