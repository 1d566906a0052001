#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: ompt.sh TOOL
#
# A tool is told the same events, from the same places of the program, with the library as without it: those that exist with it. None
# comes from the library's code, and no data operation is outside of a target region.
. "$(dirname "$0")/../common.sh"
[ -z "$sanitizer" ] || { echo "skipped: the sanitizer has a tool of its own"; exit 77; }
tool=$1
program=$E2E_PROGRAMS/ompt_events
# Debian's libomptarget reports target events only where it finds a libomp.so by that name, as in LLVM's own folder.
export OMP_NUM_THREADS=3 LD_LIBRARY_PATH=$E2E_LLVM_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# The tool's lines: each event and place once. Where a critical section ends, libomp takes the place away that the first
# thread has noted for another event.
seen() {
    local events='parallel|task|sync|wait|target|submit|data'
    [[ $2 != lock* ]] || events=mutex
    grep -E "^($events)" "$1" | sort -u
}

for emi in "" OMPT_TOOL_EMI=1; do
    for what in host target tasks locks locked; do
        plain 0 $emi OMP_TOOL_LIBRARIES="$tool" "$program" $what
        seen "$work/plain" $what >"$work/stock"
        [ "$(wc -l <"$work/stock")" -ge 4 ] || fail "without the library the tool sees nothing: $what"
        for settings in OMPDARTS_SCHED=darts OMPDARTS_DISABLE=1; do
            under 0 $emi $settings OMP_TOOL_LIBRARIES="$tool" "$program" $what
            seen "$work/out" $what >"$work/ours"
            ! grep libompdarts "$work/ours" || fail "$ran: events from the library's code"
            [ $settings = OMPDARTS_DISABLE=1 ] || ! grep 'outside of' "$work/ours" || fail "$ran: operations of no construct"
            # Operations are the scheduler's, each in a target update of its own, which comes from nowhere, as do tasks in which a
            # thread at a barrier looks for others.
            others='strange$|^data_op|^target_(begin|end) 4 nowhere$|^mutex_released 5|^task_create 0 nowhere$'
            diff <(grep -vE "$others" "$work/stock") <(grep -vE "$others" "$work/ours") ||
                fail "$ran: other events than without the library ($emi)"
        done
    done
done
under 0 LD_PRELOAD="$preload:$tool" "$program" host
grep -q '^parallel_begin' "$work/out" || fail "a preloaded tool is not found"
finish
