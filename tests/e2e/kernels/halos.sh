#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: halos.sh PROGRAM HALOS MEMORY STEPS STEPS_OPTION ARGUMENT…
#
# One of examples/programs whose kernels are synchronous, in four slices on four devices with MEMORY each, a third of what it
# uses: right, to the last bit, all devices take part, and what a step moves once the first ones have shown what slices use
# is at most 1.3 times HALOS bytes, which slices need of each other. What the first steps move differs from run to run: the
# least of some runs counts, over STEPS steps; on a busy machine it takes more of them.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }
program=$E2E_EXAMPLES/$1 halos=$2 memory=$3 steps=$4 option=$5
shift 5
few=10 runs=3 most_runs=12 little=16384 # bytes a step that are not looked at

moved_in() { # STEPS ENOUGH ARGUMENT…: sets $least, to at most ENOUGH where it can
    local steps=$1 enough=$2 moved
    shift 2
    least=
    plain 0 "$program" "$@" "$option" "$steps"
    for ((run = 0; run < runs || (run < most_runs && least > enough); run++)); do
        under 0 OMPDARTS_SLICE=4 OMPDARTS_DEVICES=4 OMPDARTS_MEM="$memory" OMPDARTS_SEED=$run "$program" "$@" "$option" "$steps"
        same_checksum
        stats "all(k.sliced == $steps - 1 for k in stats.kernels)" "all(d.tasks >= $steps - 1 for d in devices)" \
            "totals.peak_bytes <= totals.limit_bytes"
        moved=$(value "sum(d.h2d_bytes + d.d2h_bytes + d.d2d_bytes + d.fault_bytes for d in devices)")
        [ -n "$least" ] && [ "$least" -lt "$moved" ] || least=$moved
    done
}

most=$((13 * halos / 10 + little)) # of a step
moved_in $few $((1 << 62)) "$@"
before=$least
moved_in $((few + steps)) $((before + steps * most)) "$@"
each=$(((least - before) / steps))
echo "$each bytes a step, $halos are halos"
[ "$each" -le $most ] || fail "more than 1.3 times the halos are moved"
finish
