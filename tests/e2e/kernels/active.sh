#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Devices that rest (OMPDARTS_WORKING): results are right, those that rest run nothing, and on a narrow bus some are chosen to
# rest under any policy, which the trace tells.
. "$(dirname "$0")/../common.sh"

plain 0 "$E2E_BENCH/cholesky" 8 32
for policy in eager darts dmdas lws mhfp stationary; do
    for count in 1 2; do
        under 0 OMPDARTS_DEVICES=3 OMPDARTS_MEM_LIMIT=256Ki OMPDARTS_SCHED=$policy OMPDARTS_WORKING=$count "$E2E_BENCH/cholesky" 8 32
        same_checksum
        stats "sum(d.tasks > 0 for d in devices) <= $count"
    done
done

for policy in darts dmdas; do
    [ -z "${E2E_CUDA_DOUBLE-}" ] || continue # its copies are not slowed
    under 0 OMPDARTS_DEVICES=4 OMPDARTS_MEM_LIMIT=256Ki OMPDARTS_SCHED=$policy OMPDARTS_WORKING=auto \
        OMPDARTS_LINK_BANDWIDTH=1M OMPDARTS_TRACE="$work/trace.json" "$E2E_BENCH/cholesky" --style region 8 32
    same_checksum
    python3 "$sources/checks/check_trace.py" "$work/trace.json" "$work/stats" || fail "$ran: the trace"
    grep -q '"name":"rest"' "$work/trace.json" || fail "$ran: no device rests"
done
under 2 OMPDARTS_WORKING=0 "$E2E_BENCH/cholesky" 4 16
grep -q "OMPDARTS_WORKING=0.*policy, auto, all" "$work/err" || fail "$ran: no message"
finish
