#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares policies and settings over many simulated cases, so that nobody tunes to a few.

usage: compare.py [--sim PATH] [--cases PATTERN] [--jobs J] NAME=OPTIONS [NAME=OPTIONS ...]

OPTIONS are those of `ompdarts sim` and apply to all cases, for example

    compare.py 'now=' 'published=--sched darts:alg12,ahead=0 --buffer 5'

The first is the base: of each other, the geometric mean, the least and the greatest of its GFlop/s divided by the base's in
the same case, the mean for each number of devices, and the geometric mean of bytes moved divided by the base's.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import itertools
import math
import shlex
import sys

import simulator

PLATFORMS = ("pcie", "nvlink", "pcie-half")
DEVICES = (1, 2, 4, 8)
# Workload and memory of each device: some data fit, most do not.
WORKLOADS = (("gemm2d:n=40", "500Mi"), ("gemm2d-random:n=40", "500Mi"), ("sparse2d:n=80,density=0.05", "500Mi"),
             ("pairs:n=60", "500Mi"), ("gemm3d:n=10", "300Mi"), ("gemm3d:n=16", "800Mi"),
             ("cholesky-set:n=24", "500Mi"), ("cholesky:n=16", "1000Mi"), ("cholesky:n=28", "2500Mi"),
             ("cholesky:n=32,tile=960", "700Mi"), ("lu:n=12", "1000Mi"), ("lu:n=20", "3000Mi"),
             ("lu:n=24,tile=960", "500Mi"), ("qr:n=16", "1500Mi"))

Case = collections.namedtuple("Case", "platform workload memory devices")
Result = collections.namedtuple("Result", "speed bytes")


def run(options, case, settings):
    row = simulator.run(options.sim, platform=case.platform, workload=case.workload, mem=case.memory, devices=case.devices,
                        more=settings)
    return Result(float(row["gflops"]), simulator.bytes_moved(row))


def mean(values):
    """Geometric."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def text_of(case):
    return f"{case.workload} on {case.devices} x {case.platform}, {case.memory}"


def compare(name, cases, results, base):
    speed = {case: result.speed / of_base.speed for case, result, of_base in zip(cases, results, base)}
    least, most = min(cases, key=speed.get), max(cases, key=speed.get)
    moved = mean(result.bytes / of_base.bytes for result, of_base in zip(results, base))
    by_devices = "  ".join(f"{k}: {mean(speed[case] for case in cases if case.devices == k):.3f}"
                           for k in sorted({case.devices for case in cases}))
    print(f"{name}: speed {mean(speed.values()):.3f} (by devices {by_devices}), bytes {moved:.3f}\n"
          f"    from {speed[least]:.3f} ({text_of(least)}) to {speed[most]:.3f} ({text_of(most)})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    simulator.add_argument(parser)
    parser.add_argument("--cases", default="*", help="only those whose text fits, for example '*cholesky*8 x pcie,*'")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at once (default: 2)")
    parser.add_argument("settings", nargs="+", metavar="NAME=OPTIONS")
    options = simulator.parse(parser)
    if any("=" not in setting for setting in options.settings):
        parser.error("settings are written NAME=OPTIONS")
    cases = [Case(platform, workload, memory, devices)
             for platform, (workload, memory), devices in itertools.product(PLATFORMS, WORKLOADS, DEVICES)]
    cases = [case for case in cases if fnmatch.fnmatch(text_of(case), options.cases)]
    if not cases:
        sys.exit(f"compare.py: no case fits {options.cases}")
    base = None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for setting in options.settings:
            name, _, words = setting.partition("=")
            try:
                results = list(pool.map(lambda case: run(options, case, shlex.split(words)), cases))
            except RuntimeError as error:
                sys.exit(f"compare.py: {error}")
            base = base or results
            compare(name, cases, results, base)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
