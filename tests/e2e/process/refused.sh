#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: refused.sh PROGRAM
#
# One of programs/* with an LLVM that the library does not know: it says so once, is off, and changes nothing else.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/$1

plain 0 "$program"
under 0 "$program"
same_output
says "is not known (known: 19, 22): ompdarts is off"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more on standard error: $(cat "$work/err")"
[ ! -e "$work/stats" ] || fail "$ran: statistics were written"
finish
