#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: halos.sh PROGRAM HALOS MEMORY STEPS STEPS_OPTION ARGUMENT…
#
# One of examples/programs whose kernels are synchronous, in four slices on four devices with MEMORY each, a third of what it
# uses: right, to the last bit, all devices take part, and what one of STEPS steps moves once the first ones have shown what
# slices use is at most 1.3 times HALOS bytes, which slices need of each other. What the first steps move differs from run to
# run, so they are told from the others by the trace.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }
program=$E2E_EXAMPLES/$1 halos=$2 memory=$3 steps=$4 option=$5
shift 5
first=10 little=16384 # steps; bytes a step that are not looked at

plain 0 "$program" "$@" "$option" $((first + steps + 1))
under 0 OMPDARTS_SLICE=4 OMPDARTS_DEVICES=4 OMPDARTS_MEM="$memory" OMPDARTS_TRACE="$work/trace" "$program" "$@" "$option" \
    $((first + steps + 1))
same_checksum
stats "all(k.sliced >= $first + $steps for k in stats.kernels)" "all(d.tasks >= $first + $steps for d in devices)" \
    "totals.peak_bytes <= totals.limit_bytes"

# Of the steps between the first ones and the last one, after which the results come home. A fault is as long as its part.
moved=$(python3 - "$work/trace" $first "$steps" <<'END'
import json
import sys

trace, first, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
events = [e for e in json.load(open(trace)) if e["ph"] == "X"]
starts = [e["ts"] for e in sorted((e for e in events if e.get("cat") == "task"), key=lambda e: e["args"]["task"])]
begin, end = (starts[len(starts) * step // (first + steps + 1)] for step in (first, first + steps))
during = [e for e in events if begin <= e["ts"] < end]
transfers = sum(e["args"]["bytes"] for e in during if e["cat"] == "transfer")
faults = sum(e["args"]["size"] for e in during if e["cat"] == "fault")
print(transfers, faults, (transfers + faults) // steps)
END
)
read -r transfers faults each <<<"$moved"
echo "$each bytes a step ($transfers by transfers and $faults by page faults in $steps steps), $halos are halos"
[ "$each" -le $((13 * halos / 10 + little)) ] || fail "more than 1.3 times the halos are moved"
finish
