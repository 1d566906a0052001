#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: slow_completion.sh SHIM
#
# Threads of the library may be inside of libomp, which completes a task, when the program comes to its end: the end waits for
# them, be it an exit() that comes while tasks are under way or the end of a program that has waited for all.
. "$(dirname "$0")/../common.sh"
preload=$preload:$1

for repeat in 1 2 3; do
    for place in host_task main host_branch; do # one thread: others of a team would be inside of libomp of their own accord
        under 7 OMPDARTS_MEM=24Ki OMPDARTS_SEED=$repeat OMP_NUM_THREADS=1 "$E2E_PROGRAMS/exit_inside" $place
        grep -qx right "$work/out" || fail "$ran: what was printed before is lost"
    done
    plain 0 "$E2E_PROGRAMS/target_nowait"
    under 0 OMPDARTS_SEED=$repeat "$E2E_PROGRAMS/target_nowait"
    same_output
    stats "stats.tasks > 0"
done
finish
