#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: trace_parser.sh NODE_MODULES
#
# Traces of the library, of the simulator and of a run with host tasks, read by a parser of the format that is not ours (parse_trace.js).
# Skipped where node or the packages are missing: scripts/test.sh fetches them.
. "$(dirname "$0")/../common.sh"
modules=$1
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
[ -d "$modules/@tracerbench/trace-model" ] && [ -d "$modules/ajv" ] || { echo "skipped: no parser in $modules (scripts/test.sh)"; exit 77; }
schema=$sources/../../docs/trace-schema.json
tile_bytes=$((32 * 32 * 4))

n=0
for settings in SCHED=auto SCHED=darts "SCHED=eager EVICT=lru" "SCHED=mhfp EVICT=belady" SCHED=lws "SCHED=dmdas MEM=$((2 * tile_bytes))"; do
    n=$((n + 1))
    plain 0 "$E2E_BENCH/lu" 7 32
    # shellcheck disable=SC2046 # words
    under 0 OMPDARTS_DEVICES=3 OMPDARTS_MEM=$((12 * tile_bytes)) $(printf 'OMPDARTS_%s ' $settings) \
        OMPDARTS_TRACE="$work/$n.json" "$E2E_BENCH/lu" 7 32
    same_checksum
done
if "$E2E_COMMAND" sim --help >/dev/null 2>&1; then
    "$E2E_COMMAND" sim --quiet --workload cholesky:n=8 --devices 2 --mem 200Mi --trace "$work/sim.json" >"$work/out" 2>&1 ||
        fail "sim: $(cat "$work/out")"
fi
grep -q '"ph":"X","pid":1,.*"cat":"task"' "$work/6.json" || fail "no task ran on the host"
! [ -s "$work/sim.json" ] || grep -q '"command":"ompdarts sim --quiet --workload cholesky:n=8' "$work/sim.json" || fail "sim: no command"
! [ -s "$work/sim.json" ] || grep -q '"depends":\[\["0x[0-9a-f]*","inout"\]' "$work/sim.json" || fail "sim: no dependences"
node "$sources/checks/parse_trace.js" "$modules" "$schema" "$work"/[0-9].json $(ls "$work/sim.json" 2>/dev/null) >"$work/parsed" 2>&1 ||
    fail "$(cat "$work/parsed")"
cat "$work/parsed"
# It sees what is wrong: a span that begins inside the one before.
python3 - "$work/1.json" "$work/overlap.json" <<'CODE'
import json, sys

events = json.load(open(sys.argv[1], encoding="utf-8"))
span = max((e for e in events if e.get("cat") == "task"), key=lambda e: e["dur"])
events.append({**span, "ts": span["ts"] + span["dur"] / 4, "dur": span["dur"] / 4})
json.dump(events, open(sys.argv[2], "w", encoding="utf-8"))
CODE
node "$sources/checks/parse_trace.js" "$modules" "$schema" "$work/overlap.json" >"$work/parsed" 2>&1 && fail "a span in a span goes unseen"
grep -q ' lies in ' "$work/parsed" || fail "a span in a span: $(cat "$work/parsed")"
finish
