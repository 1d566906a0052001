#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program that uses GPUs and forks: CUDA does not follow into the child, which is told so where it offloads, and gets right
# results unscheduled; one that only ends, or executes another program, is told nothing. The parent goes on.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/forks
ulimit -c 0
# See forks.sh.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0:handle_abort=0 TSAN_OPTIONS=${TSAN_OPTIONS-}:die_after_fork=0:handle_abort=0
text="forked by one that uses GPUs, which the CUDA driver does not support"

# right WARNINGS [VAR=VALUE…] WHEN ACT
right() {
    local warnings=$1
    shift
    under 0 OMPDARTS_STATS=summary "${@:1:$#-2}" "$program" "${@: -2}"
    grep -qx right "$work/out" || fail "$ran: $(cat "$work/out")"
    [ "$(grep -c "$text" "$work/err")" -eq "$warnings" ] || fail "$ran: not $warnings warnings: $(cat "$work/err")"
    [ "$(grep -c ', seed ' "$work/err")" -eq 1 ] || fail "$ran: not one summary: $(cat "$work/err")"
    stats "stats.tasks >= 32" "stats.host_tasks == 0"
}

for act in exit _exit exec write; do
    right 0 after $act
    right 0 OMPDARTS_SEED=2 between $act
done
right 2 after offload # two children
right 2 OMPDARTS_COHERENCE=strict OMPDARTS_SCHED=eager after offload
right 2 OMPDARTS_MEM=24Ki after offload
right 0 inside exit
finish
