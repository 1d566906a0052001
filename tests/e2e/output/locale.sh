#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: locale.sh SHIM [SIMULATOR]
#
# A program under a locale with a decimal comma: all files that it writes and reads are those of the locale "C". The locale is
# built here. SHIM calls setlocale() in the program.
. "$(dirname "$0")/../common.sh"
shim=$1 simulator=${2-}
if ! command -v localedef >/dev/null || [ ! -f /usr/share/i18n/locales/de_DE ]; then
    echo "skipped: no localedef, or no sources of locales (Debian: locales)"
    exit 77
fi
mkdir "$work/locales"
localedef -i de_DE -f UTF-8 "$work/locales/comma" >/dev/null 2>&1 || fail "localedef: the locale cannot be built"
comma=(LOCPATH="$work/locales" LC_ALL=comma LD_PRELOAD="$preload:$shim")
program=(OMPDARTS_STATS=summary "$E2E_BENCH/cholesky" 6 32)
export OMPDARTS_CACHE=1 XDG_CACHE_HOME=$work/cache

# What a run in one locale has measured serves one in the other.
plain 0 "${program[@]}"
under 0 "${program[@]}"
under 0 "${comma[@]}" OMPDARTS_TRACE="$work/trace.json" OMPDARTS_RECORD="$work/graph" "${program[@]}"
same_checksum
stats 'stats.tasks > 0' 'stats.wall_s != int(stats.wall_s)'
grep -qE 'tasks \(0 on the host\) in [0-9]+\.[0-9]+ s' "$work/err" || fail "$ran: $(grep '^ompdarts: ' "$work/err")"
under 0 "${program[@]}"
! grep -q damaged "$work/err" || fail "$ran: $(cat "$work/err")"
file=$(find "$work/cache/ompdarts" -type f ! -name '*.lock')
! grep -qE '^[0-9]+ [0-9]+ [^ ]*,' "$file" || fail "decimal commas in $(cat "$file")"

under 0 "${comma[@]}" OMPDARTS_TRACE="$work/trace.json" OMPDARTS_RECORD="$work/graph" "${program[@]}"
! grep -q damaged "$work/err" || fail "$ran: $(cat "$work/err")"
python3 -m json.tool "$work/trace.json" >/dev/null || fail "$ran: the trace is no JSON"
under 0 "${comma[@]}" OMPDARTS_TRACE="$work/trace.paje" "${program[@]}"
! grep -qE '(^| )[0-9]+,[0-9]' "$work/trace.paje" || fail "$ran: decimal commas: $(grep -m 3 -E ' [0-9]+,[0-9]' "$work/trace.paje")"
! grep -qE ' [0-9]+,[0-9]' "$work/graph" || fail "decimal commas in $(grep -m 3 -E ' [0-9]+,[0-9]' "$work/graph")"
if [ -n "$simulator" ]; then
    "$patient" 60 "$simulator" --graph "$work/graph" --platform nvlink --devices 4 >"$work/out" 2>"$work/err" ||
        fail "the recording cannot be replayed: $(cat "$work/err")"
fi
finish
