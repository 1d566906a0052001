#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tasks larger than a device's memory: one such task runs on the host, with one message; OMP_TARGET_OFFLOAD=mandatory stops
# the program instead.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/too_large

plain 0 "$program"
under 0 OMPDARTS_MEM=24Ki "$program"
same_output
stats "stats.host_tasks == 1" "stats.tasks == 6"
says "run on the host"
[ "$(grep -c 'run on the host' "$work/err")" -eq 1 ] || fail "not one message: $(cat "$work/err")"
under 0 OMPDARTS_MEM=32Ki "$program"
same_output
stats "stats.host_tasks == 0"
for settings in OMPDARTS_SCHED=eager OMPDARTS_COHERENCE=strict OMPDARTS_DEBUG=jitter=0.002; do
    under 0 OMPDARTS_MEM=24Ki $settings "$program"
    same_output
    stats "stats.host_tasks == 1"
done

# Not even the first array fits, and there has been output: nothing is refused, and that is said once.
for variant in task sync region enter_nowait; do
    plain 0 "$E2E_PROGRAMS/less_than_one_array" $variant
    under 0 OMPDARTS_MEM=4Ki "$E2E_PROGRAMS/less_than_one_array" $variant
    same_output
    stats "stats.host_tasks == stats.tasks"
    [ "$(grep -c '^ompdarts: ' "$work/err")" -eq 1 ] || fail "$ran: not one message: $(cat "$work/err")"
done

ran="OMP_TARGET_OFFLOAD=mandatory $program"
"$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 OMPDARTS_MEM=24Ki OMP_TARGET_OFFLOAD=mandatory \
    "$program" >"$work/out" 2>"$work/err" && fail "$ran: was not stopped"
says "mandatory"
grep -q "end of main" "$work/out" && fail "$ran: went on"

finish
