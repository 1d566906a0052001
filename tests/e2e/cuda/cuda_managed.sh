#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cuda_managed.sh
#
# Arrays given whole in managed memory (OMPDARTS_BACKEND=cuda:managed): right whatever kernels touch of them, with results as
# without the library; on all devices, within their memory; prefetched and advised on.
. "$(dirname "$0")/../common.sh"
export OMPDARTS_BACKEND=cuda:loads=2,managed CUDA_DOUBLE_STATS=$work/driver CUDA_DOUBLE_GRANULARITY=4096

# managed MEMORY PROGRAM ARGUMENT… : what kernels touch is not always what they name
managed() {
    local memory=$1 seed
    shift
    plain 0 "$E2E_PROGRAMS/$1" "${@:2}"
    for seed in 1 2; do
        under 0 OMPDARTS_MEM=$memory OMPDARTS_SEED=$seed CUDA_DOUBLE_SEED=$seed OMPDARTS_DEBUG=jitter=0.001 \
            "$E2E_PROGRAMS/$1" "${@:2}"
        same_output
        driver "calls['cuMemAllocManaged'] > 0" "calls['cuMemPrefetchAsync'] > 0" "misuses == 0"
    done
}

managed 112Ki array_in_parts
managed 160Ki array_unnamed 1
managed 160Ki array_unnamed 2
managed 112Ki unnamed_updates
managed 1Mi unnamed_updates

# Larger than a device: by the driver's page faults.
plain 0 "$E2E_PROGRAMS/oversize"
for memory in 40Ki 512Ki 2Mi; do
    under 0 OMPDARTS_OVERSIZE=page OMPDARTS_MEM=$memory OMPDARTS_DEVICES=3 "$E2E_PROGRAMS/oversize"
    same_output
done

for program in cholesky lu gemm3d; do
    tiles=12
    [ $program != gemm3d ] || tiles=7
    plain 0 "$E2E_BENCH/$program" --style array $tiles 48
    for sched in darts eager stationary; do
        under 0 OMPDARTS_SCHED=$sched OMPDARTS_MEM=$((8 * 48 * 48 * 4)) "$E2E_BENCH/$program" --style array $tiles 48
        same_checksum
        stats "stats.host_tasks == 0" "totals.evictions > 0" "sum(d.tasks > 0 for d in devices) > 1"
        driver "calls['cuMemPrefetchAsync'] >= calls['cuMemAdvise'] > 0" "misuses == 0"
    done
done

# Pools have memory where it is needed: none for arrays, all of it for tiles.
under 0 OMPDARTS_MEM=$((64 * 48 * 48 * 4)) "$E2E_BENCH/cholesky" --style array 8 48
driver "calls['cuMemCreate'] == 4" # a piece of each, in which it is asked whether the device answers
under 0 OMPDARTS_MEM=$((64 * 48 * 48 * 4)) "$E2E_BENCH/cholesky" --style region 8 48
driver "calls['cuMemCreate'] > 4"
finish
