#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Idle devices (OMPDARTS_DEVICES=WHICH:ACTIVE): results are right, idle ones run nothing, and on a narrow bus some are chosen to
# be idle under any policy, which the trace tells.
. "$(dirname "$0")/../common.sh"

plain 0 "$E2E_BENCH/cholesky" 8 32
for policy in eager darts dmdas lws mhfp stationary; do
    for count in 1 2; do
        under 0 OMPDARTS_DEVICES=3:$count OMPDARTS_MEM=256Ki OMPDARTS_SCHED=$policy "$E2E_BENCH/cholesky" 8 32
        same_checksum
        stats "sum(d.tasks > 0 for d in devices) <= $count"
    done
done

for policy in darts dmdas; do
    [ -z "${E2E_CUDA_DOUBLE-}" ] || continue # its copies are not slowed
    under 0 OMPDARTS_DEVICES=4:auto OMPDARTS_MEM=256Ki OMPDARTS_SCHED=$policy \
        OMPDARTS_BACKEND=omptarget:link=1M OMPDARTS_TRACE="$work/trace.json" "$E2E_BENCH/cholesky" --style region 8 32
    same_checksum
    python3 "$sources/checks/check_trace.py" "$work/trace.json" "$work/stats" || fail "$ran: the trace"
    grep -q '"name":"idle"' "$work/trace.json" || fail "$ran: no device is idle"
done
under 2 OMPDARTS_DEVICES=all:0 "$E2E_BENCH/cholesky" 4 16
grep -q "OMPDARTS_DEVICES=all:0.*policy, auto, all" "$work/err" || fail "$ran: no message"
finish
