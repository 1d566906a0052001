#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: slices_early.sh FIRST-SEED LAST-SEED
#
# programs/slices_early.c with OMPDARTS_SLICE=eager, where slices come to use other data: its results are right, or the
# program ends and says that slices began too early, whatever the devices and their memory are.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }

right=0 early=0 ended=0
try() { # VARIANT SETTING…
    local variant=$1 status=0
    shift
    "$patient" $limit_s env ${cpu:+"$cpu"} LD_PRELOAD="$preload" OMPDARTS_STATS="$work/stats" "${own_crashes[@]}" "$@" \
        "$E2E_PROGRAMS/slices_early" "$variant" >"$work/out" 2>"$work/err" || status=$?
    if [ "$status" = 0 ]; then
        right=$((right + 1))
        early=$((early + $(value "sum(getattr(k, 'early', 0) for k in stats.kernels)")))
    elif grep -q "a slice of kernel .* uses what slices of the next kernel have used, which began early" "$work/err"; then
        ended=$((ended + 1))
    else
        fail "$variant, $*: exit code $status"
        head -n 20 "$work/out" "$work/err"
    fi
}

for seed in $(seq "$1" "$2"); do
    try "random.$seed" OMPDARTS_SLICE=eager:4 OMPDARTS_DEVICES=4
    try "random.$seed" OMPDARTS_SLICE=eager:5 OMPDARTS_DEVICES=3 OMPDARTS_DEBUG=jitter=0.0005 OMP_NUM_THREADS=1
    try "random.$seed" OMPDARTS_SLICE=eager:4 OMPDARTS_DEVICES=4 OMPDARTS_MEM=700Ki OMP_NUM_THREADS=2
done
for variant in steady.{1..6} beside forks unended; do
    try $variant OMPDARTS_SLICE=eager:4 OMPDARTS_DEVICES=4
    try $variant OMPDARTS_SLICE=eager:4 OMPDARTS_DEVICES=3 OMPDARTS_DEBUG=jitter=0.0005 OMP_NUM_THREADS=1
done
echo "$right right, with $early launches that began early; $ended ended since slices began too early"
[ "$early" -gt 0 ] || fail "no launch began early"

# The slice that comes late takes long, so that slices of the next kernel have begun by then, unless the machine is very busy.
ended=0
for ((tries = 0; tries < 10 && !ended; tries++)); do
    try late OMPDARTS_SLICE=eager:4 OMPDARTS_DEVICES=4 OMP_NUM_THREADS=1
done
[ "$ended" = 1 ] || fail "a slice came late in $tries runs, and nobody noticed"
try late OMPDARTS_SLICE=4 OMPDARTS_DEVICES=4
[ "$ended" = 1 ] || fail "without eager slices began early"
finish
