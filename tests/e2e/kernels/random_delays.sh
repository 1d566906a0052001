#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: random_delays.sh RUNS
#
# Small factorisations and products with random delays in the transfer queues, each run with another seed, in rotating
# programs, styles, policies and memory sizes: always right, and never a hang (the watchdog would print the engine's state).
. "$(dirname "$0")/../common.sh"
programs=(cholesky lu gemm3d) styles=(task region blas) pairs=("eager lru" "darts luf" "darts lru")
tile=24 step=1
[ -z "$again" ] || step=5

for ((seed = 1; seed <= $1; seed += step)); do
    program=${programs[seed % 3]} style=${styles[seed / 3 % 3]} pair=${pairs[seed / 9 % 3]}
    memory=$(((4 + seed / 27 * 3) * tile * tile * 4)) devices=$((1 + seed % 4))
    reference=$work/$program.reference
    [ -e "$reference" ] || { plain 0 "$E2E_BENCH/$program" 6 $tile && cp "$work/plain" "$reference"; }
    cp "$reference" "$work/plain"
    under 0 OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.002 OMPDARTS_MEM=$memory OMPDARTS_DEVICES=$devices \
        OMPDARTS_SCHED="${pair% *}" OMPDARTS_EVICT="${pair#* }" OMPDARTS_BUFFER=$((1 + seed % 6)) \
        "$E2E_BENCH/$program" --style "$style" 6 $tile
    same_checksum
    stats "stats.seed == $seed"
    # Addresses shown to several threads at once may leave a device no room: such a task sees host addresses.
    [ "$style" = blas ] || stats "stats.host_tasks == 0"
    [ $failures -lt 3 ] || break
done
finish
