#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Recursive tasks (ompdarts_split(), OMPDARTS_SPLIT): whatever a rule splits, on devices with little memory and with CPU
# workers, the result is that of the blocks without the library, to the last bit. Wrong values are one line each.
. "$(dirname "$0")/../common.sh"

levels=(--levels 320/160/40 16 40) # 2 x 2 tiles
[ -z "$again" ] || levels=(--levels 160/40 8 40)
rules="never level=1 level=2 starve gaspp lp auto"
[ -z "$again" ] || rules="level=1 auto"
for program in cholesky lu gemm3d; do
    [ $program = cholesky ] || rules="level=2 auto"
    [ $program = gemm3d ] && [ -z "$again" ] && levels=(--levels 160/80/40 8 40)
    plain 0 "$E2E_BENCH/$program" "${levels[@]: -2}"
    for rule in $rules; do
        under 0 OMPDARTS_SPLIT=$rule OMPDARTS_DEVICES=2 OMPDARTS_MEM=2M "$E2E_BENCH/$program" --repeat 2 "${levels[@]}"
        same_checksum
        under 0 OMPDARTS_SPLIT=$rule OMPDARTS_DEVICES=2 OMPDARTS_CPU=2 "$E2E_BENCH/$program" --repeat 2 "${levels[@]}"
        same_checksum
    done
    grep '^checksum ' "$work/plain" >"$work/blocks"
    plain 0 "$E2E_BENCH/$program" "${levels[@]}" # ordinary OpenMP
    grep -qxf "$work/blocks" "$work/plain" || fail "$program without the library: $(cat "$work/plain")"
done
under 0 OMPDARTS_SPLIT=auto OMPDARTS_DEVICES=0 OMPDARTS_CPU=2 "$E2E_BENCH/gemm3d" "${levels[@]}"
same_checksum

# Tiles in regions of their own, and one array, of which tasks of all levels name blocks: there a tile and its blocks are one
# range, and what a tile's task has left on a device its blocks' tasks find there.
plain 0 "$E2E_BENCH/lu" 16 64
for style in region array; do
    for memory in 1G 2M; do
        under 0 OMPDARTS_SPLIT=auto OMPDARTS_DEVICES=2 OMPDARTS_MEM=$memory "$E2E_BENCH/lu" --style $style --levels 512/256/64 16 64
        same_checksum
        [ $style$memory != array1G ] || [ -n "${E2E_CUDA_DOUBLE-}${E2E_MPI-}" ] || stats "totals.h2d_bytes == 1024 * 1024 * 4"
    done
done
for program in cholesky gemm3d; do
    [ -z "$again" ] || continue
    plain 0 "$E2E_BENCH/$program" 16 40
    for style in region array; do
        for rule in level=1 auto; do
            under 0 OMPDARTS_SPLIT=$rule OMPDARTS_DEVICES=2 OMPDARTS_MEM=2M "$E2E_BENCH/$program" --style $style --levels 320/160/40 16 40
            same_checksum
        done
    done
done

# A child waits for its own data, not for all children of another parent: one of the first tile's waits until one of the second's
# has run, which the same device may have taken behind it, but not all of them.
if [ -z "$again" ]; then
    under 0 OMPDARTS_SPLIT=level=1 OMPDARTS_DEVICES=2 OMPDARTS_BUFFER=1 OMPDARTS_SCHED=eager "$E2E_PROGRAMS/children_at_once"
    stats "stats.tasks == 16"
fi

# A task that runs before the one that has asked creates its own neither takes the answer nor says that there is no level below.
under 0 OMPDARTS_SPLIT=level=1 "$E2E_PROGRAMS/split_in_wait"

# A program whose host tasks ask gets its answers when they can run.
for rule in level=0 level=1 starve auto; do
    [ -z "$again" ] || [ $rule = level=1 ] || continue
    for settings in OMPDARTS_MEM=1M OMPDARTS_CPU=2; do
        under 0 OMPDARTS_SPLIT=$rule OMPDARTS_DEVICES=2 $settings "$E2E_PROGRAMS/split_when_ready"
        case $rule in
            level=0) stats "stats.tasks == 12" ;;
            level=1) stats "stats.tasks == 48" ;;
        esac
    done
done

plain 0 "$E2E_BENCH/cholesky" --levels 320/160/40 16 40
tasks=(4 20 816) # of 2 x 2, 4 x 4 and 16 x 16 tiles
for level in 0 1 2; do
    under 0 OMPDARTS_SPLIT=level=$level "$E2E_BENCH/cholesky" --levels 320/160/40 16 40
    same_checksum
    stats "stats.tasks == ${tasks[level]}"
done
under 0 OMPDARTS_SPLIT=level=5 "$E2E_BENCH/cholesky" --levels 320/160/40 16 40
same_checksum
says "OMPDARTS_SPLIT=level=5: the program has no level 5: its levels are 0 to 2"
[ "$(grep -c "has no level" "$work/err")" -eq 1 ] || fail "$ran: more than once"

for value in level level= level=8 level=-1 level=x never=1 gasp; do
    under 2 OMPDARTS_SPLIT=$value "$E2E_BENCH/cholesky" --levels 80/40 4 40
    says "OMPDARTS_SPLIT=$value: "
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than a line"
done
for style in blas lapack; do
    plain 2 "$E2E_BENCH/gemm3d" --style $style --levels 80/40 4 40
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "--style $style: $(cat "$work/err")"
done
for value in 80/41 40/80 80/80 "" 80 x/40 80/40/ 120/80/40; do
    plain 2 "$E2E_BENCH/cholesky" --levels "$value" 4 40
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "--levels '$value': $(cat "$work/err")"
done
finish
