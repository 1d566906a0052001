#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: check_paje.py FILE LIMIT_BYTES [TRACE.json]

A file in the format of Paje is well formed: events as defined, in the order of time, of containers, types and values that there are;
states begin and end; memory stays below the limit. With TRACE.json, the same run for Perfetto: it tells the same.
"""
import json
import shlex
import sys


def main():
    path, limit, *rest = sys.argv[1:]
    fields, kinds, seen = {}, {}, {"0"}
    now, state, counts = 0.0, {}, {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    assert lines[-1] == "", "no end of line at the end"
    definition = None
    for line in lines[:-1]:
        if line.startswith("%"):
            words = line[1:].split()
            if words[0] == "EventDef":
                definition = words[2]
                kinds[definition], fields[definition] = words[1], []
            elif words[0] != "EndEventDef":
                fields[definition].append((words[0], words[1]))
            continue
        number, *values = shlex.split(line)
        assert len(values) == len(fields[number]), f"{line}: not {fields[number]}"
        event = dict(zip((name for name, _ in fields[number]), values))
        kind = kinds[number]
        if "Time" in event:
            assert float(event["Time"]) >= now, f"{line}: goes back in time"
            now = float(event["Time"])
        for name in ("Type", "Container"):
            assert event.get(name, "0") in seen, f"{line}: no such {name}"
        if "Alias" in event:
            assert event["Alias"] not in seen, f"{line}: twice"
            seen.add(event["Alias"])
        if kind == "PajeSetState":
            assert event["Value"] in seen, f"{line}: no such state"
            begins = event["Value"] != "S0"
            assert begins != state.get(event["Container"], False), f"{line}: begins or ends twice"
            state[event["Container"]] = begins
            track = event["Container"].split("_")[1] if begins else ""
            counts[track] = counts.get(track, 0) + 1
        elif kind == "PajeSetVariable":
            assert 0 <= int(event["Value"]) <= int(limit), f"{line}: more than the limit"
            counts[event["Type"]] = counts.get(event["Type"], 0) + 1
        elif kind == "PajeNewEvent":
            counts["evictions"] = counts.get("evictions", 0) + 1
    assert not any(state.values()), "a state does not end"
    assert counts.get("0", 0) > 0, "no tasks"
    if rest:
        with open(rest[0], encoding="utf-8") as file:
            events = json.load(file)
        spans = [e for e in events if e["ph"] == "X" and e["dur"] > 0]
        wanted = {"0": sum(e["cat"] == "task" for e in spans), "4": sum(e["cat"] == "stall" for e in spans),
                  "Memory": sum(e["ph"] == "C" and e["name"] == "memory" for e in events),
                  "Waiting": sum(e["ph"] == "C" and e["name"] == "waiting tasks" for e in events),
                  "evictions": sum(e.get("cat") == "evict" for e in events)}
        for name, value in wanted.items():
            assert counts.get(name, 0) == value, f"{name}: {counts.get(name, 0)}, not {value}"
        copies = sum(e["cat"] == "transfer" for e in spans)
        assert sum(counts.get(track, 0) for track in "123") == copies, "not all copies"


try:
    main()
except AssertionError as error:
    sys.exit(f"{sys.argv[1]}: {error}")
