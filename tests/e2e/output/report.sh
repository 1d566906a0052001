#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: report.sh
#
# `ompdarts report` on traces of real runs: as text, as a page in a browser (skipped without Chromium), and on files that are cut
# off, damaged, or something else.
. "$(dirname "$0")/../common.sh"
tile_bytes=$((32 * 32 * 4))
# traced NAME VAR=VALUE… : a run's trace in $work/NAME.json
traced() {
    local name=$1
    shift
    under 0 OMPDARTS_TRACE="$work/$name.json" OMPDARTS_DEVICES=2 OMPDARTS_MEM=$((10 * tile_bytes)) "$@" \
        "$E2E_BENCH/cholesky" 8 32
    cp "$work/stats" "$work/$name.stats"
}
report() { "$E2E_COMMAND" report "$@" >"$work/report" 2>"$work/errors"; }
# tells TEXT… : each stands in the last report
tells() {
    local text
    for text in "$@"; do
        grep -qE -- "$text" "$work/report" || fail "no '$text' in the report: $(cat "$work/report")"
    done
}
# refuses CODE TEXT ARGUMENT…
refuses() {
    local code=$1 text=$2 status
    shift 2
    report "$@"
    status=$?
    [ $status -eq "$code" ] || fail "report $*: exit code $status, not $code"
    grep -qF -- "$text" "$work/errors" || fail "report $*: no '$text', but: $(cat "$work/errors")"
}

traced eager OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
traced darts OMPDARTS_SCHED=darts
traced dmdas OMPDARTS_SCHED=dmdas
traced mhfp OMPDARTS_SCHED=mhfp

# What of kernels that might run in slices.
for variant in stencil whole; do
    under 0 OMPDARTS_SLICE=4 OMPDARTS_TRACE="$work/$variant.json" "$E2E_PROGRAMS/slices" $variant
    report "$work/$variant.json" || fail "report: $(cat "$work/errors")"
    case $variant in
        stencil) # which is whole first, and in parts then: no device holds more than all of an array
            tells "^- kernel [^ ]+: 11 launches in 4 slices, 1 whole$" "^array in parts "
            ! grep -qE '\((100\.[1-9]|1[1-9][0-9]|[2-9][0-9]{2})' "$work/report" ||
                fail "more than all of an array: $(cat "$work/report")" ;;
        whole) tells "^- kernel [^ ]+: [0-9]+ launches, all whole; it is not just one distribute loop$" ;;
    esac
done

# Of an array in parts: no device held more of it than it had memory for, and something was held; what some kernels use is
# learnt. Host devices only.
if [ -z "${E2E_CUDA_DOUBLE-}" ]; then
    under 0 OMPDARTS_DEVICES=3 OMPDARTS_MEM=5M OMPDARTS_TRACE="$work/array.json" "$E2E_BENCH/cholesky" --style lapack --type double 6 256
    report "$work/array.json" || fail "report: $(cat "$work/errors")"
    python3 - "$work/stats" "$work/report" <<'CODE' || fail "arrays in parts: $(cat "$work/report")"
import json, re, sys

stats = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], encoding="utf-8").read()
rows = re.search(r"^array in parts .*\n(.*)$", text, re.M)[1].split()
mb, parts, faults, held = float(rows[1]), int(rows[2]), int(rows[3]), re.findall(r"[0-9.]+", " ".join(rows[5:]))
assert mb == 18.9 and parts > 10 and faults == stats["totals"]["faults"] > 0, rows
for device, mean, most in zip(stats["devices"], held[::2], held[1::2], strict=True):
    assert 0 <= float(mean) <= float(most) <= 100 * device["peak_bytes"] / (1536 * 1536 * 8) + 0.1, (rows, device)
assert sum(map(float, held[::2])) > 10, rows
states = {(f["name"].split("_")[1], f["argument"]): f["state"] for f in stats["footprints"]}
assert states.keys() == {(kernel, 2) for kernel in ("potrf", "trsm", "syrk", "gemm")} and "learnt" in states.values(), states
CODE
fi

# As text: the figures are those of the statistics.
report "$work/eager.json" "$work/darts.json" || fail "report: $(cat "$work/errors")"
tells "cholesky, eager \+ lru, seed 1: 120 tasks \(0 on the host\)" "cholesky, darts \+ luf, seed 1: 120 tasks" \
    "were loaded, [0-9.]+ times the 147 kB that must be loaded at least once"
