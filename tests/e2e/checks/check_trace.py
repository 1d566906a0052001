#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: check_trace.py [--cut | --revoked] TRACE [STATS [EXPRESSION...]]

A trace (docs/trace-format.md) is what the format promises, and says the same as the statistics file of the run. Further
expressions must hold, in which `tasks`, `transfers`, `evictions`, `decisions`, `stalls`, `faults`, `flows`, `memory` and `waiting` are lists of
events. --cut: the file ends anywhere, and whole lines are looked at. --revoked: reservations of host tasks may have been revoked before
they ran; decisions may be about these.
"""
import json
import math
import sys

PHASES = {"M": {"name", "args"}, "X": {"tid", "ts", "dur", "name", "cat"}, "i": {"tid", "ts", "s", "name", "cat", "args"},
          "C": {"ts", "name", "args"}, "s": {"tid", "ts", "id", "name", "cat"}, "f": {"tid", "ts", "id", "bp", "name", "cat"}}
SPAN_ARGS = {"task": {"task", "priority", "created_us", "ready_us", "data"},
             "transfer": {"datum", "size", "offset", "bytes", "from", "to", "queued_us", "demanded"}, "stall": set(), "fault": {"datum", "size"},
             "construct": {"data"}}
errors = []


def expect(condition, text):
    if not condition and len(errors) < 10:
        errors.append(text)


def read(path, cut):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not cut:
        return json.loads(text)
    lines = text.split("\n")
    expect(lines[0] == "[", "the first line is not a bracket")
    return [json.loads(line.rstrip(",")) for line in lines[1:-1]]


def check_shape(event):
    phase = event["ph"]
    missing = (PHASES[phase] | {"pid"}) - set(event)
    expect(not missing, f"{event} lacks {missing}")
    if phase == "X":
        missing = SPAN_ARGS[event["cat"]] - set(event.get("args", {}))
        expect(not missing, f"{event} lacks {missing}")
    if "ts" in event:
        expect(event["ts"] >= 0 and event.get("dur", 0) >= 0, f"{event}: a negative time")


def ns(us):
    return round(us * 1000)


def check_spans(events):
    """Spans of one thread do not overlap."""
    threads = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append((ns(event["ts"]), ns(event["dur"])))
    for thread, spans in threads.items():
        spans.sort()
        for (first, duration), (second, _) in zip(spans, spans[1:]):
            expect(first + duration <= second, f"spans of thread {thread} overlap at {second} ns")


def check_flows(events):
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    expect(set(starts) == set(ends), "flows without both ends")
    for number, end in ends.items():
        expect(starts.get(number, end)["ts"] <= end["ts"], f"flow {number} goes back in time")


def check_task(task):
    states = ["created_us", "ready_us", "planned_us", "buffered_us", "committed_us"]
    times = [task["args"][name] for name in states if name in task["args"]] + [task["ts"]]
    expect(times == sorted(times), f"{task}: states out of order")


DECISIONS = {"load": "datum", "place": "task", "plan": "task", "take": "task", "steal": "task", "idle": None}


def check_decision(decision, devices, numbers):
    """About a datum, or a task that there is (of `numbers`, where all have run); for a device; with finite numbers."""
    args = dict(decision["args"])
    expect(2 <= decision["pid"] < 2 + devices, f"{decision}: not for a device")
    about = DECISIONS[decision["name"]]
    expect({"datum", "task"} & set(args) == ({about} if about else set()), f"{decision}: about what?")
    expect(numbers is None or about != "task" or args["task"] in numbers, f"{decision}: there is no such task")
    scores = {name: value for name, value in args.items() if name not in ("datum", "size", "task")}
    finite = all(isinstance(score, (int, float)) and math.isfinite(score) for score in scores.values())
    expect(scores and finite, f"{decision}: no numbers")
    for name in {"from", "other"} & set(scores):
        expect(scores[name] in range(devices) and scores[name] != decision["pid"] - 2, f"{decision}: no other device")


def check_waiting(lists):
    """One task more or less each time."""
    waiting = 0
    for counter in lists["waiting"]:
        expect(counter["args"]["waiting"] in (waiting - 1, waiting + 1), f"{counter}: after {waiting} that waited")
        waiting = counter["args"]["waiting"]


def check_ranks(events, stats):
    """Devices of several ranks have labels, those of the statistics, and are sorted by rank; others have none."""
    labels = {e["pid"]: e["args"] for e in events if e["name"] == "process_labels"}
    order = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    for pid, args in labels.items():
        expect(args["labels"] == f"rank {args['rank']} on {args['host']}", f"process {pid}: its labels are {args}")
    ranks = [labels[pid]["rank"] for pid in sorted(labels, key=order.get)]
    expect(ranks == sorted(ranks), f"processes are in the order of ranks {ranks}")
    if stats:
        told = {2 + k: (d["rank"], d["host"]) for k, d in enumerate(stats["devices"]) if "rank" in d}
        expect({pid: (args["rank"], args["host"]) for pid, args in labels.items()} == told, "other ranks than in the statistics")


def device_of(place):
    return place if isinstance(place, int) else None


def moved(transfers, source, target):
    """Bytes from a kind of place to one; None is the host or a spill area."""
    return sum(t["args"]["bytes"] for t in transfers if "failed" not in t["args"]
               and (device_of(t["args"]["from"]) if source != "any" else source) == source
               and device_of(t["args"]["to"]) == target)


def check_stats(stats, lists):
    first = 2  # the process of device 0
    for k, device in enumerate(stats["devices"]):
        here = [t for t in lists["transfers"] if t["pid"] == first + k]
        loads = [t for t in here if t["name"] == "load" and "failed" not in t["args"]]
        told = {
            "tasks": sum(t["pid"] == first + k and "failed" not in t["args"] for t in lists["tasks"]),
            "loads": len(loads),
            "reloads": sum(t["args"]["reload"] for t in loads),
            "evictions": sum(e["pid"] == first + k for e in lists["evictions"]),
            "faults": sum(f["pid"] == first + k for f in lists["faults"]),
            "d2d_bytes": sum(moved(lists["transfers"], other, k) for other in range(len(stats["devices"]))),
            "h2d_bytes": moved(lists["transfers"], None, k),
            "d2h_bytes": moved(lists["transfers"], k, None),
            "peak_bytes": max((c["args"]["bytes"] for c in lists["memory"] if c["pid"] == first + k), default=0),
        }
        if "rank" in device:
            told["remote_bytes"] = sum(moved(lists["transfers"], other, k) for other, d in enumerate(stats["devices"])
                                       if d["rank"] != device["rank"])
        for name, value in told.items():
            expect(value == device[name], f"device {k}: the trace has {value} {name}, the statistics {device[name]}")
    expect(sum("failed" not in t["args"] for t in lists["tasks"]) == stats["tasks"], "tasks are missing")


def main():
    arguments = sys.argv[1:]
    option = arguments.pop(0) if arguments[0] in ("--cut", "--revoked") else None
    cut = option == "--cut"
    path, *rest = arguments
    events = read(path, cut)
    head = events[0]
    expect(head["name"] == "ompdarts" and head["args"]["schema"] == 1, f"no head, but {head}")
    for event in events:
        check_shape(event)
    check_spans(events)
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    expect({event["pid"] for event in events} <= named, "a process has no name")
    lists = {plural: [e for e in events if e.get("cat") == cat and e["ph"] in "Xi"] for plural, cat in
             (("tasks", "task"), ("transfers", "transfer"), ("evictions", "evict"), ("decisions", "decision"), ("stalls", "stall"),
              ("faults", "fault"))}
    lists["flows"] = [e for e in events if e["ph"] == "f"]
    lists["waiting"] = [e for e in events if e["ph"] == "C" and e["name"] == "waiting tasks"]
    lists["memory"] = [e for e in events if e["ph"] == "C" and e["name"] == "memory"]
    for counter in lists["memory"]:
        expect(counter["args"]["bytes"] <= head["args"]["memory_bytes"], f"{counter}: more than the limit")
    for task in lists["tasks"]:
        check_task(task)
    all_ran = rest and option != "--revoked"
    numbers = {task["args"]["task"] for task in lists["tasks"]} if all_ran else None
    for decision in lists["decisions"]:
        check_decision(decision, head["args"]["devices"], numbers)
    check_waiting(lists)
    if not cut:
        check_flows(events)
    stats = None
    if rest:
        with open(rest[0], encoding="utf-8") as file:
            stats = json.load(file)
        check_stats(stats, lists)
    check_ranks(events, stats)
    for text in rest[1:]:
        expect(eval(text, lists), f"not true: {text}")
    for error in errors:
        print(error)
    sys.exit(1 if errors else 0)


main()
