#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: map.sh
#
# `ompdarts map`: what is told of a small run known in every event, of real runs with their statistics beside, and what is refused.
. "$(dirname "$0")/../common.sh"
map() { "$patient" $limit_s "$E2E_COMMAND" map "$@" >"$work/map" 2>"$work/errors"; }
# line TEXT… : each is a line of the last account, blanks apart
line() {
    local text
    for text in "$@"; do
        tr -s ' ' <"$work/map" | sed 's/^ //; s/ $//' | grep -qxF -- "$text" || fail "no line '$text' in $(cat "$work/map")"
    done
}

# A run whose story is known: a comes to device 0, is evicted, comes again, is written on device 1; b is new, and goes home.
python3 - "$work/known.json" <<'CODE'
import json, sys

def task(number, place, ts, data, name="solve:9"):
    return {"ph": "X", "pid": place + 2, "tid": 1, "ts": ts, "dur": 10, "name": name, "cat": "task",
            "args": {"task": number, "priority": 0, "created_us": 0, "ready_us": 1, "source": "/src/known.c:9", "data": data}}

def copy(name, ts, datum, source, target, reload=None):
    args = {"datum": datum, "size": 4096, "offset": 0, "bytes": 4096, "from": source, "to": target, "queued_us": ts, "demanded": True}
    if reload is not None:
        args["reload"] = reload
    return {"ph": "X", "pid": 2, "tid": 17, "ts": ts, "dur": 5, "name": name, "cat": "transfer", "args": args}

def construct(name, ts, data, line):
    return {"ph": "X", "pid": 1, "tid": 113, "ts": ts, "dur": 10, "name": name, "cat": "construct",
            "args": {"data": data, "source": f"/src/known.c:{line}"}}

a, b = "0x1000", "0x8000"
events = [
    {"ph": "M", "pid": 1, "name": "ompdarts", "args": {"schema": 1, "version": "0", "program": "known", "policy": "darts", "eviction": "luf",
                                                       "seed": 1, "devices": 2, "memory_bytes": 8192}},
    construct("enter data", 0, [[a, 4096, "to", "a[:N]"], [b, 4096, "alloc", "b[:N]"]], 5),
    copy("load", 20, a, "host", 0, False), task(0, 0, 30, [[a, 4096, "r", "x[:N]"], [b, 4096, "w", "y[:N]"]]),
    {"ph": "i", "pid": 2, "tid": 90, "ts": 50, "s": "t", "name": "evict", "cat": "evict", "args": {"datum": a, "size": 4096, "reason": "task"}},
    copy("load", 60, a, "host", 0, True), task(1, 0, 70, [[a, 4096, "r", "x[:N]"], [b, 4096, "rw", "y[:N]"]]),
    copy("load", 90, a, 0, 1, False), task(2, 1, 100, [[a, 4096, "rw", "x[:N]"]]),
    copy("load", 120, a, 1, 0, True), task(3, 0, 130, [[a, 4096, "r", "x[:N]"]]),
    task(4, -1, 150, [[b, 4096, "r"]], "on_host:7"),
    construct("exit data", 200, [[b, 4096, "from", "b[:N]"], [a, 4096, "release", "a[:N]"]], 12), copy("write back", 203, b, 0, "host"),
]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n")
CODE
map --from="$work/known.json" || fail "map --from: $(cat "$work/errors")"
line "0.000000 s enter data (/src/known.c:5)" "a[:N] to 4096 bytes each part moves with the first task that uses it" \
    "b[:N] alloc 4096 bytes nothing to copy" \
    "0.000030 s solve:9 (/src/known.c:9), task 0 on device 0" \
    "x[:N] r 4096 bytes moved from the host, for the first time; evicted for a task's data" "y[:N] w 4096 bytes nothing to copy; kept" \
    "x[:N] r 4096 bytes moved from the host again: it had been evicted; written elsewhere" "y[:N] rw 4096 bytes present; kept, written back" \
    "x[:N] rw 4096 bytes moved from device 0, for the first time; kept" \
    "x[:N] r 4096 bytes moved from device 1 again: it had been written elsewhere; kept" \
    "0.000150 s on_host:7 (/src/known.c:9), task 4 on the host" "0x8000 r 4096 bytes on the host" \
    "b[:N] from 4096 bytes 4096 bytes written back from devices" "a[:N] release 4096 bytes nothing moved"
[ "$(wc -l <"$work/map")" -eq 18 ] || fail "map --from: not 18 lines: $(cat "$work/map")"
map --sums --from="$work/known.json" || fail "map --sums: $(cat "$work/errors")"
line "solve:9, /src/known.c:9, 4 times" "x[:N] 4 0.016 2 1 1 0 0 0 0 0.016 2 0 1 0 0 0 1 0.000" \
    "y[:N] 2 0.008 0 0 0 0 1 1 0 0.000 2 0 0 0 0 0 0 0.004" "datum 1 1 0.004 0 0 0 0 0 0 1 0.000 0 0 0 0 0 0 0 0.000" \
    "all 7 0.029 2 1 1 0 1 1 1 0.016 4 0 1 0 0 0 1 0.004" "exit data, /src/known.c:12" "b[:N] from 1 0.004 0.000 0.000 0.004 0.000"

