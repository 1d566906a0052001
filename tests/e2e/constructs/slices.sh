#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: slices.sh VARIANT
#
# programs/slices.c with OMPDARTS_SLICE: what it prints is what it prints without the library, whatever the slices, the
# devices and their memory are; and the statistics say which kernels were cut, and why others were not.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/slices
variant=$1
plain 0 "$program" "$variant"
grep -qx right "$work/plain" || fail "wrong without the library"

both() {
    under 0 "$@" "$program" "$variant"
    same_output
}

reason() { # SUBSTRING: of one of the kernels, none of whose later launches was in slices
    stats "any('$1' in getattr(k, 'reason', '') and k.sliced <= 4 for k in stats.kernels)"
}

both OMPDARTS_SLICE=4 OMPDARTS_LOG=info
if [ -n "${E2E_CUDA_DOUBLE-}" ]; then
    reason "page faults are not seen"
    stats "all(k.sliced == 0 for k in stats.kernels)"
    finish
fi
case $variant in
    interleaved) reason "same pages" ;;
    whole)
        for text in "one team" dist_schedule "outside of data regions" "one distribute loop"; do
            reason "$text"
        done
        stats "all(k.sliced == 0 for k in stats.kernels)" "sum('one team' in k.reason for k in stats.kernels) == 2"
        ;;
    seldom) # after 8 kernels without slices, then after 16 and 32
        stats "sum(k.sliced for k in stats.kernels) == 11"
        turns=$(grep -c "in one piece again: kernels in slices come no more" "$work/err")
        [ "$turns" = 3 ] || fail "the array was in one piece again $turns times, not 3"
        ;;
    sections)
        reason "creates tasks"
        stats "sum(k.sliced for k in stats.kernels) > 0"
        ;;
    histogram) stats "sum(k.sliced for k in stats.kernels) > 0" ;;
    teams | numbers) [ "$(nproc)" = 1 ] || stats "all(k.sliced == 11 for k in stats.kernels)" ;; # whose teams stay together
    *)
        least=9 # the first one or two in slices are all on one device
        [ "$variant" != between ] || least=5 # what comes between changes where slices are
        stats "sum(k.sliced for k in stats.kernels) >= 11" "all(d.tasks >= $least for d in devices)"
        [ "$variant" = between ] || stats "all(k.sliced == 11 and k.whole == 1 and k.slices == 4 for k in stats.kernels)"
        ;;
esac
both OMPDARTS_SLICE=eager:4
both OMPDARTS_SLICE=off OMPDARTS_DEVICES=4 OMPDARTS_STATS=summary
stats "not hasattr(stats, 'kernels')"
case $variant in
    between | whole) ;; # most tasks are none that might be in slices
    *) grep -Eq 'ran one by one, each on one of 4 devices: OMPDARTS_SLICE=auto' "$work/err" || fail "nothing says that there are slices" ;;
esac
both OMPDARTS_SLICE=auto
both OMPDARTS_SLICE=auto OMPDARTS_COHERENCE=strict
stats "not hasattr(stats, 'kernels')"
both OMPDARTS_SLICE=4 OMPDARTS_COHERENCE=depend
both OMPDARTS_SLICE=4 OMPDARTS_DEBUG=check
both OMPDARTS_SLICE=3 OMPDARTS_DEVICES=2 OMP_NUM_THREADS=8 OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
both OMPDARTS_SLICE=13 OMPDARTS_DEVICES=3
for seed in 1 2; do
    both OMPDARTS_SLICE=4 OMPDARTS_SEED=$seed OMPDARTS_DEBUG=jitter=0.002
done
if [ "$variant" != lookup ]; then # its table has to be on every device
    both OMPDARTS_SLICE=4 OMPDARTS_MEM=1100K
    both OMPDARTS_SLICE=7 OMPDARTS_DEVICES=2 OMPDARTS_MEM=600K OMPDARTS_SEED=3 OMPDARTS_DEBUG=jitter=0.001
fi
finish
