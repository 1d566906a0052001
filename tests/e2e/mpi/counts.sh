#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: counts.sh SHIM
#
# The bytes that each rank says it has sent are those that MPI's profiling interface counts, and the copies among them are
# those of the statistics: to devices from rank 0, from devices and between them from the others.
. "$(dirname "$0")/../common.sh"
export LD_PRELOAD=$1 OMPDARTS_LOG=info

# data RANK… : bytes of copies that they have sent
data() {
    for rank; do
        sed -nE "s/^ompdarts: mpi: rank $rank has sent [0-9]+ bytes, ([0-9]+) of them data.*/\1/p" "$work/err"
    done | awk '{ sum += $1 } END { print sum + 0 }'
}

# counted MEMORY PROGRAM ARGUMENTS…
counted() {
    under 0 "OMPDARTS_MEM=$1" "${@:2}"
    for rank in 0 1 2 3; do
        ours=$(sed -nE "s/^ompdarts: mpi: rank $rank has sent ([0-9]+) bytes.*/\1/p" "$work/err")
        theirs=$(sed -nE "s/^shim: rank $rank has sent ([0-9]+) bytes/\1/p" "$work/err")
        [ -n "$ours" ] && [ "$ours" = "$theirs" ] || fail "$ran: rank $rank says it has sent '$ours' bytes, MPI counts '$theirs'"
    done
    # What kernels may have stored is looked at in the first runs of each, and devices that are shares are in one rank.
    stats "totals.h2d_bytes == $(data 0)" "totals.d2h_bytes + totals.d2d_bytes <= $(data 1 2 3)"
}

for memory in 200M 300K; do
    counted $memory "$E2E_BENCH/cholesky" --style task 8 96
    counted $memory "$E2E_BENCH/gemm2d" 6 96
    counted $memory "$E2E_BENCH/gemm3d" 4 96
done
counted 200M "$E2E_BENCH/lu" 5 512 # tiles of 1 MiB, in pieces
counted 20M "$E2E_BENCH/lu" 5 512
counted 200M "$E2E_BENCH/sync" --loops 20 10000
counted 200M "$E2E_BENCH/tiny" 2000
finish
