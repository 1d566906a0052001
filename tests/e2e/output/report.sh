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
    under 0 OMPDARTS_TRACE="$work/$name.json" OMPDARTS_DEVICES=2 OMPDARTS_MEM_LIMIT=$((10 * tile_bytes)) "$@" \
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

# As text: the figures are those of the statistics.
report "$work/eager.json" "$work/darts.json" || fail "report: $(cat "$work/errors")"
tells "cholesky, eager \+ lru, seed 1: 120 tasks \(0 on the host\)" "cholesky, darts \+ luf, seed 1: 120 tasks" \
    "came to the devices, [0-9.]+ times the 147 kB that must come at least once"
for name in eager darts dmdas mhfp; do
    report "$work/$name.json"
    python3 - "$work/$name.stats" "$work/report" <<'CODE' || fail "$name: not the figures of the statistics"
import json, sys

stats = json.load(open(sys.argv[1], encoding="utf-8"))
rows = [line.split() for line in open(sys.argv[2], encoding="utf-8") if line.startswith("device ") and line.split()[1].isdigit()]
for row, device in zip(rows, stats["devices"], strict=True):
    tasks, loads, reloads, evictions = int(row[2]), *(int(text) for text in row[11:14])
    wanted = [device[name] for name in ("tasks", "loads", "reloads", "evictions")]
    if [tasks, loads, reloads, evictions] != wanted or row[8] != f"{device['h2d_bytes'] / 1e6:.1f}":
        sys.exit(f"{row}: not {wanted}")
CODE
done

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
in_browser "$work/report.html" 1200
in_browser "$work/report.html" 600 --blink-settings=preferredColorScheme=0
in_browser "$work/one.html" 1200

# What is refused, and how.
refuses 2 "no TRACE given"
refuses 2 "unknown option '--outptu', did you mean '--output'?" --outptu x
refuses 2 "$work/nothing: No such file or directory" "$work/nothing"
refuses 2 "$work/eager.stats: not a trace of ompdarts (line 1)" "$work/eager.stats"
refuses 2 "$E2E_COMMAND: not a trace of ompdarts (line 1)" "$E2E_COMMAND"
refuses 2 "/dev/null: empty" /dev/null
refuses 2 "Is a directory" "$work"
sed 's/"schema":1/"schema":2/' "$work/eager.json" >"$work/other.json"
refuses 2 "a trace of another version (line 2)" "$work/other.json"
refuses 1 "No such file or directory" "$work/eager.json" -o "$work/none/report.html"
refuses 1 "No space left on device" "$work/eager.json" -o /dev/full
head -c 30000 "$work/eager.json" >"$work/cut.json"
refuses 0 "$work/cut.json: the end is missing; what could be read is shown" "$work/cut.json"
tells "the end of the trace is missing: what follows is about the first"

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
