#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: command.sh OMPDARTS
#
# `ompdarts analyze` from the outside: help, refusals, table, JSON, pictures, graphs that are written; the linear program,
# where glpsol is there, has the same optimum.
subcommand=analyze
source "$(dirname "$0")/../subcommand.sh"

analyze() { "$ompdarts" analyze "$@"; }

analyze --help | grep -q 'Kinds of made-up graphs:' || fail "--help"
refused 'no FILE given'
refused 'more than one graph' a b
refused 'more than one graph' a --generate=tree:5
refused 'No such file' "$work/nothing"
refused 'Is a directory' "$work"
refused "unknown model 'resident1'" --model=resident1 a
refused "did you mean 'min-levels'" --rule=min-level a
refused 'not a size' --bound=0 a
refused 'not a size' --bound=2E a
refused 'not KIND:TASKS' --generate=bush:7
refused "unknown workload" --workload=bush
printf 'ompdarts-graph 3\nrun devices=1 mem' >"$work/cut.graph"
refused 'cut.graph: ' "$work/cut.graph"
refused 'one task alone needs 150 MB, 50008192 bytes more' --bound=100M "$data/small.dag"
refused 'one processor needs 2.03 MB in the best order' --generate=ligo:40:3 --model=replace --bound=2.01M
printf 'ompdarts-dag 1\ntask a 1\ntask b 1\norder a b\norder b a\n' >"$work/cycle"
refused 'a cycle of 2 tasks: ' "$work/cycle"

for format in small.dag small.dot wfcommons-1.5.json wfcommons-1.3.json ../../sim/data/cholesky.graph; do
    analyze "$data/$format" >"$work/out" || fail "$format"
    grep -q '^any number of processors: at most' "$work/out" || fail "$format: $(cat "$work/out")"
    analyze <(cat "$data/$format") >"$work/piped" && diff <(sed 1d "$work/out") <(sed 1d "$work/piped") || fail "$format through a pipe"
    analyze - <"$data/$format" >"$work/piped" && diff <(sed 1d "$work/out") <(sed 1d "$work/piped") || fail "$format on standard input"
done
analyze --workload=lu:n=4 --model=replace | grep -q 'model: replace' || fail "--workload"
analyze - <"$data/small.dag" >"$work/out" || fail "standard input"

options=(--model=replace --bound=3M --svg="$work/p" --json="$work/ligo.json" --write="$work/ligo.dag" --lp="$work/ligo.lp")
analyze --generate=ligo:40:3 "${options[@]}" >"$work/table" || fail "ligo"
for picture in memory cut; do
    python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$work/p-$picture.svg" || fail "$picture.svg"
    grep -q 'nan\|inf"' "$work/p-$picture.svg" && fail "$picture.svg has numbers that are none"
done
# Names in UTF-8 are cut between characters; bytes of other encodings are none.
printf 'ompdarts-dag 1\ntask Zerlegungsnäherung 1\ntask \xe4 1\ntask \xed\xa0\x80<\xf0\x9f\x98\x80\xe2\x82 1\n' >"$work/names"
analyze "$work/names" --svg="$work/names" >/dev/null || fail "names in UTF-8"
python3 - "$work/names-cut.svg" <<'PY' || fail "names in UTF-8: $(grep text "$work/names-cut.svg")"
import sys, xml.dom.minidom as m
names = [text.firstChild.data for text in m.parse(sys.argv[1]).getElementsByTagName("text")]
assert names[1:] == ["Zerlegungsnäher", "?", "???<😀??"], names
PY
# What was written keeps the bound.
analyze "$work/ligo.dag" --model=replace --json="$work/after.json" >/dev/null || fail "the graph that was written"
python3 - "$work" <<'PY' || fail "JSON"
import json, sys
work = sys.argv[1]
before, after = json.load(open(work + "/ligo.json")), json.load(open(work + "/after.json"))
kept = [r for r in before["serialised"]["rules"] if r["kept"]]
best = min(kept, key=lambda r: r["critical_path_s"])
assert {r["rule"] for r in kept} >= {"respect-order"} and len(before["serialised"]["rules"]) == 4
assert after["maximum_cut"]["bound_bytes"] == best["peak_bytes"] <= 3000000 < before["maximum_cut"]["bound_bytes"]
assert abs(after["critical_path_s"] - best["critical_path_s"]) < 1e-6 and best["critical_path_s"] >= before["critical_path_s"]
assert after["precedences"] == before["precedences"] + len(best["added"])
peaks = {o["name"]: o.get("peak_bytes") for o in before["orders"]}
assert before["optimal"] and before["best_order"] == "series-parallel" and peaks["liu"] is None
assert peaks["series-parallel"] <= min(peaks["depth-first"], peaks["breadth-first"])
PY
analyze --generate=ligo:40:3 --write="$work/ligo.dot" >/dev/null && analyze "$work/ligo.dot" >/dev/null || fail "DOT"
analyze --generate=ligo:40:3 --json=- | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "JSON on standard output"
if command -v glpsol >/dev/null; then
    glpsol --lp "$work/ligo.lp" --output "$work/solution" >/dev/null || fail "glpsol"
    optimum=$(awk '$1 == "Objective:" { printf "%.0f", $4 }' "$work/solution")
    grep -q "\"bound_bytes\":.*$(printf %.0f "$optimum")" "$work/ligo.json" || fail "glpsol's optimum is $optimum"
fi
if "$ompdarts" sim --help >/dev/null 2>&1; then
    analyze --workload=cholesky:n=8 --sched=darts,eager --devices=2 --json="$work/sim.json" >"$work/out" || fail "--sched"
    [[ $(grep -c 'evicts 0 data' "$work/out") == 2 ]] || fail "a device with its own peak evicts: $(cat "$work/out")"
    python3 - "$work" <<'PY' || fail "JSON of policies"
import json, sys
for policy in json.load(open(sys.argv[1] + "/sim.json"))["policies"]:
    full, peak, half = policy["runs"]
    moved = lambda run: run["h2d_bytes"] + run["d2h_bytes"] + run["d2d_bytes"]
    assert peak["memory_bytes"] == full["peak_bytes"] <= full["memory_bytes"] and half["memory_bytes"] == full["peak_bytes"] // 2
    assert moved(half) > moved(full) and half["evictions"] > 0 and half["makespan_s"] >= full["makespan_s"]
PY
    refused 'sched=nix: unknown name' --workload=cholesky:n=4 --sched=nix
    long=plugin:/$(printf %0256d 0)
    refused 'sched: a policy of more than 255 bytes' --workload=cholesky:n=4 --sched="$long"
    refused 'sched: a policy of more than 255 bytes' --workload=cholesky:n=4 --sched="eager,${long//0/00000000000000000000}"
    refused "${long:0:200}" --workload=cholesky:n=4 --sched="${long:0:200}"
    refused 'neither a recorded run nor a workload' "$data/small.dag" --sched=darts
fi
analyze --generate=tree:120 --bound=20M >"$work/out" || fail "a large tree"
analyze --generate=tree:3001 --bound=1G | grep -q 'left out: too many tasks' || fail "a tree that is too large"
refused 'no precedences for --bound: more than 3000 tasks' --generate=tree:3001 --bound=1G --write="$work/none"
refused 'no rule keeps 2.2 MB' --generate=ligo:40:3 --model=replace --bound=2.2M --rule=min-levels --write="$work/none"
[[ ! -e "$work/none" ]] || fail "a graph is written that does not keep the bound"
analyze --generate=tree:50 --json=/dev/full >/dev/null 2>&1 && fail "a full disk goes unnoticed"
exit 0
