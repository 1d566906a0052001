#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: gpus.sh
#
# Ranks serve GPUs (the CUDA driver's double): copies of all sizes, with peers and without, memory that is too small, and
# devices that fail.
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how the library ends a program
ulimit -c 0

# Tiles of 4 KiB, which go with messages, of 36 KiB, and of 1 MiB, which have several pieces.
for size in "10 32" "8 96" "5 512"; do
    plain 0 "$E2E_BENCH/lu" $size
    for peer in 1 0; do
        export CUDA_DOUBLE_PEER=$peer # in all ranks
        under 0 OMPDARTS_SCHED=lws "$E2E_BENCH/lu" $size
        same_checksum
        stats "totals.tasks > 50" "totals.remote_bytes < totals.d2d_bytes" "len(devices) == 4"
    done
    tile=$((${size#* } * ${size#* } * 4))
    under 0 OMPDARTS_MEM=$((7 * tile)) "$E2E_BENCH/lu" $size
    same_checksum
    stats "totals.evictions > 0" "all(d.peak_bytes <= 7 * $tile for d in devices)"
done

# All that a rank says it has.
under 2 OMPDARTS_MEM=10G "$E2E_BENCH/lu" 5 96
says "each device is to give 10000 MB (OMPDARTS_MEM), those of rank 1"

# Memory that has no addresses of its own.
export CUDA_DOUBLE_GRANULARITY=0
under 1 "$E2E_BENCH/lu" 5 96
says "serve: these devices cannot be served: the back-end cuda gives no memory at chosen addresses"
unset CUDA_DOUBLE_GRANULARITY

# The devices of that number fail in all ranks; that of rank 3 is not its only one.
plain 0 "$E2E_BENCH/cholesky" 8 96
lost=0
for CUDA_DOUBLE_LOST in 0:3 0:15 0:40 1:3 1:20; do
    export CUDA_DOUBLE_LOST
    {
        "$patient" $limit_s "${launch[@]}" OMPDARTS_DEBUG=watchdog=10 "$E2E_BENCH/cholesky" 8 96 \
            >"$work/out" 2>"$work/err"
        status=$?
    } 2>/dev/null
    ran="lost $CUDA_DOUBLE_LOST"
    ! grep -q "device [0-9]* of rank [0-9]* no longer responds" "$work/err" || lost=$((lost + 1))
    if [ $status -eq 0 ]; then
        same_checksum
    else
        expect_exit 134 $status "$ran"
        grep -qE "is lost, and with it the only copy|no device" "$work/err" || fail "$ran: $(head -n 8 "$work/err")"
    fi
    ! grep -qE "watchdog|invariant|misuse" "$work/err" || fail "$ran: $(head -n 8 "$work/err")"
done
[ $lost -ge 3 ] || fail "only $lost of 5 runs have lost a device"
finish
