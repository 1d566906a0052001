#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: tiled_product.sh RUNS
#
# The tiled matrix product under the library, RUNS times in rotating configurations: each ends with the right result.
# Stock libomp 19, with its hidden helper threads, aborts in most runs of this program: how often is printed.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/tiled_product
unset LIBOMP_NUM_HIDDEN_HELPER_THREADS
export OMP_NUM_THREADS=4

if [ -z "$again" ]; then
    stock=0
    for _ in 1 2 3; do
        timeout 10 "$program" >"$work/out" 2>"$work/err" && stock=$((stock + 1))
    done 2>/dev/null
    echo "without the library: $stock of 3 runs"
fi

echo right >"$work/plain"
settings=("OMPDARTS_SCHED=darts" "OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru" "OMPDARTS_MEM=16Ki"
    "OMPDARTS_COHERENCE=strict" "OMPDARTS_DEBUG=jitter=0.0005")
right=0
for ((run = 0; run < $1; run++)); do
    before=$failures
    under 0 OMPDARTS_SEED=$run ${settings[run % ${#settings[@]}]} "$program"
    same_output
    right=$((right + (failures == before)))
done
echo "with it: $right of $1 runs"
finish
