#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: refused_maps.sh
#
# Wrong constructs (programs/refused_maps.c) end the program with the library as without: the same exit status, the same
# messages but for addresses.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/refused_maps
export "${own_crashes[@]}" # a message and abort() is how libomptarget refuses

messages() { grep -v '^ompdarts' "$1" | sed -E 's/0x[0-9a-f]+/ADDRESS/g'; }

for name in $(grep -oE 'is\("[a-z]+\.[a-z_]+"\)' "$sources/programs/refused_maps.c" | cut -d'"' -f2); do
    plain 134 "$program" "$name"
    messages "$work/err" >"$work/plain.messages"
    grep -q . "$work/plain.messages" || fail "$name: no message without the library"
    for settings in OMPDARTS_COHERENCE=auto OMPDARTS_COHERENCE=strict; do
        under 134 $settings "$program" "$name"
        same_output
        messages "$work/err" | diff "$work/plain.messages" - || fail "$ran: other messages than without the library"
    done
done

plain 0 "$program"
for settings in OMPDARTS_COHERENCE=auto OMPDARTS_COHERENCE=strict OMPDARTS_DEVICES=1; do
    under 0 $settings "$program"
    same_output
done
finish
