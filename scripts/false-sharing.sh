#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/false-sharing.sh [SEEDS [BUILD]]
#
# Tiles of 100 x 100 doubles in a matrix stored by columns, whose pages belong to several tiles each, on four devices
# with random delays: SEEDS (100) programs in each way to name a tile (tests/e2e/programs/tiles_in_pages.c), with memory for
# all of the matrix and for half of it. The test e2e.tiles_in_pages runs a few of them. BUILD (build) is the build folder.
# Prints what was wrong, and a progress line every 30 s. Exit code 0: nothing was wrong; 1: something was; 2: wrong
# arguments.
set -u
seeds=${1:-100} build=${2:-build} wrong=0 runs=0
usage() { sed -n '4,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'; }
case $seeds in -h | --help) usage; exit 0 ;; esac
[[ $seeds =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
[[ -x $build/ompdarts ]] || { echo "false-sharing: $build/ompdarts: not built" >&2; exit 2; }
next=30
export OMPDARTS_DEVICES=4 OMPDARTS_STATS=0
for ((seed = 1; seed <= seeds; seed++)); do
    for style in element columns unnamed blocks; do
        for memory in 4Mi 1Mi; do
            said=$(OMPDARTS_MEM=$memory OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.001 \
                timeout 600 "$build/ompdarts" run "$build/tests/e2e/programs/tiles_in_pages" $style "$seed" 2>&1)
            status=$?
            runs=$((runs + 1))
            [[ $status -eq 0 && $(tail -1 <<<"$said") == right ]] && continue
            wrong=$((wrong + 1))
            printf 'OMPDARTS_MEM=%s %s %s: exit code %s\n%s\n' $memory $style "$seed" $status "$said"
        done
    done
    ((SECONDS < next)) || { next=$((SECONDS + 30)); echo "false-sharing: $seed of $seeds seeds, $runs runs, $wrong wrong"; }
done
echo "$runs runs, $wrong wrong"
[[ $wrong -eq 0 ]]
