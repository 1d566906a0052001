#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cholesky.sh NTILES TILE SEED…
#
# The main job: a Cholesky factorisation on four devices that hold a quarter of its lower half each. Every device runs
# tasks, none exceeds its limit, the result is that of a run without the library, and darts+luf moves fewer bytes, summed
# over the seeds, than darts+lru and than eager+lru. The link is slow enough (1 GB/s) that tasks become ready faster than they
# run also where other programs keep the cores busy.
. "$(dirname "$0")/../common.sh"
tiles=$1 tile=$2
shift 2
limit=$((tiles * (tiles + 1) / 2 * tile * tile * 4 / 4))
declare -A moved=(["darts luf"]=0 ["darts lru"]=0 ["eager lru"]=0)

plain 0 "$E2E_BENCH/cholesky" $tiles $tile
for seed; do
    for pair in "${!moved[@]}"; do
        under 0 OMPDARTS_BACKEND=omptarget:link=1G OMPDARTS_DEVICES=4 OMPDARTS_MEM=$limit OMPDARTS_SEED=$seed OMPDARTS_SCHED="${pair% *}" \
            OMPDARTS_EVICT="${pair#* }" "$E2E_BENCH/cholesky" $tiles $tile
        same_checksum
        stats "len(devices) == 4 and sum(d.tasks > 0 for d in devices) >= 2" "all(d.limit_bytes == $limit for d in devices)" \
            "stats.tasks == $((tiles + tiles * (tiles - 1) + tiles * (tiles - 1) * (tiles - 2) / 6))" \
            "stats.host_tasks == 0" "stats.seed == $seed"
        bytes=$(value "totals.h2d_bytes + totals.d2h_bytes + totals.d2d_bytes")
        moved[$pair]=$((moved[$pair] + ${bytes:-0}))
    done
done
for pair in "${!moved[@]}"; do
    echo "$pair: $((moved[$pair] / 1000000)) MB in $# runs"
done
((moved["darts luf"] < moved["eager lru"])) || fail "darts+luf moves as much as eager+lru"
# With few small tiles luck decides between the eviction rules.
[ $# -lt 3 ] || ((moved["darts luf"] < moved["darts lru"])) || fail "darts+luf moves as much as darts+lru"
finish
