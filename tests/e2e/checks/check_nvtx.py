#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: check_nvtx.py LOG PROCESSES [STATS TRACE]

What a profiler was told (tests/nvtx_double/log.h): by so many processes, each in one domain with every range ended
once; the same as the statistics file and the trace of the run say.
"""
import collections
import json
import sys

CATEGORIES = {"task", "in", "out", "peer in", "evict"}
Span = collections.namedtuple("Span", "category payload name")
errors = []


def expect(condition, text):
    if not condition and len(errors) < 10:
        errors.append(text)


def check_process(calls):
    """Returns its ranges and marks, in order."""
    names, started, ended, marks = {}, {}, set(), []
    expect(calls[0] == ["domain", "ompdarts"], f"the first call is {calls[0]}")
    expect(calls[-1] == ["destroy"], f"the last call is {calls[-1]}")
    expect(all(call[0] not in ("domain", "destroy") for call in calls[1:-1]), "more than one domain")
    for call, *arguments in calls[1:-1]:
        if call == "category":
            names[arguments[0]] = arguments[1]
        elif call == "end":
            expect(arguments[0] in started, f"range {arguments[0]} is ended before it starts")
            expect(arguments[0] not in ended, f"range {arguments[0]} is ended twice")
            ended.add(arguments[0])
        else:
            number, category, payload, name = arguments
            span = Span(names[category], int(payload), name)
            expect(number not in started, f"range {number} starts twice")
            if call == "start":
                started[number] = span
            else:
                marks.append(span)
    expect(set(names.values()) == CATEGORIES, f"the categories are {names}")
    expect(set(started) == ended, f"{len(set(started) - ended)} ranges are not ended")
    return list(started.values()), marks


def of_category(spans, *categories):
    return [s for s in spans if s.category in categories]


def check_stats(stats, ranges, marks):
    for k, device in enumerate(stats["devices"]):
        moves = [s for s in of_category(ranges, "in", "out", "peer in") if s.name.endswith(f", device {k}")]
        told = {
            "tasks": sum(s.payload == k for s in of_category(ranges, "task")),
            "loads": sum(s.name == f"load, device {k}" for s in moves),
            "evictions": sum(s.name.endswith(f", device {k}") for s in marks),
            "h2d_bytes": sum(s.payload for s in of_category(moves, "in")),
            "d2h_bytes": sum(s.payload for s in of_category(moves, "out")),
            "d2d_bytes": sum(s.payload for s in of_category(moves, "peer in")),
        }
        for name, value in told.items():
            expect(value == device[name], f"device {k}: {value} {name}, the statistics have {device[name]}")
    expect(len(of_category(ranges, "task")) == stats["tasks"], "tasks are missing")
    expect(all(s.category == "evict" for s in marks), "a mark is no eviction")


def check_trace(events, ranges, marks):
    def names(category):
        return collections.Counter(e["name"] for e in events if e.get("cat") == category)

    expect(names("task") == collections.Counter(s.name for s in of_category(ranges, "task")), "names of tasks differ")
    moves = of_category(ranges, "in", "out", "peer in")
    expect(names("transfer") == collections.Counter(s.name.split(",")[0] for s in moves), "transfers differ")
    chosen = collections.Counter((f"evict for {e['args']['reason']}", e["args"]["size"]) for e in events
                                 if e.get("cat") == "evict")
    expect(chosen == collections.Counter((s.name.split(",")[0], s.payload) for s in marks), "evictions differ")


def main():
    processes = collections.defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            process, *call = line.rstrip("\n").split("\t")
            processes[process].append(call)
    expect(len(processes) == int(sys.argv[2]), f"{len(processes)} processes, not {sys.argv[2]}")
    for calls in processes.values():
        ranges, marks = check_process(calls)
        expect(of_category(ranges, "task"), "no tasks")
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            check_stats(json.load(file), ranges, marks)
        with open(sys.argv[4], encoding="utf-8") as file:
            check_trace(json.load(file), ranges, marks)
    for error in errors:
        print(error)
    sys.exit(1 if errors else 0)


main()
