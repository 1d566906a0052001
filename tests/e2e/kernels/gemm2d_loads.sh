#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: gemm2d_loads.sh N TILE
#
# The known pathology of eager+lru, and its cure: a product of N block rows and N block columns, in the order of rows, on
# one device that holds M = 34 of them and 6 tiles of C. C is only written, so what is received is loads of blocks. The
# lower bound is LB = floor(N^2/M^2) M + min(M, 2N); eager+lru needs more than 15 LB, darts+luf at most 2.5 LB. libomp is
# given one thread, so that tasks become ready in the order of their creation, and the link is slow enough (1 GB/s) for
# them to be there before they are needed.
. "$(dirname "$0")/../common.sh"
cpu= # loads of devices are counted
n=$1 tile=$2 m=34 depth=4
tile_bytes=$((tile * tile * 4)) block_bytes=$((depth * tile * tile * 4))
bound=$((n * n / (m * m) * m + (m < 2 * n ? m : 2 * n)))

# loads POLICY EVICTION: in blocks, to $loads
loads() {
    under 0 OMP_NUM_THREADS=1 OMPDARTS_BACKEND=omptarget:link=1G OMPDARTS_DEVICES=1 OMPDARTS_MEM=$((m * block_bytes + 6 * tile_bytes)) OMPDARTS_BUFFER=5 \
        OMPDARTS_SCHED=$1 OMPDARTS_EVICT=$2 "$E2E_BENCH/gemm2d" --depth $depth "$n" "$tile"
    same_checksum
    stats "totals.h2d_bytes % $block_bytes == 0" "totals.d2h_bytes == $((n * n * tile_bytes))" "totals.d2d_bytes == 0"
    loads=$(($(value totals.h2d_bytes) / block_bytes))
    echo "$1+$2: $loads loads, $((100 * loads / bound))% of the lower bound, $bound"
}

plain 0 "$E2E_BENCH/gemm2d" --depth $depth "$n" "$tile"
loads eager lru
((loads > 15 * bound)) || fail "eager+lru loads only $loads blocks, the lower bound being $bound: is the order by rows?"
loads darts luf
((2 * loads <= 5 * bound)) || fail "darts+luf loads $loads blocks, more than 2.5 times the lower bound, $bound"
finish
