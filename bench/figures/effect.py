#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how many bytes policies move, on the simulator: the first picture of the README.

usage: effect.py --command OMPDARTS -o PICTURE.svg [--csv FILE]

Four GPUs of the platform `pcie`, 500 MB for tiles on each; single precision, tiles of 1920 x 1920. --csv keeps the figures.

Exit status: 0 success; 1 a simulation failed; 2 the command line was refused.
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "ompdarts"  # the same picture from the same figures
import matplotlib.pyplot as plt  # noqa: E402

WORKLOADS = {"cholesky:n=20": "Cholesky, 20 x 20 tiles", "lu:n=20": "LU, 20 x 20 tiles", "qr:n=16": "QR, 16 x 16 tiles"}
POLICIES = [("eager", "lru"), ("lws", "lru"), ("dmdar", "lru"), ("darts", "lru"), ("darts", "luf")]
PLATFORM = ["--platform", "pcie", "--devices", "4", "--mem", "500M"]
PARTS = [("h2d_bytes", "to devices", "#2b6cb0"), ("d2h_bytes", "to the host", "#dd8833"), ("d2d_bytes", "between devices", "#7a5fa8")]


def simulate(command, table):
    for workload in WORKLOADS:
        for policy, eviction in POLICIES:
            done = subprocess.run([command, "sim", "--quiet", "--workload", workload, *PLATFORM, "--sched", policy, "--evict", eviction,
                                   "--csv", table], check=False)
            if done.returncode:
                sys.exit(f"effect.py: {workload} under {policy} failed")
            print(f"{workload} {policy}+{eviction}", file=sys.stderr)
    with open(table, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def draw(rows, path):
    figure, axes = plt.subplots(1, len(WORKLOADS), figsize=(9.6, 2.9))
    names = [f"{policy}+{eviction}" for policy, eviction in POLICIES]
    for axis, (workload, title) in zip(axes, WORKLOADS.items(), strict=True):
        kind = workload.split(":")[0]
        mine = {f"{row['policy']}+{row['eviction']}": row for row in rows if row["workload"] == kind}
        left = [0.0] * len(names)
        for column, label, colour in PARTS:
            widths = [float(mine[name][column]) / 1e9 for name in names]
            axis.barh(names, widths, left=left, color=colour, label=label)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for name, width in zip(names, left, strict=True):
            axis.annotate(f" {width:.0f}", (width, name), va="center", fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("GB moved", fontsize=9)
        axis.set_xlim(0, max(left) * 1.12)
        axis.invert_yaxis()
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    figure.subplots_adjust(left=.09, right=.98, top=.9, bottom=.25, wspace=.1)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=len(PARTS), fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the command ompdarts, built with the simulator")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--csv", help="file for the figures")
    options = parser.parse_args()
    if options.csv and pathlib.Path(options.csv).exists():
        parser.error(f"{options.csv} exists")
    with tempfile.TemporaryDirectory() as folder:
        rows = simulate(options.command, options.csv or f"{folder}/table.csv")
        draw(rows, options.output)


if __name__ == "__main__":
    main()
