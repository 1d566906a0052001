#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A thread that runs small synchronous constructs does so alone: no other thread of the library is woken for them, neither for grants nor for
# small copies. What is counted are voluntary context switches of all threads; a few are the system's.
. "$(dirname "$0")/../common.sh"
constructs=600
for devices in 1 4; do
    for coherence in auto strict; do
        under 0 OMPDARTS_DEVICES=$devices OMPDARTS_COHERENCE=$coherence OMP_NUM_THREADS=1 "$E2E_PROGRAMS/small_sync" switches
        grep -qx right "$work/out" || fail "$ran: wrong"
        switches=$(sed -n 's/^switches //p' "$work/err")
        [ "${switches:-$constructs}" -lt $((constructs / 10)) ] || fail "$ran: $switches switches in $constructs constructs"
    done
done
finish