tells "^comparison +time s +change +MB loaded +change +MB out +change +loads +change " "^[* ] .*/eager.json +[0-9.]+ +[0-9.]+ " \
    "^[* ] .*/darts.json +[0-9.]+ +[+-][0-9]+% +[0-9.]+ " "^- .*\.json is the fastest: [0-9.]+ times as fast as "
[ "$(grep -c '^[*] ' "$work/report")" -eq 1 ] || fail "not one winner: $(cat "$work/report")"
for name in eager darts dmdas mhfp; do
    report "$work/$name.json"
    python3 - "$work/$name.stats" "$work/report" <<'CODE' || fail "$name: not the figures of the statistics"
import json, sys

stats = json.load(open(sys.argv[1], encoding="utf-8"))
rows = [line.split() for line in open(sys.argv[2], encoding="utf-8") if line.startswith("device ") and line.split()[1].isdigit()]
for row, device in zip(rows, stats["devices"], strict=True):
    tasks, loads, reloads, evictions = int(row[2]), *(int(text) for text in row[14:17])
    wanted = [device[name] for name in ("tasks", "loads", "reloads", "evictions")]
    if [tasks, loads, reloads, evictions] != wanted or row[11] != f"{device['h2d_bytes'] / 1e6:.1f}":
        sys.exit(f"{row}: not {wanted}")
CODE
done

# The times of a device are all of the run: sums NAME
sums() {
    report "$work/$1.json" || fail "report $1: $(cat "$work/errors")"
    python3 - "$work/report" <<'CODE' || fail "$1: the shares of a row do not sum to 100: $(cat "$work/report")"
import re, sys

rows = [line.split() for line in open(sys.argv[1], encoding="utf-8") if re.match(r"(device [0-9.]+|host) ", line)]
for row in rows:
    shares = [float(text) for text in row[2 if row[0] == "host" else 3:][:8] if text != "-"]
    if len(shares) != (2 if row[0] == "host" else 8) or abs(sum(shares) - 100) > .45:
        sys.exit(f"{row}: {sum(shares)}")
sys.exit(not rows)
CODE
}
# traced_program NAME PROGRAM VAR=VALUE… : of a small program
traced_program() {
    local name=$1 program=$2
    shift 2
    under 0 OMPDARTS_TRACE="$work/$name.json" "$@" "$E2E_PROGRAMS/$program"
}
for name in eager darts dmdas mhfp; do sums $name; done
traced_program synchronous target_sync
sums synchronous
traced_program large too_large OMPDARTS_MEM=24Ki
sums large
tells '^host '
traced resting OMPDARTS_DEVICES=2:1
sums resting
tells 'device 1 stayed idle [0-9]+% of the time by choice: --devices has 1 active at a time'

