#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a trace costs: Cholesky with and without OMPDARTS_TRACE, in turns, and the ratio of the times.

usage: trace_cost.py --command OMPDARTS --program CHOLESKY [--pairs N] [--mem SIZE] [NTILES TILE]

Each pair runs the program twice, in an order that alternates, so that a machine that others use slows both alike. Prints the medians of both, of
the ratios within pairs (with the quartiles), and the size of the trace. Defaults: 11 pairs, 16 x 16 tiles of 256 x 256, a quarter of the data as
memory of each device.

Exit status: 0 success; 1 a run failed; 2 the command line was refused.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def run(options, memory, trace):
    """Seconds of one factorisation."""
    command = [options.command, "run", "--stats=0", "--progress=0", f"--mem={memory}", f"--trace={trace or 0}", options.program, "--json",
               "--no-check", str(options.ntiles), str(options.tile)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**{name: value for name, value in os.environ.items() if not name.startswith("OMPDARTS_")}, "OMPDARTS_CACHE": "0"})
    if done.returncode:
        sys.exit(f"trace_cost.py: {' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the command ompdarts")
    parser.add_argument("--program", required=True, help="the benchmark cholesky")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--mem", help="memory of each device")
    parser.add_argument("ntiles", nargs="?", type=int, default=16)
    parser.add_argument("tile", nargs="?", type=int, default=256)
    options = parser.parse_args()
    if options.pairs < 2 or options.ntiles < 1 or options.tile < 1:
        parser.error("at least two pairs, one tile and one row")
    n = options.ntiles
    memory = options.mem or n * (n + 1) // 2 * options.tile ** 2 * 4 // 4
    off, on = [], []
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/trace.json"
        run(options, memory, None)
        for pair in range(options.pairs):
            for traced in ((False, True) if pair % 2 else (True, False)):
                (on if traced else off).append(run(options, memory, trace if traced else None))
            print(f"\rpair {pair + 1} of {options.pairs}", end="", file=sys.stderr)
        print(file=sys.stderr)
        size = os.path.getsize(trace)
    ratios = sorted(a / b for a, b in zip(on, off, strict=True))
    first, middle, third = statistics.quantiles(ratios, n=4)
    print(f"without a trace {statistics.median(off):.3f} s, with one {statistics.median(on):.3f} s (medians of {options.pairs}); "
          f"ratio within pairs {middle:.3f} ({first:.3f} to {third:.3f}); fastest of each {min(on) / min(off):.3f}; trace {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
