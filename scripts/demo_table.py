#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of scripts/demo.sh.

usage: demo_table.py bandwidth CALIBRATION.bench.json DEVICES TILE
       demo_table.py table FOLDER

`bandwidth` prints the link's bandwidth in bytes/s for a V100's ratio of computing to moving a tile (demo.sh explains).
`table` reads PROGRAM-SCHED-EVICT.bench.json (a benchmark's --json line) and .stats.json (ompdarts run --stats) in
FOLDER and prints one row for each. Exit code 1 when a result is wrong or differs between rows of one program.
"""

import json
import pathlib
import sys

V100_GFLOPS = 13253.0
V100_BUS = 12e9  # bytes/s
V100_TILE = 1920

COLUMNS = (
    ("program", "<10"), ("policy+eviction", "<18"), ("seconds", ">8"), ("GFlop/s", ">8"), ("MB h2d", ">8"),
    ("MB d2h", ">8"), ("MB d2d", ">8"), ("evictions", ">10"), ("overlapped", ">11"), ("residual", ">9"),
)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def print_bandwidth(calibration, devices, tile):
    rate = load(calibration)["gflops"] / int(devices)
    print(round(V100_BUS * rate / V100_GFLOPS * V100_TILE / int(tile)))


def row(name, bench, total):
    program, sched, evict = name.split("-")
    share = total["overlapped_s"] / total["transfer_s"] if total["transfer_s"] else 0.0
    return (program, f"{sched}+{evict}", f"{bench['seconds']:.2f}", f"{bench['gflops']:.1f}",
            *(f"{total[key] / 1e6:.1f}" for key in ("h2d_bytes", "d2h_bytes", "d2d_bytes")),
            str(total["evictions"]), f"{share:.0%}", f"{bench['residual']:.1e}")


def print_row(cells):
    print(" ".join(f"{cell:{width}}" for cell, (_, width) in zip(cells, COLUMNS)).rstrip())


def print_table(folder):
    results = sorted(pathlib.Path(folder).glob("*-*-*.bench.json"), key=lambda path: path.stat().st_mtime)
    checksums = {}
    right = True
    print_row([title for title, _ in COLUMNS])
    for path in results:
        name = path.name.removesuffix(".bench.json")
        bench = load(path)
        print_row(row(name, bench, load(path.with_name(name + ".stats.json"))["totals"]))
        checksums.setdefault(bench["program"], set()).add(bench["checksum"])
        right = right and bench["ok"]
    identical = all(len(values) == 1 for values in checksums.values())
    print("\nAll residuals are at working precision." if right else "\nA RESULT IS WRONG.")
    print("Each program's results are identical, bit for bit." if identical else "THE RESULTS OF ONE PROGRAM DIFFER.")
    return right and identical


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "bandwidth":
        print_bandwidth(*arguments[1:])
        return 0
    if len(arguments) == 2 and arguments[0] == "table":
        return 0 if print_table(arguments[1]) else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
