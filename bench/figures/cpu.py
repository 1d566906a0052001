#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what devices and CPU workers did when, from traces of the simulator with CPU workers and without.

usage: cpu.py TRACE.csv [OTHER.csv...] -o PICTURE.svg [--title TEXT...]

Each trace is a panel, all on one scale of time; its rows are devices, then CPU workers, its colours kernels. Write traces with
`ompdarts sim ... --trace TRACE.csv`. Below each panel: the end of the last task, and how many tasks of each kernel ran on CPU workers.

Exit status: 0 success; 1 a trace cannot be read; 2 the command line was refused.
"""

import argparse
import collections
import csv
import html
import sys

COLOURS = {"potrf": "#c3191e", "getrf": "#c3191e", "trsm": "#be7d00", "syrk": "#1955be", "gemm": "#8fb8a0"}
OTHER_COLOUR = "#777777"
WIDTH, LEFT, ROW, GAP, TEXT = 900, 80, 12, 26, 13  # pixels


def read(path):
    """Tasks as (worker, kernel, start, end), devices before CPU workers."""
    with open(path, encoding="utf-8") as file:
        tasks = [(row["device"], row["name"], float(row["start_s"]), float(row["end_s"]))
                 for row in csv.DictReader(file) if row["kind"] == "task"]
    if not tasks:
        raise ValueError("it has no tasks")
    return tasks


def is_cpu(worker):
    return worker.startswith("cpu")


def rows_of(tasks):
    workers = {worker for worker, _, _, _ in tasks}
    return sorted(workers, key=lambda w: (is_cpu(w), int(w.removeprefix("cpu"))))


def counts(tasks):
    """"potrf 3 of 16, gemm 5 of 560" of the CPU workers."""
    all_of, on_cpu = collections.Counter(), collections.Counter()
    for worker, kernel, _, _ in tasks:
        all_of[kernel] += 1
        on_cpu[kernel] += is_cpu(worker)
    order = [k for k in COLOURS if k in all_of] + sorted(k for k in all_of if k not in COLOURS)
    return ", ".join(f"{kernel} {on_cpu[kernel]} of {all_of[kernel]}" for kernel in order)


def panel(tasks, title, top, scale):
    """(lines of SVG, height)"""
    rows = rows_of(tasks)
    end = max(task[3] for task in tasks)
    lines = [f'<text x="{LEFT}" y="{top + TEXT}" font-weight="bold">{html.escape(title)}</text>']
    top += TEXT + 6
    for i, worker in enumerate(rows):
        name = f"CPU {worker.removeprefix('cpu')}" if is_cpu(worker) else f"device {worker}"
        lines.append(f'<text x="{LEFT - 6}" y="{top + i * ROW + ROW - 3}" text-anchor="end" font-size="10">{name}</text>')
    for worker, kernel, start, stop in tasks:
        y, width = top + rows.index(worker) * ROW, max((stop - start) * scale, 0.3)
        lines.append(f'<rect x="{LEFT + start * scale:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 2}" '
                     f'fill="{COLOURS.get(kernel, OTHER_COLOUR)}"/>')
    bottom = top + len(rows) * ROW
    lines.append(f'<text x="{LEFT}" y="{bottom + TEXT}">{end * 1e3:.2f} ms; on CPU workers: {counts(tasks)}</text>')
    return lines, bottom + TEXT + GAP


def picture(traces, titles):
    longest = max(task[3] for tasks in traces for task in tasks)
    scale, top, lines = (WIDTH - LEFT - 10) / longest, 6, []
    for tasks, title in zip(traces, titles):
        more, top = panel(tasks, title, top, scale)
        lines += more
    used = {kernel for tasks in traces for _, kernel, _, _ in tasks}
    for i, (kernel, colour) in enumerate((k, c) for k, c in COLOURS.items() if k in used):
        lines.append(f'<rect x="{LEFT + i * 80}" y="{top - 8}" width="12" height="10" fill="{colour}"/>'
                     f'<text x="{LEFT + i * 80 + 16}" y="{top + 2}">{kernel}</text>')
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 14}" font-family="sans-serif" '
            f'font-size="{TEXT - 1}">\n<rect width="100%" height="100%" fill="white"/>\n')
    return head + "\n".join(lines) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("traces", nargs="+")
    parser.add_argument("-o", dest="output", required=True)
    parser.add_argument("--title", nargs="+", default=[])
    options = parser.parse_args()
    titles = options.title + options.traces[len(options.title):]
    traces = []
    for path in options.traces:
        try:
            traces.append(read(path))
        except (OSError, KeyError, ValueError) as error:
            sys.exit(f"cpu.py: {path}: {error}")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(picture(traces, titles))


if __name__ == "__main__":
    main()
