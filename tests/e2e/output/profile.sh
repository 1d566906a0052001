#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: profile.sh
#
# What is kept between runs (OMPDARTS_CACHE): links are measured once, kernel times are found again; a damaged file, one that
# cannot be written, and several programs at once do no harm.
. "$(dirname "$0")/../common.sh"
export OMPDARTS_CACHE=1 XDG_CACHE_HOME=$work/cache OMPDARTS_LOG=info
program=("$E2E_BENCH/cholesky" 6 32)
plain 0 "${program[@]}"

measured() {
    local count
    count=$(grep -c '(measured)' "$work/err")
    [ "$count" -eq "$1" ] || fail "$ran: $count links measured, not $1: $(head -n 5 "$work/err")"
}

under 0 "${program[@]}"
same_checksum
measured 2
file=$(find "$work/cache/ompdarts" -type f ! -name '*.lock')
[ "$(grep -c ' kernel __omp_offloading_' "$file")" -ge 4 ] || fail "$ran: no kernels in $(cat "$file")"
under 0 "${program[@]}"
same_checksum
measured 0
! grep -q "damaged" "$work/err" || fail "$ran: $(cat "$work/err")"

# A link that is slowed on purpose is no measurement.
under 0 OMPDARTS_BACKEND=omptarget:link=100M XDG_CACHE_HOME="$work/other" "${program[@]}"
measured 0

echo nonsense >"$file"
under 0 "${program[@]}"
same_checksum
[ "$(grep -c "is damaged or of another version: started anew" "$work/err")" -eq 1 ] || fail "$ran: not once: $(cat "$work/err")"
measured 2
under 0 "${program[@]}"
measured 0

under 0 XDG_CACHE_HOME=/proc/none "${program[@]}"
same_checksum
says "no folder for measurements"
under 0 XDG_CACHE_HOME= HOME= "${program[@]}"
same_checksum
under 0 OMPDARTS_CACHE=0 XDG_CACHE_HOME="$work/none" "${program[@]}"
[ ! -e "$work/none" ] || fail "$ran: wrote measurements"

for i in 1 2 3 4; do
    LD_PRELOAD="$preload" "$patient" $limit_s "${program[@]}" >"$work/out.$i" 2>"$work/err.$i" &
done
wait
for i in 1 2 3 4; do
    grep -qx "$(grep '^checksum ' "$work/plain")" "$work/out.$i" || fail "of four at once: $(cat "$work/err.$i")"
    ! grep -q "damaged" "$work/err.$i" || fail "of four at once: $(cat "$work/err.$i")"
done
finish
