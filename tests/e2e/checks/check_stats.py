#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the statistics file of a run.

usage: check_stats.py FILE EXPRESSION...      exit code 1, with the expression and its names' values, where one is false
       check_stats.py --exits FILE EXPRESSION...  of a program that called exit() while tasks were under way
       check_stats.py --print FILE EXPRESSION

An expression is Python's, over `stats` (the whole object), `totals` and `devices`, whose members are attributes:
"totals.h2d_bytes <= 1000", "all(d.tasks > 0 for d in devices)". Before that, every file is checked against what
docs/stats-schema.md promises of it.
"""
import json
import re
import sys
from types import SimpleNamespace

DEVICE_COUNTS = ("tasks host_tasks h2d_bytes d2h_bytes d2d_bytes spilled_bytes loads reloads evictions "
                 "dropped_bytes reruns faults fault_bytes peak_bytes limit_bytes").split()
DEVICE_TIMES = "busy_s start_s stall_s transfer_s overlapped_s fault_s".split()
SUMS = [name for name in DEVICE_COUNTS if name not in ("peak_bytes", "limit_bytes")]


def schema_errors(stats, exits):
    """Yields what contradicts the schema. Where the program `exits` in between, what has run need not be complete."""
    if stats.schema_version != 1:
        yield f"schema_version is {stats.schema_version}"
    for where, figures in [("totals", stats.totals)] + [(d.name, d) for d in stats.devices]:
        for name in DEVICE_COUNTS:
            if not isinstance(getattr(figures, name), int) or getattr(figures, name) < 0:
                yield f"{where}: {name} is {getattr(figures, name)}"
        for name in DEVICE_TIMES:
            if not 0 <= getattr(figures, name) < 1e6:
                yield f"{where}: {name} is {getattr(figures, name)}"
        if figures.peak_bytes > figures.limit_bytes:
            yield f"{where}: peak_bytes {figures.peak_bytes} exceeds limit_bytes {figures.limit_bytes}"
        if figures.spilled_bytes > figures.d2h_bytes:
            yield f"{where}: spilled_bytes exceeds d2h_bytes"
        if where != "totals" and figures.busy_s + figures.start_s + figures.stall_s > stats.wall_s + 1e-6:
            yield f"{where}: busy, start and stall take longer than the run"
        if figures.overlapped_s > figures.transfer_s + 1e-9:
            yield f"{where}: overlapped_s exceeds transfer_s"
    for name in SUMS:
        if getattr(stats.totals, name) != sum(getattr(d, name) for d in stats.devices):
            yield f"totals: {name} is not the sum over the devices"
    yield from rank_errors(stats)
    ran = stats.totals.tasks + stats.host_tasks
    if stats.tasks > ran or stats.tasks < ran and not exits:
        yield f"tasks is {stats.tasks}, but {stats.totals.tasks} on devices and {stats.host_tasks} on the host"


def rank_errors(stats):
    """Of devices of several ranks: `ranks` has their sums."""
    ranks = getattr(stats, "ranks", [])
    if not ranks and any(hasattr(d, "rank") or hasattr(d, "remote_bytes") for d in [stats.totals] + stats.devices):
        yield "devices have ranks, but there are none"
    if ranks and ([r.rank for r in ranks] != sorted({d.rank for d in stats.devices}) or len(ranks) < 2):
        yield f"ranks are {[r.rank for r in ranks]}"
    for rank in ranks:
        own = [d for d in stats.devices if d.rank == rank.rank]
        if rank.devices != len(own) or {d.host for d in own} != {rank.host}:
            yield f"rank {rank.rank}: {rank.devices} devices on {rank.host}"
        for name in SUMS + ["remote_bytes"]:
            if getattr(rank, name) != sum(getattr(d, name) for d in own):
                yield f"rank {rank.rank}: {name} is not the sum over its devices"
        if rank.remote_bytes > rank.d2d_bytes:
            yield f"rank {rank.rank}: remote_bytes exceeds d2d_bytes"
    if ranks and stats.totals.remote_bytes != sum(r.remote_bytes for r in ranks):
        yield "totals: remote_bytes is not the sum over the ranks"


def explain(expression, names):
    """The attributes that the expression names, with their values."""
    shown = []
    for path in sorted(set(re.findall(r"\b(?:stats|totals)\.\w+", expression))):
        shown.append(f"{path} = {eval(path, {}, names)}")
    for member in sorted(set(re.findall(r"\bd\.(\w+)", expression))):
        shown.append(f"{member} = {[getattr(d, member) for d in names['devices']]}")
    return ", ".join(shown)


def main(arguments):
    """Returns the exit code."""
    only_print, exits = arguments[:1] == ["--print"], arguments[:1] == ["--exits"]
    if only_print or exits:
        arguments = arguments[1:]
    with open(arguments[0], encoding="utf-8") as file:
        stats = json.load(file, object_hook=lambda members: SimpleNamespace(**members))
    names = {"stats": stats, "totals": stats.totals, "devices": stats.devices}
    if only_print:
        print(eval(arguments[1], names))
        return 0
    errors = list(schema_errors(stats, exits))
    for expression in arguments[1:]:
        if not eval(expression, names):
            errors.append(f"not true: {expression}  ({explain(expression, names)})")
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
