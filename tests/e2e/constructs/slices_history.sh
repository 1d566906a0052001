#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A kernel whose slices write to each other's pages is not tried again by later runs (OMPDARTS_CACHE), unless its code has been
# compiled anew, or that has been cleared.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }
export OMPDARTS_CACHE=1 XDG_CACHE_HOME=$work/cache
program=$E2E_PROGRAMS/slices
plain 0 "$program" interleaved

clashes_after() { # LAUNCHES in slices: the statistics' condition; REASON
    same_output
    stats "[k.reason for k in stats.kernels] == ['$2']" "all(k.sliced $1 for k in stats.kernels)"
}

for run in 1 2; do
    under 0 OMPDARTS_SLICE=4 "$program" interleaved
    clashes_after "> 0" "writes to the same pages in all slices"
    for again in 1 2; do
        under 0 OMPDARTS_SLICE=4 "$program" interleaved
        clashes_after "== 0" "wrote to the same pages in all slices of an earlier run"
    done
    "$E2E_COMMAND" history show interleaved >"$work/shown"
    grep -q "interleaved, line [0-9]*: it writes to the same pages" "$work/shown" || fail "history: $(cat "$work/shown")"
    "$E2E_COMMAND" history clear "slices of" >/dev/null || fail "history is not cleared"
done

under 0 OMPDARTS_SLICE=4 "$program" interleaved
sed 's/clang version/clang Version/g' "$program" >"$work/compiled_anew" # in the image, too
chmod +x "$work/compiled_anew"
under 0 OMPDARTS_SLICE=4 "$work/compiled_anew" interleaved
clashes_after "> 0" "writes to the same pages in all slices"
finish
