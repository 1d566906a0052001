#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# LIBOMPTARGET_INFO tells the same of constructs and of data regions with the library as without it, but for addresses.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/info

# told FILE PATTERN…: lines without addresses
told() {
    grep -E "$2" "$1" | sed -E 's/(0x)[0-9a-f]+/\1/g'
}

for what in regions maps; do
    for level in 1 3 9 -1; do
        constructs='info: (Entering|Exiting|Updating|to|from|tofrom|alloc|firstprivate|private|use_address|attach)\b'
        # Kernels touch counts of mappings with libomptarget only.
        [ $what = maps ] || constructs+='|Creating|Removing|exists with.*(incremented).*Name=x$|delayed deletion'
        plain 0 LIBOMPTARGET_INFO=$level "$program" $what
        told "$work/err" "$constructs" | grep -vE '\(implicit\) with|Size=0' >"$work/stock"
        under 0 LIBOMPTARGET_INFO=$level "$program" $what
        told "$work/err" "$constructs" | grep -vE '\(implicit\) with|Size=0' >"$work/ours"
        [ "$(wc -l <"$work/stock")" -ge 5 ] || fail "nothing is told without the library"
        diff "$work/stock" "$work/ours" || fail "$ran: something else is told"
    done
done
under 0 LIBOMPTARGET_INFO=16 "$program" regions
! grep -q 'Entering' "$work/err" || fail "$ran: constructs are told, which nobody has asked for"
finish
