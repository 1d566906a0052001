#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# programs/slices_variables.cpp with OMPDARTS_SLICE: the same results, and kernels whose teams only read the variables that
# they share are in slices. So is one whose teams begin to write to them after launches in slices: tickets are unique.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/slices_variables
plain 0 "$program"
grep -qx right "$work/plain" || fail "wrong without the library"

both() {
    under 0 "$@" "$program"
    same_output
}

of() { # NAME CONDITION: of the kernel
    stats "all($2 for k in stats.kernels if '$1' in k.name)" "any('$1' in k.name for k in stats.kernels)"
}

both OMPDARTS_SLICE=4
for name in triad weigh look_up divide; do
    of $name "k.sliced == 11 and k.slices == 4"
done
of "take_tickets(" "k.sliced == 0 and 'teams that share a variable' in k.reason"
of take_tickets_late "k.sliced >= 5"
both OMPDARTS_SLICE=auto
both OMPDARTS_SLICE=7 OMPDARTS_DEVICES=3 OMP_NUM_THREADS=6
both OMPDARTS_SLICE=4 OMPDARTS_CPU=2 OMPDARTS_SCHED=eager
for seed in 1 2 3; do
    both OMPDARTS_SLICE=5 OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.002
done
both OMPDARTS_SLICE=4 OMPDARTS_MEM=2M
finish