# Findings name the cause: made traces say what happened.
# made NAME DEVICES PROCESSORS EVENT… : an event is a task's DEVICE FROM TO CREATED READY [synchronous|failed|DATUM], or stall DEVICE FROM TO CAUSE,
# or fault DEVICE FROM TO, or kernel SLICED SLICES EARLY WHOLE, or settings AT BEST
made() {
    python3 - "$work/$1.json" "${@:2}" <<'CODE'
import json, sys

path, devices, processors, *events = sys.argv[1:]
head = {"schema": 1, "version": "0", "program": "made", "policy": "darts", "eviction": "luf", "seed": 1, "devices": int(devices),
        "memory_bytes": 3000000}
if int(processors):
    head["processors"] = int(processors)
lines = [{"ph": "M", "pid": 1, "name": "ompdarts", "args": head}]
for number, event in enumerate(events):
    words = event.split()
    if words[0] == "stall":
        lines.append({"ph": "X", "pid": 2 + int(words[1]), "tid": 4, "ts": float(words[2]), "dur": float(words[3]) - float(words[2]),
                      "name": words[4], "cat": "stall"})
        continue
    if words[0] == "fault":
        lines.append({"ph": "X", "pid": 2 + int(words[1]), "tid": 5, "ts": float(words[2]), "dur": float(words[3]) - float(words[2]),
                      "name": "fault", "cat": "fault", "args": {"datum": "0x1", "size": 4096}})
        continue
    if words[0] == "settings":
        lines.append({"ph": "i", "pid": 1, "ts": float(words[1]), "s": "t", "name": "settings", "cat": "settings", "args": {
            "tasks": 9, "tried": 4, "adopted": 1, "best": words[2], "best_s": 2, "present": "darts+luf", "present_s": 3}})
        continue
    if words[0] == "kernel":
        names = ("sliced", "slices", "early", "whole")
        lines.append({"ph": "M", "pid": 1, "name": "kernel", "args": {"kernel": "step:7", **dict(zip(names, map(int, words[1:])))}})
        continue
    device, begin, end, created, ready = map(float, words[:5])
    args = {"task": number, "priority": 0, "created_us": created, "ready_us": ready, "buffered_us": ready,
            "started_us": ready if "late" in words else begin, "ended_us": end, "data": []}
    for word in ("synchronous", "failed"):
        if word in words:
            args[word] = True
    args["data"] = [[word, 14000000, "rw"] for word in words[5:] if word.startswith("0x")]
    lines.append({"ph": "X", "pid": 2 + int(device), "tid": 1, "ts": begin, "dur": end - begin, "name": "task", "cat": "task", "args": args})
with open(path, "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
CODE
    report "$work/$1.json" || fail "$1: $(cat "$work/errors")"
    sums "$1"
}
made one_by_one 4 0 "0 0 100 0 0 synchronous" "1 100 200 100 100 synchronous" "2 200 300 200 200 synchronous"
tells 'all 4 devices had no task for [0-9]+ to 100% of the time: your regions are not nowait \(3 of 3\)'
made slow_program 2 0 "0 0 100 0 0" "0 500 600 500 500"
tells 'both devices had no task for 67 to 100% of the time: the program had not created any'
made chain 2 0 "0 0 100 0 0 0x1" "0 100 200 0 100 0x1"
tells 'device 1 had no task for [0-9]+% of the time: all tasks waited for others'
made late 2 1 "0 0 100 0 0 0x1" "0 300 400 0 300 0x1"
tells "both devices had no task for 50% of the time: dependences were satisfied, but libomp's threads got no processor" \
    '2 host devices and the program share 1 processor:'
made late_start 2 1 "0 50 100 0 0 late" "1 50 100 0 0 late"
tells 'both devices had tasks for 50% of the time whose threads waited for a processor'
made small 2 0 "0 50 100 0 0 0x1" "0 150 200 0 0 0x1" "1 0 200 0 0" "stall 0 0 50 memory" "stall 0 100 150 memory"
tells 'device 0 waited 50% of the time for memory .*: its tasks use 14.0 MB of data, and it has memory for 3.0 MB'

made faulty 2 0 "0 0 100 0 0 0x1" "1 0 100 0 0 0x2" "fault 0 10 40" "fault 1 10 40"
tells 'kernels waited 0.000 s in all for 2 pages of arrays that their tasks do not name: name in depend clauses'
made early 2 0 "0 0 100 0 0 0x1" "1 0 100 0 0 0x2" "fault 0 10 40" "fault 1 10 40" "kernel 9 4 3 1"
tells 'kernels waited 0.000 s in all for 2 pages of arrays that their tasks do not name: slices learn by these' \
    '^- kernel step:7: 9 launches in 4 slices, 3 of them early, 1 whole$'
made chosen 1 0 "0 50000 400000 0 40000 0x1" "settings 90000 eager+lru" "settings 290000 lws+luf"
tells '^- auto, after 0.250 s, the last of 2 times, played 4 settings for 9 tasks and took lws\+luf: predicted 2.000 s, before 3.000 s$'

# As a page.
report "$work/eager.json" "$work/darts.json" -o "$work/report.html" || fail "report -o: $(cat "$work/errors")"
! grep -qE 'https?://[^"]*"[^>]*>' <(grep -v 'www.w3.org' "$work/report.html") || fail "the page points to the network"
report "$work/darts.json" -o - || fail "report -o -: $(cat "$work/errors")"
tells '^</html>'
cp "$work/report" "$work/one.html"
# in_browser PAGE WIDTH OPTION…
in_browser() {
    "$sources/checks/browse.sh" "$@"
    case $? in 0 | 77) ;; *) fail "in the browser: $*" ;; esac
}
in_browser "$work/report.html" 1000
in_browser "$work/report.html" 400 --blink-settings=preferredColorScheme=0
in_browser "$work/one.html" 1900

# page NAME OPTION… : of the trace of that name
page() {
    report "${@:2}" "$work/$1.json" -o "$work/$1.html" || fail "$1: $(cat "$work/errors")"
}
# has NAME TEXT : in its page
has() { grep -qF -- "$2" "$work/$1.html" || fail "$1: no '$2' in the page: $(tail -c 3000 "$work/$1.html" | head -c 500)"; }

# Zoomed out, each pixel is as strong as its share of the time.
python3 - "$work/sparse.json" <<'CODE'
import json, sys

