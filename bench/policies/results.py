#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it brings to send results home early (`ompdarts sim --results early`, OMPDARTS_WRITE_BACK) instead of all after
the last task: makespan and bytes moved, each divided by those of `--results late`, on workloads, platforms, numbers of
devices, policies and memory limits."""

import argparse
import itertools
import statistics

import simulator

COLUMNS = ("h2d_bytes", "d2h_bytes", "d2d_bytes")


def measure(options, case, when):
    platform, workload, devices, policy, memory = case
    row = simulator.run(options.sim, workload=workload, platform=platform, devices=devices, sched=policy, mem=memory,
                        results=when)
    return float(row["makespan_s"]), sum(int(row[column] or 0) for column in COLUMNS)


def compare(options, case):
    late, early = measure(options, case, "late"), measure(options, case, "early")
    return early[0] / late[0], early[1] / late[1]


def show(name, values):
    print(f"{name:24} {len(values):4} {min(values):7.3f} {statistics.median(values):7.3f} {statistics.mean(values):7.3f} "
          f"{max(values):7.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    simulator.add_argument(parser)
    parser.add_argument("--platforms", default="pcie,h200x8,pcie-half")
    parser.add_argument("--workloads", default="gemm2d:n=16 gemm3d:n=10 gemm3d:n=14 cholesky:n=20 lu:n=14 qr:n=12",
                        help="separated by blanks")
    parser.add_argument("--devices", default="1,2,4")
    parser.add_argument("--policies", default="darts,dmdas,stationary,eager")
    parser.add_argument("--mem", default="250M,500M")
    options = simulator.parse(parser)
    cases = list(itertools.product(options.platforms.split(","), options.workloads.split(),
                                   options.devices.split(","), options.policies.split(","), options.mem.split(",")))
    ratios = [compare(options, case) for case in cases]
    print(f"{'early / late':24} {'n':>4} {'min':>7} {'median':>7} {'mean':>7} {'max':>7}")
    show("makespan", [time for time, _ in ratios])
    show("bytes", [moved for _, moved in ratios])
    for policy in options.policies.split(","):
        show(f"makespan, {policy}", [time for case, (time, _) in zip(cases, ratios) if case[3] == policy])


if __name__ == "__main__":
    main()
