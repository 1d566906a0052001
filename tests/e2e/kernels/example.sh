#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: example.sh PROGRAM
#
# One of examples/programs in each of its variants: right by its own check, and to the last bit what it computes without
# the library, with ample memory and with a working set that is larger than all devices together. E2E_EXAMPLES is the
# folder of the programs.
. "$(dirname "$0")/../common.sh"
program=$E2E_EXAMPLES/$1

# variant MEMORY BUSY COPIES ARGUMENT… : memory of a device in the runs out of core; how many devices are sure to get
# work there; whether copies are "kept" from task to task, so that some have to be evicted, or "not"
variant() {
    local memory=$1 busy=$2 evicts="totals.evictions > 0" settings
    [ "$3" = kept ] || evicts="totals.evictions >= 0"
    shift 3
    plain 0 "$program" "$@"
    for settings in "OMPDARTS_SCHED=darts OMPDARTS_EVICT=luf" "OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru" \
        "OMPDARTS_COHERENCE=strict" "OMPDARTS_DEVICES=1" "OMPDARTS_SEED=2 OMPDARTS_DEBUG=jitter=0.0005" OMPDARTS_DEBUG=check; do
        under 0 $settings "$program" "$@"
        same_checksum
        stats "stats.tasks > 0 and stats.host_tasks == 0"
    done
    for settings in "OMPDARTS_SCHED=darts OMPDARTS_EVICT=luf" "OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru" \
        "OMPDARTS_COHERENCE=strict" "OMPDARTS_DEVICES=1"; do
        under 0 OMPDARTS_MEM="$memory" $settings "$program" "$@"
        same_checksum
        stats "stats.host_tasks == 0" "0 < totals.limit_bytes <= $memory" "totals.peak_bytes <= totals.limit_bytes"
        [ "$settings" = OMPDARTS_COHERENCE=strict ] || stats "$evicts"
    done
    # With slow transfers no device can do all the work before the others get some.
    under 0 OMPDARTS_MEM="$memory" OMPDARTS_SEED=3 OMPDARTS_DEBUG=jitter=0.002 "$program" "$@"
    same_checksum
    stats "$evicts" "sum(d.tasks > 0 for d in devices) >= $busy"
}

"$program" --help >"$work/out" || fail "$1 --help"
"$program" --nonsense 1 >"$work/out" 2>&1
expect_exit 2 $? "$1 --nonsense"

case $1 in
    stencil) # 16 tiles of 66 kB
        variant 200000 4 kept --grid 4 --size 64 --steps 8 --every 4 --map region
        # The tokens may order what cannot be seen, so each task's arrays come and go with it.
        variant 200000 4 not --grid 4 --size 64 --steps 8 --every 4 --map task
        ;;
    plate) # two arrays of 262 kB
        variant 150000 4 kept --bands 8 --rows 8 --width 512 --steps 6
        ;;
    rows) # a matrix of 131 kB
        variant 50000 1 kept --blocks 4 --rows 32 --run tasks --method cg
        variant 50000 1 kept --blocks 4 --rows 32 --run tasks --method jacobi
        plain 0 "$program" --blocks 4 --rows 32 --steps 1000 --run kernels --method jacobi # bytes do not grow with steps
        under 0 "$program" --blocks 4 --rows 32 --steps 1000 --run kernels --method jacobi
        same_checksum
        stats "stats.host_tasks == 0" "totals.h2d_bytes <= (128 * 128 + 5 * 128) * 8" "totals.d2h_bytes <= 3 * 128 * 8"
        ;;
    sparse) # a matrix of 1.6 MB
        variant 200000 4 kept --side 4 --size 48 --digits 2 --product tile
        variant 300000 4 kept --side 4 --size 48 --digits 2 --product row
        ;;
    nbody) # 61 kB
        variant 12000 4 kept --blocks 12 --block 64 --steps 4 --every 2
        ;;
    convolution) # 1 MB in 6 slots
        variant 200000 4 not --width 24 --batch 4 --batches 12 --slots 6 --weights region
        variant 200000 4 not --width 24 --batch 4 --batches 12 --slots 6 --weights task
        variant 200000 2 not --width 24 --batch 4 --batches 12 --slots 6 --members 4
        ;;
    qr) # 630 kB
        variant 100000 4 kept --tiles 7 --size 40 --map task
        variant 100000 4 kept --tiles 7 --size 40 --map region
        ;;
    fronts) # temporaries of 790 kB, 75 kB in the order of the program
        # On a busy machine one device may have assembled all before the threads of others run.
        variant 100000 1 not --depth 5 --order 48 --pivots 16
        plain 0 "$program" --graph contraction --order 32 --grid 4 --inner 3
        for guard in 0 100000; do
            under 0 OMPDARTS_GUARD=$guard OMPDARTS_MEM=60000 "$program" --graph contraction --order 32 --grid 4 --inner 3
            same_checksum
        done
        under 0 OMPDARTS_RECOMPUTE=always OMPDARTS_MEM=40000 "$program" --graph contraction --order 32 --grid 4 --inner 3
        same_checksum
        # With a bound for what is spilled, which the program's order keeps, and with one that it does not.
        plain 0 "$program" --depth 5 --order 48 --pivots 16
        under 0 OMPDARTS_SPILL_LIMIT=80000 OMPDARTS_DEVICES=1 OMPDARTS_MEM=120000 "$program" --depth 5 --order 48 --pivots 16
        same_checksum
        stats "stats.host_tasks == 0"
        under 0 OMPDARTS_SPILL_LIMIT=1 OMPDARTS_DEVICES=1 OMPDARTS_MEM=40000 "$program" --depth 5 --order 48 --pivots 16
        same_checksum
        stats "stats.host_tasks == 0"
        says "in the order of the program, data that live on devices only need"
        says "spill areas take"
        # Each front is a tile: there is nothing to be learnt by page faults about what it is a part of.
        under 0 OMPDARTS_DEVICES=1 OMPDARTS_MEM=40000 "$program" --depth 5 --order 48 --pivots 16
        same_checksum
        stats "stats.host_tasks == 0" "totals.faults == 0"
        # One after the other, in the order of the program: nothing is spilled. A device has some room to spare, for what
        # comes and goes in other sizes leaves gaps.
        plain 0 "$program" --depth 5 --order 48 --pivots 16
        for guard in 1 100000 auto; do
            under 0 OMPDARTS_GUARD=$guard OMPDARTS_DEVICES=1 OMPDARTS_MEM=250000 OMPDARTS_DEBUG=jitter=0.0005 "$program" \
                --depth 5 --order 48 --pivots 16
            same_checksum
            stats "stats.host_tasks == 0" "$([ $guard = auto ] && echo True || echo totals.evictions == 0)"
        done
        ;;
    *) fail "no such program: $1" ;;
esac
finish
