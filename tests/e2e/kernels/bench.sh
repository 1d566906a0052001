#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: bench.sh PROGRAM STYLE
#
# A bench program in one style, in both precisions, under pairs of policy and eviction rule (all policies in the style
# `task`, where tasks depend on each other), on four devices that hold about 8 tiles each: right by its own check, and to the last bit what it computes without the library.
. "$(dirname "$0")/../common.sh"
program=$1 style=$2
pairs=("eager lru" "darts luf" "darts lru")
[ "$style" != task ] || [ -n "$again" ] || pairs+=("ap lru" "dmda lru" "dmdar luf" "dmdas lru" "lws lru" "darts:alg11 luf" "darts:opti luf"
    "plugin:$E2E_PLUGIN lru")

# Arrays are divided where depend clauses say into what; on GPUs if these are trusted.
in_parts=yes
[ "$style" != lapack ] || in_parts=no
trusted=()
[ "$style" != array ] || [ -z "${E2E_CUDA_DOUBLE-}" ] || trusted=(OMPDARTS_COHERENCE=depend CUDA_DOUBLE_GRANULARITY=4096)

# settings for one precision: tile bytes, then NTILES TILE and the arguments of the program
run() {
    local type=$1 tile_bytes=$2 memory pair
    shift 2
    plain 0 "$E2E_BENCH/$program" --style "$style" --type "$type" "$@"
    memory=$((8 * tile_bytes))
    for pair in "${pairs[@]}"; do
        under 0 "${trusted[@]}" OMPDARTS_MEM=$memory OMPDARTS_SCHED="${pair% *}" OMPDARTS_EVICT="${pair#* }" \
            "$E2E_BENCH/$program" --style "$style" --type "$type" "$@"
        same_checksum
        grep -q ' ok$' "$work/out" || fail "$ran: $(tail -n 1 "$work/out")"
        stats "stats.policy == '${pair% *}' and stats.eviction == '${pair#* }'" \
            "$memory - 256 < totals.limit_bytes <= $memory"
        # Addresses shown to several threads at once may leave a device no room: such a task sees host addresses.
        [ "$style" = blas ] || [ "$in_parts" = no ] || stats "stats.host_tasks == 0"
        [ "$in_parts" = no ] || stats "totals.evictions > 0"
    done
}

case $program in
    gemm2d) # a block row of 2 tiles is the largest datum
        run float $((2 * 48 * 48 * 4)) --depth 2 12 48
        run double $((2 * 33 * 33 * 8)) --depth 2 12 33
        ;;
    gemm3d)
        run float $((48 * 48 * 4)) 7 48
        run double $((33 * 33 * 8)) 7 33
        ;;
    *)
        run float $((48 * 48 * 4)) 12 48
        run double $((33 * 33 * 8)) 12 33
        ;;
esac
under 0 OMPDARTS_DEBUG=check "$E2E_BENCH/$program" --style "$style" 6 96
finish