# Real runs: with the statistics of the same run; tasks and what they map are all there.
tile_bytes=$((32 * 32 * 4))
for policy in eager darts; do
    for style in task region; do
        under 0 OMPDARTS_TRACE="$work/trace.json" OMPDARTS_DEVICES=2 OMPDARTS_MEM=$((10 * tile_bytes)) OMPDARTS_SCHED=$policy \
            "$E2E_BENCH/cholesky" --style $style 8 32
        map --sums --from="$work/trace.json" || fail "map: $(cat "$work/errors")"
        python3 - "$work/stats" "$work/map" $style <<'CODE' || fail "$policy, $style: $(cat "$work/map")"
import json, re, sys

stats = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], encoding="utf-8").read()
times = sum(int(n) for n in re.findall(r"^task_\S+, \S+, (\d+) times?$", text, re.M))
mapped, _, new, left, written, returned, present, empty, host, moved, kept, home, *evicted, overwritten, back = (
    float(x) for x in re.search(r"^all (.*)$", text, re.M)[1].split())
totals = stats["totals"]
assert times == stats["tasks"] == 120 and mapped == 8 + 2 * 56 + 3 * 56, (times, mapped)
assert mapped == new + left + written + returned + present + empty + host == kept + home + sum(evicted) + overwritten + host
loads, came = totals["loads"], new + left + written + returned
assert home <= returned, (home, returned)
assert came <= loads and loads - came <= 0.2 * loads + 5, (came, loads) # some come ahead and leave unused
assert abs(moved - came * 4096 / 1e6) < .01 and sum(evicted) <= totals["evictions"], text
assert re.search(r"^  a\[0:size\] ", text, re.M), "no names of variables"
assert ("enter data, " in text) == (sys.argv[3] == "region"), text
CODE
    done
done

# A program is run, its own output and status stay; few constructs are told one by one, many as sums.
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}"
if [ -z "$sanitizer" ]; then # which must come first
    map -o "$work/account" --devices 2 "$E2E_BENCH/cholesky" 3 32 || fail "map cholesky: $(cat "$work/errors")"
    grep -q '^checksum ' "$work/map" || fail "map: the program's output is missing: $(cat "$work/map")"
    [ "$(grep -c ', task [0-9]* on ' "$work/account")" -eq 10 ] || fail "map: not 10 tasks: $(cat "$work/account")"
    map "$E2E_BENCH/cholesky" 8 32 || fail "map cholesky: $(cat "$work/errors")"
    grep -q '^all ' "$work/errors" || fail "map: no sums: $(cat "$work/errors")"
    map --trace "$work/own.json" "$E2E_BENCH/cholesky" 3 32
    [ $? -eq 2 ] || fail "map --trace: not refused: $(cat "$work/errors")"
    grep -q 'map: --trace: ' "$work/errors" || fail "map --trace: $(cat "$work/errors")"
    map --sums --from="$work/own.json" || fail "map of a trace that --trace wrote: $(cat "$work/errors")"
    map --sums --from "$work/own.json" || fail "map --from TRACE: $(cat "$work/errors")"
    map "$E2E_PROGRAMS/no_construct" || fail "map no_construct: $(cat "$work/errors")"
    grep -q 'no_construct: nothing was scheduled: ' "$work/errors" || fail "map: not why nothing is shown: $(cat "$work/errors")"
    map "$E2E_BENCH/cholesky" --no-such-option
    [ $? -eq "$("$E2E_BENCH/cholesky" --no-such-option >/dev/null 2>&1; echo $?)" ] || fail "map: not the program's status"
fi

# refuses TEXT ARGUMENT…
refuses() {
    local text=$1 status
    shift
    map "$@"
    status=$?
    [ $status -eq 2 ] || fail "map $*: exit code $status"
    grep -qF -- "$text" "$work/errors" || fail "map $*: no '$text', but: $(cat "$work/errors")"
}
refuses "map: no PROGRAM given" --each
refuses "map: a PROGRAM and a trace" --from=x ./program
refuses "option '--from' needs a value" --from
refuses "option '-o' needs a value" --sums -o
cp "$work/known.json" "$work/kept.json"
refuses "-o $work/./known.json would replace the trace" --from="$work/known.json" -o "$work/./known.json"
cmp "$work/known.json" "$work/kept.json" || fail "map -o: the trace is another one"
refuses "$work/nothing: No such file or directory" --from="$work/nothing"
refuses "unknown option '--shced'" --shced=eager "$E2E_BENCH/cholesky"
# A signal to the command is the program's, whose end is told as ever. Nothing is left behind.
if [ -z "$sanitizer" ]; then
    mkdir "$work/tmp"
    TMPDIR=$work/tmp "$E2E_COMMAND" map "$E2E_PROGRAMS/interrupted" killed >"$work/out" 2>"$work/errors" &
    mapping=$!
    until grep -qs ready "$work/out"; do sleep 0.05; done
    sleep 0.2
    kill -TERM $mapping
    wait $mapping 2>/dev/null
    [ $? -eq 143 ] || fail "map, SIGTERM: not the program's exit status"
    grep -q "enter data" "$work/errors" || fail "map, SIGTERM: no account: $(head -n 5 "$work/errors")"
    [ -z "$(ls "$work/tmp")" ] || fail "map, SIGTERM: left $(ls "$work/tmp")"
    ! grep -aqs "TMPDIR=$work/tmp" /proc/[0-9]*/environ || fail "map, SIGTERM: the program runs on"
fi
# A caller that ignores the ends of its children does not change exit codes.
printf '#!/bin/sh\nexit 5\n' >"$work/five.sh"
chmod +x "$work/five.sh"
python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$E2E_COMMAND" map "$work/five.sh" >"$work/out" 2>&1
[ $? -eq 5 ] || fail "map where SIGCHLD is ignored: not the program's exit status"
finish
