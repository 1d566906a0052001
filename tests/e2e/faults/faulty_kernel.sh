#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: faulty_kernel.sh LIBFAULTY
#
# Kernels that fail on the device fall back to their host versions, with right results: each fifth, each second, all.
. "$(dirname "$0")/../common.sh"
preload=$preload:$1
tile_bytes=$((32 * 32 * 4))

for every in 5 2 1; do
    for program in cholesky lu gemm3d; do
        for style in task region; do
            plain 0 "$E2E_BENCH/$program" --style $style 6 32
            for memory in auto $((8 * tile_bytes)); do
                under 0 FAULTY_EVERY=$every OMPDARTS_MEM=$memory "$E2E_BENCH/$program" --style $style 6 32
                same_checksum
                stats "stats.host_tasks == stats.tasks // $every" "stats.tasks == totals.tasks + totals.host_tasks"
            done
        done
    done
    for program in target_sync host_task_between update_section learnt_host_task; do
        plain 0 "$E2E_PROGRAMS/$program"
        under 0 FAULTY_EVERY=$every "$E2E_PROGRAMS/$program"
        same_output
        stats "stats.host_tasks >= $((every == 1))"
    done
    for program in array_by_name array_in_parts; do # parts of arrays larger than the memory, by names and by sections
        plain 0 "$E2E_PROGRAMS/$program"
        for devices in 1 4; do
            under 0 FAULTY_EVERY=$every OMPDARTS_MEM=800Ki OMPDARTS_DEVICES=$devices "$E2E_PROGRAMS/$program"
            same_output
            stats "stats.host_tasks >= 1" "stats.tasks == totals.tasks + stats.host_tasks"
        done
    done
    plain 0 "$E2E_BENCH/sync" --loops 20 1000
    under 0 FAULTY_EVERY=$every "$E2E_BENCH/sync" --loops 20 1000
    same_checksum
done
# What must not fall back stops.
"$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 FAULTY_EVERY=5 OMP_TARGET_OFFLOAD=mandatory \
    "$E2E_BENCH/cholesky" 6 32 >"$work/out" 2>"$work/err" && fail "OMP_TARGET_OFFLOAD=mandatory: was not stopped"
ran="OMP_TARGET_OFFLOAD=mandatory, faulty kernels"
says mandatory
finish
