#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well the rules of `ompdarts analyze` keep bounds, on made-up workflows (docs/reproduction.md).

For each kind and model: the maximum cut over the peak of depth-first, and at fractions of the maximum cut, of each rule,
how often it keeps the bound, and the median of its critical path over the graph's own and of how many precedences it
adds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile


def analyze(command, kind, tasks, seed, model, bound=None):
    with tempfile.TemporaryDirectory() as folder:
        name = pathlib.Path(folder) / "study.json"
        arguments = [command, "analyze", f"--generate={kind}:{tasks}:{seed}", f"--model={model}", f"--json={name}"]
        if bound:
            arguments.append(f"--bound={bound}")
        ended = subprocess.run(arguments, capture_output=True, check=False)
        return json.loads(name.read_text()) if ended.returncode == 0 else None


def peak(study, name):
    return next(order["peak_bytes"] for order in study["orders"] if order["name"] == name)


def print_rules(results):
    for rule, rows in results.items():
        kept = [row for row in rows if row[0]]
        path = f"{statistics.median(row[1] for row in kept):.2f}" if kept else "-"
        added = f"{statistics.median(row[2] for row in kept):.0f}" if kept else "-"
        print(f"    {rule:14} kept {100 * len(kept) / len(rows):5.0f} %  path x {path:5}  added {added}")


def compare(options, kind, model):
    studies = [(s, analyze(options.ompdarts, kind, options.tasks, s, model)) for s in range(1, options.graphs + 1)]
    cuts = [study["maximum_cut"]["bound_bytes"] for _, study in studies]
    ratios = [cut / peak(study, "depth-first") for cut, (_, study) in zip(cuts, studies)]
    print(f"{kind}, {model}: maximum cut / depth-first {min(ratios):.2f} to {max(ratios):.2f}, "
          f"median {statistics.median(ratios):.2f}")
    for divisor in options.divisors:
        results, graphs = {}, 0
        for cut, (seed, study) in zip(cuts, studies):
            bounded = analyze(options.ompdarts, kind, options.tasks, seed, model, int(cut / divisor))
            if not bounded or int(cut / divisor) < peak(study, study["best_order"]):
                continue
            graphs += 1
            for rule in bounded["serialised"]["rules"]:
                row = rule["kept"], rule["critical_path_s"] / study["critical_path_s"], len(rule["added"])
                results.setdefault(rule["rule"], []).append(row)
        print(f"  maximum cut / {divisor:g}: {graphs} graphs")
        print_rules(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ompdarts", help="the command")
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--divisors", type=float, nargs="+", default=[1.5, 2, 3, 5])
    options = parser.parse_args()
    for kind in ("ligo", "montage"):
        for model in ("replace", "resident"):
            compare(options, kind, model)


if __name__ == "__main__":
    main()