lines = [{"ph": "M", "pid": 1, "name": "ompdarts", "args": {"schema": 1, "version": "0", "program": "sparse", "policy": "darts", "eviction": "luf",
                                                            "seed": 1, "devices": 1, "memory_bytes": 3000000}}]
for n in range(20000):
    lines.append({"ph": "X", "pid": 2, "tid": 1, "ts": 100 * n, "dur": 11, "name": "task", "cat": "task",
                  "args": {"task": n, "priority": 0, "created_us": 0, "ready_us": 100 * n, "data": []}})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
CODE
page sparse
[ "$(stat -c %s "$work/sparse.html")" -lt 300000 ] || fail "20000 tasks are $(stat -c %s "$work/sparse.html") bytes"
in_browser "$work/sparse.html" 1000

# Of more tasks than it shows one by one, neighbours are joined.
page sparse --spans=500
[ "$(stat -c %s "$work/sparse.html")" -lt 100000 ] || fail "20000 tasks as 500 spans are $(stat -c %s "$work/sparse.html") bytes"
in_browser "$work/sparse.html" 1000
page darts --spans=30
in_browser "$work/darts.html" 1000
refuses 2 "report: --spans many; allowed: 1 to 4294967295" --spans=many "$work/darts.json"

# The critical path follows depend clauses: chained NAME 'TIME TYPE:ITEM…'… : tasks one after the other
chained() {
    python3 - "$work/$1.json" "${@:2}" <<'CODE'
import json, sys

path, *tasks = sys.argv[1:]
lines = [{"ph": "M", "pid": 1, "name": "ompdarts", "args": {"schema": 1, "version": "0", "program": "made", "policy": "darts", "eviction": "luf",
                                                            "seed": 1, "devices": 1, "memory_bytes": 3000000}}]
at = 0
for number, task in enumerate(tasks):
    time, *items = task.split()
    depends = [[f"0x{item.split(':')[1]}", item.split(":")[0]] for item in items]
    args = {"task": number, "priority": 0, "created_us": 0, "ready_us": at, "data": []}
    if depends:
        args["depends"] = depends
    lines.append({"ph": "X", "pid": 2, "tid": 1, "ts": at, "dur": int(time), "name": "task", "cat": "task", "args": args})
    at += int(time)
with open(path, "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
CODE
    page "$1"
}
chained writers "10 out:1" "20 in:1" "40 in:1" "8 in:2" "5 inout:1" "1 in:1"
has writers '"path":{"n":4,"work":56.0'
chained together "10 out:1" "20 inoutset:1" "40 inoutset:1" "80 in:1" "3 in:1"
has together '"path":{"n":3,"work":130.0'
chained exclusive "10 out:1" "20 mutexinoutset:1" "40 mutexinoutset:1" "3 in:1"
has exclusive '"path":{"n":4,"work":73.0'
chained everything "10 out:1" "20 out:2" "1 all_memory:0" "2 in:3"
has everything '"path":{"n":3,"work":23.0'
# Of a real run: as long as what a look at all pairs of tasks finds.
page darts
python3 - "$work/darts.json" "$work/darts.html" <<'CODE' || fail "darts: the path is not as long as a look at all pairs finds"
import json, re, sys

tasks = [event for event in json.load(open(sys.argv[1], encoding="utf-8")) if event.get("cat") == "task"]
tasks.sort(key=lambda event: event["args"]["task"])
items = [dict(event["args"]["depends"]) for event in tasks]
longest = []
for i, event in enumerate(tasks):
    before = [longest[j] for j in range(i) if any(x in items[j] and (mode, items[j][x]) != ("in", "in") for x, mode in items[i].items())]
    longest.append(max(before, default=0) + event["dur"])
work = re.search(r'"path":{"n":[0-9]+,"work":([0-9.]+)', open(sys.argv[2], encoding="utf-8").read()).group(1)
if abs(float(work) - max(longest)) > 0.0501: # one decimal; the sums are rounded in another order
    sys.exit(f"{work}, not {max(longest)}")
CODE
chained unordered "10" "20"
has unordered '"path":{"n":0,"work":0.0'

# Tasks that run at once on one device, as in its slots.
made at_once 1 0 "0 0 100 0 0" "0 10 90 0 0 0x1" "0 20 120 0 0" "0 95 200 0 0 0x1" "0 100 150 0 0"
page at_once
in_browser "$work/at_once.html" 400

# Runs that failed are no kernels.
made failed 1 0 "0 0 1 0 0 failed" "0 1 2 0 0 failed" "0 2 3 0 0 failed" "0 10 30 0 0" "0 30 130 0 0"
! grep -q 'half of the tasks' "$work/report" || fail "failed runs are in the median: $(cat "$work/report")"
page failed
has failed '"kernels":[{"count":2,"loaded":0,"total":120.0,"longest":100.0,'

# A trace has 40 data of a task at most: what must be loaded is not known then.
made listed 1 0 "0 0 100 0 0 $(printf '0x%x ' {1..39})"
page listed
has listed '"leastIn":546000000,'
made too_many 1 0 "0 0 100 0 0 $(printf '0x%x ' {1..40})"
page too_many
has too_many '"leastIn":0,'

# On the host, and nothing at all, with a date that is none.
page large
in_browser "$work/large.html" 1000
head -n 2 "$work/sparse.json" | sed 's/},*$/}/; s/"seed"/"date": 99999999999999999, "seed"/' >"$work/empty.json"
echo "]" >>"$work/empty.json"
page empty
in_browser "$work/empty.html" 1000

# What is refused, and how.
refuses 2 "no TRACE given"
refuses 2 "unknown option '--outptu', did you mean '--output'?" --outptu x
refuses 2 "$work/nothing: No such file or directory" "$work/nothing"
refuses 2 "$work/eager.stats: statistics of a run (--stats), which know no single tasks; wanted is a trace: ompdarts run --trace" \
    "$work/eager.stats"
under 0 OMPDARTS_TRACE="$work/run.paje" OMPDARTS_RECORD="$work/run.graph" "$E2E_BENCH/cholesky" 4 32
refuses 2 "$work/run.paje: a trace for ViTE; wanted is one in JSON" "$work/run.paje"
refuses 2 "$work/run.graph: a recorded run (--record); \`ompdarts sim --graph" "$work/run.graph"
refuses 2 "$E2E_COMMAND: a program; \`ompdarts run --trace FILE.json PROGRAM\`" "$E2E_COMMAND"
refuses 2 "$work/empty.html: a page of \`ompdarts report\`" "$work/empty.html"
refuses 2 "$0: not a trace of ompdarts (line 1)" "$0"
mkfifo "$work/pipe"
printf "no trace" >"$work/pipe" &
refuses 2 "$work/pipe: not a trace of ompdarts (line 1)" "$work/pipe"
refuses 2 "/dev/null: empty" /dev/null
refuses 2 "Is a directory" "$work"
sed 's/"schema":1/"schema":2/' "$work/eager.json" >"$work/other.json"
refuses 2 "a trace of another version (line 2)" "$work/other.json"
refuses 1 "No such file or directory" "$work/eager.json" -o "$work/none/report.html"
refuses 1 "No space left on device" "$work/eager.json" -o /dev/full
head -c 30000 "$work/eager.json" >"$work/cut.json"
refuses 0 "$work/cut.json: the end is missing; what could be read is shown" "$work/cut.json"
tells "the end of the trace is missing: what follows covers the first"

# Cut anywhere, lines lost, doubled or in another order, bytes changed: a report or a refusal, never a crash.
python3 - "$E2E_COMMAND" "$work/darts.json" "$work/damaged.json" <<'CODE' || fail "a damaged trace"
import random, subprocess, sys

command, whole, damaged = sys.argv[1:]
text = open(whole, "rb").read()
lines = text.split(b"\n")
random.seed(1)


def damage(n):
    if n % 4 == 0:
        return text[:random.randrange(len(text))]
    if n % 4 == 1:
        bytes_ = bytearray(text)
        for _ in range(random.choice((1, 5, 100))):
            bytes_[random.randrange(len(bytes_) if n % 8 == 1 else 400)] = random.choice(b'{}[]",:0-9ex\x00\xff\n')
        return bytes(bytes_)
    if n % 4 == 2:
        chosen = [line for line in lines if random.random() < .9 for _ in range(random.choice((1, 1, 2)))]
        return b"\n".join(chosen)
    head, rest = lines[:2], lines[2:]
    random.shuffle(rest)
    return b"\n".join(head + rest)


codes = {}
for n in range(200):
    with open(damaged, "wb") as file:
        file.write(damage(n))
    for output in ([], ["-o", "-"]):
        done = subprocess.run([command, "report", damaged, *output], capture_output=True, timeout=60)
        codes[done.returncode] = codes.get(done.returncode, 0) + 1
        if done.returncode not in (0, 2) or (done.returncode and not done.stderr):
            sys.exit(f"damage {n}: exit code {done.returncode}, {done.stderr[-500:]!r}")
print("exit codes:", codes)
sys.exit(0 if codes.get(0, 0) > 100 and codes.get(2, 0) > 5 else 1)
CODE
finish
