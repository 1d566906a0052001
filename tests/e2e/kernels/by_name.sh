#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: by_name.sh PROGRAM MEMORY PERCENT
#
# A factorisation of a matrix stored by columns, whose tasks name tiles by their first elements, on four devices that hold
# a quarter of what it uses each: right to the last bit, all of it on devices, and, once the kernels' first instances have
# shown what they use, with at most so many percent of the bytes that tiles that are mapped one by one take. Schedules of
# two runs are compared, which differ: 88 to 115 percent were seen.
. "$(dirname "$0")/../common.sh"
program=$1 memory=$2 percent=$3

# bytes STYLE TIMES: moved by so many factorisations, without those before the first residual
bytes() {
    under 0 OMPDARTS_DEVICES=4 OMPDARTS_MEM="$memory" "$E2E_BENCH/$program" --type double --style "$1" --repeat "$2" 6 512
    same_checksum
    grep -q ' ok$' "$work/out" || fail "$ran: $(tail -n 1 "$work/out")"
    stats "stats.host_tasks == 0"
    moved=$(value "totals.h2d_bytes + totals.d2h_bytes + totals.d2d_bytes")
    faults=$(value "totals.faults")
}

plain 0 "$E2E_BENCH/$program" --type double --style lapack 6 512
bytes lapack 1
first=$moved first_faults=$faults
bytes lapack 2
later=$((moved - first)) later_faults=$((faults - first_faults))
bytes region 1
first=$moved
bytes region 2
tiles=$((moved - first))
[ $((later * 100)) -le $((tiles * percent)) ] || fail "the second factorisation by name moves $later bytes, by tiles $tiles"
[ $((later_faults * 20)) -le $((later / 4096)) ] || fail "$later_faults page faults for $later bytes"
finish
