#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: exit_inside.sh PLACE
#
# exit(7) from inside a task, while others are under way: that exit code, what was printed before is there, no crash and no
# hang, and the statistics are written. (Without the library such programs may crash: nobody waits for the other tasks.)
. "$(dirname "$0")/../common.sh"
place=$1
exits=1 # in what `stats` expects
memory=24Ki
[ "$place" = host_version ] && memory=80Ki # more than one tile, less than what the task wants

ended() {
    under 7 OMPDARTS_MEM=$memory "$@" "$E2E_PROGRAMS/exit_inside" "$place"
    grep -qx right "$work/out" || fail "$ran: what was printed before is lost"
    stats "stats.tasks >= 0"
}

for repeat in 1 2 3 4 5; do
    ended OMPDARTS_SCHED=darts
    ended OMPDARTS_SCHED=eager OMP_NUM_THREADS=1
    ended OMPDARTS_SEED=$repeat OMPDARTS_DEBUG=jitter=0.002
done
finish
