#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LIGO workflows of 100 tasks with the shape and weights of Pegasus' generator, and how much memory they need.

Pegasus' synthetic LIGO workflows have 1 to 5 groups, which may share a task. In a group templates are made and
filtered, the results compared, and all of it done once more. What tasks read from the beginning is 31 MB each, the same
file for both filters. Three ways to count it (--inputs): not at all; once, from the first reader to the last one; or as
a task for each reader, which makes it.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

TASKS = 100
TEMPLATES, RESULTS, COMPARED, CHOSEN = (986_917, 18_948), (312_935, 579_467), (33_820, 43_453), (12_779, 11_730)
INPUT = (2 * 15_595_958, 26_000)  # bytes: mean and deviation
FILTER = (460.21, 545)  # seconds


def positive(draw, weight):
    while True:
        value = draw.gauss(*weight)
        if value > 0:
            return value


def sizes_of_groups(draw, groups, total, most):
    while True:
        cuts = sorted(draw.sample(range(1, total), groups - 1))
        sizes = [end - begin for begin, end in zip([0] + cuts, cuts + [total])]
        if max(sizes) <= most:
            return sorted(sizes, reverse=True)


def draw_shape(draw):
    """Groups, and how many templates they have in the first and in the second half."""
    while True:
        groups = draw.randint(1, max(3, TASKS // 20))
        if groups == 1 and (TASKS - 2) % 4:
            groups = 2
        half = (TASKS - 2 * groups) // 2
        upper = draw.randint(int(half * 0.45), half // 2)
        lower = half - upper
        total = draw.randint(lower, int(lower * 1.05))
        if total <= groups * upper:
            return sizes_of_groups(draw, groups, total, upper), upper, lower


def members(sizes, count):
    """The templates of each group: one that does not fit any more begins earlier."""
    begin = 0
    for group, size in enumerate(sizes):
        begin = min(begin, count - size)
        for template in range(begin, begin + size):
            yield group, template
        begin += size


def inputs_of(draw, how, template, readers):
    size = int(positive(draw, INPUT))
    if how == "once":
        return [f"lazy {size} {' '.join(readers)}"]
    lines = []
    for number, reader in enumerate(readers if how == "each" else ()):
        lines += [f"task read{template}.{number} 0.001", f"data {size} read{template}.{number} {reader}"]
    return lines


def workflow(seed, how):
    """As the text that `ompdarts analyze` reads."""
    draw = random.Random(seed)
    sizes, upper, lower = draw_shape(draw)
    tasks = [f"task bank{i} 18.14" for i in range(upper)] + [f"task choose{i} 5.11" for i in range(lower)]
    tasks += [f"task {name}{i} {positive(draw, FILTER):.3f}"
              for name, count in (("upper", upper), ("lower", lower)) for i in range(count)]
    tasks += [f"task {name}{group} 5.37" for name in ("compare", "end") for group in range(len(sizes))]

    def datum(weight, producer, reader):
        return f"data {int(positive(draw, weight)) + 1} {producer} {reader}"

    data = [datum(TEMPLATES, f"bank{i}", f"upper{i}") for i in range(upper)]
    data += [datum(RESULTS, f"upper{i}", f"compare{group}") for group, i in members(sizes, upper)]
    data += [datum(COMPARED, f"compare{group}", f"choose{i}") for group, i in members(sizes, lower)]
    data += [datum(CHOSEN, f"choose{i}", f"lower{i}") for i in range(lower)]
    data += [datum(RESULTS, f"lower{i}", f"end{group}") for group, i in members(sizes, lower)]
    for i in range(lower):
        data += inputs_of(draw, how, i, ([f"bank{i}", f"upper{i}"] if i < upper else []) + [f"lower{i}"])
    return "\n".join(["ompdarts-dag 1"] + tasks + data) + "\n"


def analyze(options, graph, *more):
    ended = subprocess.run([options.ompdarts, "analyze", graph, "--model=replace", "--json=-", *more],
                           capture_output=True, text=True)
    return json.loads(ended.stdout) if ended.returncode == 0 else None


def measure(options, how, graph):
    ratios, paths = [], {}
    for seed in range(1, options.graphs + 1):
        graph.write_text(workflow(seed, how))
        plain = analyze(options, graph)
        cut = plain["maximum_cut"]["bound_bytes"]
        ratios.append(cut / plain["orders"][0]["peak_bytes"])
        bounded = analyze(options, graph, f"--bound={cut // 5}")
        for rule in bounded["serialised"]["rules"] if bounded else ():
            if rule["kept"]:
                paths.setdefault(rule["rule"], []).append(rule["critical_path_s"] / bounded["critical_path_s"])
    kept = ", ".join(f"{rule} {statistics.median(times):.2f} ({len(times)})" for rule, times in paths.items())
    print(f"inputs {how}: maximum cut / depth-first {statistics.median(ratios):.1f} ({min(ratios):.1f} to "
          f"{max(ratios):.1f}); critical path within a fifth of it: {kept or 'no rule keeps it'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ompdarts")
    parser.add_argument("--graphs", type=int, default=40)
    parser.add_argument("--inputs", default="none,once,each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for how in options.inputs.split(","):
            measure(options, how, pathlib.Path(folder) / "graph")


if __name__ == "__main__":
    main()
