#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Host tasks with depend that come after no target task are left to libomp: of 10,000 in a chain beside ten target tasks
# (programs/host_tasks_beside.c) next to none is recorded, in any team. Where somebody wants to see the whole graph, all
# are. Two addresses may have the same hash, in one run of a thousand: then they are recorded for a while.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/host_tasks_beside

# left [VAR=VALUE…] : how many host tasks were recorded, how many left to libomp, how many tasks of lone threads were given
# to libomp as they are
left() {
    under 0 OMPDARTS_LOG=info "$@" "$program" chain
    read -r recorded others uncounted < <(sed -nE \
        's/.*with depend ([0-9]+) recorded, ([0-9]+) left to libomp; ([0-9]+) tasks of lone.*/\1 \2 \3/p' "$work/err")
}

for threads in 1 2 8; do
    for attempt in 1 2 3; do
        left OMP_NUM_THREADS=$threads
        [ $((recorded + others)) -eq 10001 ] || fail "$threads threads: $recorded recorded, $others left to libomp, of 10001"
        [ "$recorded" -gt 100 ] || break
    done
    [ "$recorded" -le 100 ] || fail "$threads threads: $recorded host tasks were recorded"
    [ "$threads" -eq 1 ] || [ "$uncounted" -eq 0 ] || fail "$threads threads: $uncounted tasks of a thread that is alone"
done
left OMPDARTS_RECORD="$work/graph"
[ "$recorded $others" = "10001 0" ] || fail "in a recording: $recorded recorded, $others left to libomp"
left OMPDARTS_COHERENCE=depend
[ "$recorded $others" = "10001 0" ] || fail "coherence depend: $recorded recorded, $others left to libomp"
finish
