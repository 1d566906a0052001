#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OMPDARTS_DEBUG=check: host accesses to tiles of which a device keeps a copy are found and told; all else goes on as without it,
# the program's own handler of SIGSEGV included. Right programs run with it in construct.sh.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/host_access
found=88

# told : the message says what, by whom, and what used the tile before
told() {
    says "ompdarts: check: the host $1"
    says "of the 65536 bytes at 0x"
    says "  by "
    says "called from "
    says "last used on a device by the target region in reader, line "
    says "host_access.c"
    says "OMPDARTS_COHERENCE=strict"
    [ "$(grep -c 'check: the host' "$work/err")" -eq 1 ] || fail "$ran: not one finding: $(cat "$work/err")"
}

# named FUNCTION : with its line, by the system's symboliser
named() {
    command -v addr2line >/dev/null || return
    grep -qE "  (by|   called from) $1 at .*host_access.c:[0-9]+$" "$work/err" || fail "$ran: no line in $1, but: $(cat "$work/err")"
}

for coherence in auto depend; do
    under $found OMPDARTS_DEBUG=check OMPDARTS_COHERENCE=$coherence "$program" write
    told "writes to"
    named write_input
    named main
    says "a device copy of them is kept"
    under $found OMPDARTS_DEBUG=check OMPDARTS_COHERENCE=$coherence "$program" read
    told "reads from"
    says "their current contents are on a device only"
    under $found OMPDARTS_DEBUG=check OMPDARTS_COHERENCE=$coherence "$program" library_call
    told "reads from"
    named library_call
done
under $found OMPDARTS_DEBUG=check PATH=/none "$program" write # no symboliser
told "writes to"
says "host_access+0x"
under $found OMPDARTS_DEBUG=check "$program" late_handler
told "writes to"
under $found OMPDARTS_DEBUG=check "$program" returned
told "writes to"

# One message for each tile, and the program goes on.
under 0 OMPDARTS_DEBUG=check=warn "$program" write 5
told "writes to"
grep -qx right "$work/out" || fail "$ran: the program did not go on"
under 0 OMPDARTS_DEBUG=check=warn "$program" write_both 5
[ "$(grep -c 'check: the host' "$work/err")" -eq 2 ] || fail "$ran: not two findings: $(cat "$work/err")"

# What is none of ours: the edges of tiles, faults elsewhere, before and after us, and with no handler.
under 0 OMPDARTS_DEBUG=check "$program" edges
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
for how in foreign foreign_late foreign_chain; do
    under 7 OMPDARTS_DEBUG=check "$program" $how
    grep -qx "own handler" "$work/out" || fail "$ran: the program's handler was not called"
done
under 0 OMPDARTS_DEBUG=check "$program" foreign_jump
grep -qx "1000 jumps" "$work/out" || fail "$ran: $(cat "$work/out")"
ulimit -c 0
under 139 "${own_crashes[@]}" OMPDARTS_DEBUG=check "$program" crash
[ ! -s "$work/err" ] || [ -n "$sanitizer" ] || fail "$ran: $(cat "$work/err")"

# Without the check, and with copies that are not kept, nothing is found.
under 0 OMPDARTS_COHERENCE=strict OMPDARTS_DEBUG=check "$program" write 1
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
under 0 "$program" write 1
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
under 2 OMPDARTS_DEBUG=check=2 "$program" write
says "'check=2' is not a valid part; allowed: 0 (off), or some of check, check=warn, "
finish
