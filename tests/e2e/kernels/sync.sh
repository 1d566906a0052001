#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A synchronous program, 100 kernels over the same three arrays, moves no more bytes than libomptarget would: with `target
# data` around the loop a and b in and c out, once; without, a, b and c in and c out by each kernel. Nothing wanders.
. "$(dirname "$0")/../common.sh"
length=20000 loops=100
bytes=$((8 * length))

for pair in "eager lru" "darts luf" "darts lru"; do
    settings=(OMPDARTS_SCHED="${pair% *}" OMPDARTS_EVICT="${pair#* }")
    plain 0 "$E2E_BENCH/sync" --loops $loops $length
    under 0 "${settings[@]}" "$E2E_BENCH/sync" --loops $loops $length
    same_checksum
    stats "totals.h2d_bytes == $((2 * bytes))" "totals.d2h_bytes == $bytes" "totals.d2d_bytes == 0" \
        "sum(d.tasks > 0 for d in devices) == 1" "stats.tasks == $loops"
    plain 0 "$E2E_BENCH/sync" --no-region --loops $loops $length
    under 0 "${settings[@]}" "$E2E_BENCH/sync" --no-region --loops $loops $length
    same_checksum
    stats "totals.h2d_bytes <= $((3 * bytes * loops))" "totals.d2h_bytes <= $((bytes * loops))" "totals.d2d_bytes == 0" \
        "stats.tasks == $loops"
done
finish
