#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cuda_blas.sh PROGRAM
#
# Host tasks that call cuBLAS, on the doubles of the driver and of cuBLAS, with tiles large enough to be pinned: right, to the
# last bit whatever the policy and the memory; the calls come on streams of the library, and a thread waits for them only in
# the first task that has a tile: that runs where it is, for its depend item tells only where the tile begins. So may
# the first ones of each kind.
. "$(dirname "$0")/../common.sh"
program=("$E2E_BENCH/$1-cublas" --style blas)
tile=192
tile_bytes=$((tile * tile * 4))
export CUDA_DOUBLE_STATS=$work/driver

matrices=1
[ "$1" != gemm3d ] || matrices=3

# right NTILES [VAR=VALUE…]
right() {
    local tiles=$1
    shift
    under 0 "$@" "${program[@]}" "$tiles" $tile
    grep -q ' ok$' "$work/out" || fail "$ran: $(tail -n 1 "$work/out")"
    driver "misuses == 0" "pageable_copies == 0" "calls['cuLaunchHostFunc'] > 0" "calls['cuStreamSynchronize'] <= $((matrices * tiles * tiles + 8))"
    stats "stats.host_tasks == 0" "totals.tasks > 0"
}

right 4 OMPDARTS_SCHED=eager
cp "$work/out" "$work/plain"
for sched in dmdar darts; do
    right 4 OMPDARTS_SCHED=$sched
    same_checksum
done
# The first tasks run in place and are shown addresses at the same time, on different devices, while others, whose data these
# are, too, are run by the library already.
for seed in 1 2 3 4 5 6; do
    right 4 OMPDARTS_SCHED=dmdar OMP_NUM_THREADS=4 OMPDARTS_SEED=$seed
    same_checksum
done
for sched in eager dmdar darts; do
    right 4 OMPDARTS_SCHED=$sched OMP_NUM_THREADS=1 OMPDARTS_MEM=$((5 * tile_bytes)) OMPDARTS_DEVICES=2
    same_checksum
    stats "totals.evictions > 0"
    driver "calls['cuMemHostRegister'] > 0" # what crosses again
done
right 6 # many tasks per tile
under 0 "${program[@]}" --json 4 $tile
grep -q '"waits": false' "$work/out" || fail "$ran: $(cat "$work/out")"

# Without pinned memory copies go through buffers, which is said.
right 4 OMPDARTS_BACKEND=cuda:pin=0 OMP_NUM_THREADS=1 OMPDARTS_MEM=$((5 * tile_bytes)) OMPDARTS_LOG=info
same_checksum
driver "calls['cuMemHostRegister'] == 0"
says "copies ("
says "used unpinned host memory and were staged through buffers"

# In TF32 and in double precision: as exactly as these are, and no more.
residual() {
    sed -nE 's/.*residual ([^ ]+) ok$/\1/p' "$work/out"
}
right 4
float=$(residual)
program+=(--type tf32)
right 4
[ "$1" != gemm3d ] || awk -v tf32="$(residual)" -v single="$float" 'BEGIN { exit !(tf32 > 20 * single) }' ||
    fail "$ran: $(residual), in float $float"
program=("${program[@]/tf32/double}")
right 4
awk -v wide="$(residual)" 'BEGIN { exit !(wide < 1e-12) }' || fail "$ran: $(residual)"
program=("$E2E_BENCH/$1-cublas" --style blas)

# Handles of cuBLAS take more memory than is left: data make room.
right 6 CUDA_DOUBLE_DEVICES=1 OMPDARTS_DEVICES=1 CUDA_DOUBLE_MEMORY=24Mi CUDA_DOUBLE_BLAS_MEMORY=3145728 OMPDARTS_MEM=20Mi OMPDARTS_LOG=info
says " bytes of its memory, data keep "
finish
