#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of a GPU benchmark.

usage: report.py RESULTS.json [--markdown]     exit code 1 where a result is wrong

run.py calls this at its end; docs/gpu.md explains the rows and columns.
"""

import json
import sys

PROBLEMS = ("gemm", "cholesky")
# Name of a column, its member in a row, how it is written.
COLUMNS = (
    ("variant", "variant", "{}"), ("policy", "policy", "{}"), ("memory", "fraction", "{}"), ("GPUs", "devices", "{}"),
    ("seconds", "seconds", "{:.3f}"), ("GFlop/s", "gflops", "{:.0f}"), ("GB h2d", "h2d_bytes", "{:.2f}"),
    ("GB d2h", "d2h_bytes", "{:.2f}"), ("tasks", "tasks", "{}"), ("loads", "loads", "{}"),
    ("evicted", "evictions", "{}"), ("overlap", "overlap", "{:.0%}"), ("h2d/link", "link_share", "{:.0%}"),
    ("waits", "waits", "{}"),
    ("residual", "residual", "{:.1e}"), ("", "ok", "{}"),
)
RATIOS = (("cublasxt", None), ("streams", None), ("managed", None), ("in-core", None), ("ompdarts", "dmdar"),
          ("ompdarts", "eager"))


def fraction_text(fraction):
    return "-" if fraction is None else "all" if fraction == 1 else f"1/{fraction}"


def cell(row, member, form):
    value = row.get(member)
    if member == "fraction":
        return fraction_text(value)
    if value is None:
        return "-"
    if member == "waits":
        return "yes" if value else "no"
    if member == "ok":
        return "ok" if value else "WRONG"
    return form.format(value / 1e9 if member.endswith("_bytes") else value)


def with_cublasxt(rows, limits):
    """The rows, and for every memory limit the fastest of cublasXt's whose measured memory is within it.

    cublasXt has no limit of memory, only an order of blocks, so a run serves each limit that it keeps.
    """
    result = list(rows)
    measured = [row for row in rows if row["variant"] == "cublasxt" and row.get("fraction") is None]
    for problem, by_fraction in limits.items():
        for fraction, limit in by_fraction.items():
            fitting = [row for row in measured if row["problem"] == problem and row["memory_used"] <= limit]
            if fitting:
                best = min(fitting, key=lambda row: row["seconds"])
                result.append({**best, "fraction": int(fraction), "memory_limit": limit})
    return result


def matches(row, problem, variant, policy):
    return (row["problem"] == problem and row["variant"] == variant and row.get("policy") == policy
            and row.get("devices", 1) == 1 and row.get("host_memory", "pinned") == "pinned")


def choose(rows, problem, variant, policy, fraction):
    """The row to compare with at this fraction; in-core has none, and managed memory is given all."""
    for row in rows:
        if matches(row, problem, variant, policy) and row.get("fraction") in (fraction, None) and (
                variant != "cublasxt" or row.get("fraction") is not None):
            return row
    return None


def ratios(rows):
    """How many times as fast as each of the others darts is: [{problem, fraction, against, ratio}]."""
    result = []
    for row in rows:
        if not matches(row, row["problem"], "ompdarts", "darts") or not row.get("gflops"):
            continue
        for variant, policy in RATIOS:
            other = choose(rows, row["problem"], variant, policy, row["fraction"])
            if other is not None and other.get("gflops"):
                result.append({"problem": row["problem"], "fraction": row["fraction"], "against": policy or variant,
                               "ratio": row["gflops"] / other["gflops"]})
    return result


def layout(table, markdown):
    """Lines of a list of lists of words, the first of which are the titles."""
    if markdown:
        lines = ["| " + " | ".join(words) + " |" for words in table]
        return [lines[0], "|" + "---|" * len(table[0])] + lines[1:]
    widths = [max(len(words[i]) for words in table) for i in range(len(table[0]))]
    return ["  ".join(word.ljust(width) if i < 2 else word.rjust(width)
                      for i, (word, width) in enumerate(zip(words, widths))).rstrip() for words in table]


def order(row):
    names = ("in-core", "ompdarts", "cublasxt", "streams", "managed", "llvm")
    return (names.index(row["variant"]), row.get("devices") or 1, row.get("policy") or "", row.get("fraction") or 0)


def name_of(row):
    extras = [f"block {row['block']}"] if row.get("block") else []
    extras += ["pageable"] if row.get("host_memory") == "pageable" else []
    return row["variant"] + (f" ({', '.join(extras)})" if extras else "")


def row_table(rows, problem, markdown):
    shown = sorted((row for row in rows if row["problem"] == problem
                    and (row["variant"] != "cublasxt" or row.get("fraction") is not None)), key=order)
    table = [[title for title, _, _ in COLUMNS]]
    table += [[cell({**row, "variant": name_of(row)}, member, form) for _, member, form in COLUMNS] for row in shown]
    return layout(table, markdown) if shown else []


def ratio_table(rows, problem, markdown):
    found = [ratio for ratio in ratios(rows) if ratio["problem"] == problem]
    fractions = sorted({ratio["fraction"] for ratio in found})
    names = [name for name in dict.fromkeys(policy or variant for variant, policy in RATIOS)
             if any(ratio["against"] == name for ratio in found)]
    if not names:
        return []
    table = [["darts /"] + [fraction_text(fraction) for fraction in fractions]]
    for name in names:
        values = {ratio["fraction"]: ratio["ratio"] for ratio in found if ratio["against"] == name}
        table.append([name] + [f"{values[f]:.2f}" if f in values else "-" for f in fractions])
    return layout(table, markdown)


def heading(results):
    machine, settings = results["machine"], results["settings"]
    yield (f"{results['date']}  {machine.get('gpu')}, {machine.get('memory_bytes', 0) / 1e9:.0f} GB, driver "
           f"{machine.get('driver')}; {machine.get('cpus')} x {machine.get('cpu')}")
    yield (f"measured: {machine.get('h2d_bytes_per_s', 0) / 1e9:.1f} GB/s h2d, {machine.get('d2h_bytes_per_s', 0) / 1e9:.1f}"
           f" GB/s d2h (page-locked), products in {machine.get('precision', 'float')} "
           f"{machine.get('gemm_flops', 0) / 1e9:.0f} GFlop/s (order {machine.get('gemm_order')})")
    for problem in PROBLEMS:
        if problem in settings:
            size = settings[problem]
            yield (f"{problem}: order {size['tiles'] * size['tile']}, {size['tiles']} x {size['tiles']} tiles of "
                   f"{size['tile']}, {size['data_bytes'] / 1e9:.2f} GB of data")


def is_right(results):
    """All that was checked is right, and something was."""
    checks = results["correctness"] + results["rows"]
    return bool(checks) and all(check["ok"] for check in checks)


def correctness_lines(results):
    checks = results["correctness"]
    wrong = [check for check in checks if not check["ok"]]
    if checks:
        yield f"correctness: {len(checks) - len(wrong)} of {len(checks)} runs right"
    for check in wrong:
        yield f"  WRONG: {check['name']}: {check['why']}"


def wrong_lines(rows):
    for row in rows:
        if not row["ok"]:
            yield (f"WRONG: {row['problem']} {name_of(row)} {row.get('policy') or ''} "
                   f"{fraction_text(row.get('fraction'))}: {row.get('why') or row.get('residual')}")


def report(results, markdown=False):
    """The whole text."""
    limits = {problem: results["settings"][problem]["limits"] for problem in PROBLEMS if problem in results["settings"]}
    rows = with_cublasxt(results["rows"], limits)
    lines = list(heading(results)) + list(correctness_lines(results))
    for problem in PROBLEMS:
        body = row_table(rows, problem, markdown)
        if body:
            lines += ["", problem, ""] + body
        times = ratio_table(rows, problem, markdown)
        if times:
            lines += ["", f"{problem}: GFlop/s of darts divided by those of", ""] + times
    lines += [""] + list(wrong_lines(results["rows"]))
    if results.get("left_out"):
        lines += ["", "left out:"] + [f"  {text}" for text in results["left_out"]]
    return "\n".join(lines)


def main(arguments):
    markdown = "--markdown" in arguments
    files = [argument for argument in arguments if argument != "--markdown"]
    if len(files) != 1 or files[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    with open(files[0], encoding="utf-8") as file:
        results = json.load(file)
    print(report(results, markdown))
    return 0 if is_right(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
