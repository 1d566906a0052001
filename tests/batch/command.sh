#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: command.sh OMPDARTS
#
# `ompdarts batch` from the outside: help, refusals, table, CSV, JSON, pictures; the same input gives the same bytes.
subcommand=batch
source "$(dirname "$0")/../subcommand.sh"

batch() { "$ompdarts" batch "$@"; }

nodes=--nodes=2:20:128:0.1
batch --help | grep -q 'Schedulers:' || fail "--help"
for name in fcfs eft lea leo lem price; do batch --help | grep -q "^  $name " || fail "--help does not name $name"; done
refused 'no LOG given' $nodes
refused 'no --nodes given' "$data/small.csv"
refused 'more than one LOG' $nodes a b
refused "did you mean 'lem'" $nodes --sched=lemm "$data/small.csv"
refused 'No such file' $nodes "$work/nothing"
refused 'line 1: not N:CORES' --nodes=2:20 "$data/small.csv"
refused 'line 2: no node has 8 cores' --nodes=2:4:128:0.1 "$data/small.csv"
refused 'not a number' $nodes --weight=much "$data/small.csv"
refused 'not FROM:TO' $nodes --window=5:4 "$data/small.csv"
(cat "$data/small.csv"; printf "61,9999,300,5") >"$work/cut.csv"
refused "line 62: 4 fields and not 8" $nodes "$work/cut.csv"

all=(--sched=all --jobs="$work/jobs.csv" --sessions="$work/sessions.csv" --json="$work/batch.json" --svg="$work/p")
batch $nodes "${all[@]}" "$data/small.csv" >"$work/table1" || fail "all schedulers"
cp "$work/jobs.csv" "$work/jobs1.csv"
batch $nodes "${all[@]}" --whole "$data/small.csv" >"$work/table2" || fail "whole plans"
cmp "$work/table1" "$work/table2" && cmp "$work/jobs.csv" "$work/jobs1.csv" || fail "whole plans are other plans"
[[ $(wc -l <"$work/table1") == 14 ]] || fail "the table has not 12 schedulers: $(cat "$work/table1")"
[[ $(wc -l <"$work/jobs.csv") == 721 ]] || fail "not 12 times 60 jobs"
python3 - "$work" <<'PY' || fail "JSON, sessions and jobs disagree"
import csv, json, sys
work = sys.argv[1]
schedules = json.load(open(work + "/batch.json"))["schedules"]
assert len(schedules) == 12 and schedules[0]["name"] == "fcfs"
for s in schedules:
    jobs = [j for j in csv.DictReader(open(work + "/jobs.csv")) if j["scheduler"] == s["name"]]
    sessions = [x for x in csv.DictReader(open(work + "/sessions.csv")) if x["scheduler"] == s["name"]]
    total = sum(float(j["stretch"]) for j in jobs)
    assert abs(total / 60 - s["mean_stretch"]) < 1e-3
    assert abs(sum(float(x["stretch"]) for x in sessions) - total) < 1e-2
    assert sum(float(j["load_wait_s"]) for j in jobs) - s["load_wait_s"] < 1e-3
    changed = sum(abs(float(x["improvement"]) - 1) > 0.01 for x in sessions)
    assert changed == s["improvement"]["changed"] and len(sessions) == s["improvement"]["sessions"]
PY
for picture in improvement sessions use-fcfs use-lea-bf; do
    python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$work/p-$picture.svg" || fail "$picture.svg"
    grep -q nan "$work/p-$picture.svg" && fail "$picture.svg has numbers that are none"
done
batch $nodes - <"$data/small.swf" | grep -q '^fcfs' || fail "SWF from standard input"
(cat "$data/small.csv" | sed 1d | shuf --random-source=<(yes); ) >"$work/rest"
(head -1 "$data/small.csv"; cat "$work/rest") >"$work/shuffled.csv"
batch $nodes "$work/shuffled.csv" >"$work/out" || fail "an unsorted log"
refused 'not JOBS:LOAD' $nodes --generate=5
batch $nodes --generate=300:2:50:7 >"$work/made1" && batch $nodes --generate=300:2:50:7 >"$work/made2" || fail "--generate"
cmp "$work/made1" "$work/made2" || fail "the same seed, another log"
[[ $(wc -l <"$work/made1") == 301 ]] || fail "not 300 jobs"
odd=--nodes=10:20:187.23456:0.1
batch $odd --generate=1000:0.7 | batch $odd - >/dev/null || fail "files of a made-up log do not fit the nodes it is for"
batch $nodes --generate=300:0.1:50:7 >"$work/idle"
stretch() { batch $nodes "$1" | awk '$1 == "fcfs" { print $2 }'; }
awk -v a="$(stretch "$work/made1")" -v b="$(stretch "$work/idle")" 'BEGIN { exit !(a > 2 * b) }' || fail "saturated jobs do not wait"
batch $nodes --jobs=/dev/full "$data/small.csv" >/dev/null 2>&1 && fail "a full disk goes unnoticed"
exit 0
