#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: random_sections.sh SEEDS
#
# programs/random_sections.c with seeds 1 to SEEDS, with the library and without: the same lines, the same end, the same
# messages but for addresses.
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how libomptarget refuses
program=$E2E_PROGRAMS/random_sections

messages() { grep -v '^ompdarts' "$1" | sed -E 's/0x[0-9a-f]+/ADDRESS/g'; }

refused=0
for ((seed = 1; seed <= $1; seed++)); do
    timeout $limit_s "$program" $seed >"$work/plain" 2>"$work/err"
    code=$?
    refused=$((refused + (code == 134)))
    messages "$work/err" >"$work/plain.messages"
    for settings in OMPDARTS_COHERENCE=auto "OMPDARTS_COHERENCE=strict OMPDARTS_DEVICES=2"; do
        under $code $settings "$program" $seed
        same_output
        messages "$work/err" | diff "$work/plain.messages" - || fail "$ran: other messages than without the library"
    done
done
((refused > 0 && refused < $1)) || fail "of $1 programs $refused are refused: the rest of the rules is not tried"
finish
