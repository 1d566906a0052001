#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: kept_settings.sh
#
# With which settings a graph was carried out by `auto`, and how long that took, is known to the next run of the program; it is
# shown, cleared, kept for each number of devices, and harmless where it is damaged.
. "$(dirname "$0")/../common.sh"
export OMPDARTS_CACHE=1 XDG_CACHE_HOME=$work/cache OMPDARTS_SCHED=auto OMPDARTS_BACKEND=omptarget:slow=20
program=("$E2E_BENCH/cholesky" 8 32) # 120 tasks
plain 0 "${program[@]}"

runs_kept() { # of the whole graph, at the beginning of a process, on so many devices
    local file
    file=$(find "$work/cache/ompdarts" -type f ! -name '*.lock')
    sed -n "s/^120 \([0-9]*\) .* graph first [0-9a-f]* of cholesky .* with $1 devices of .*/\1/p" "$file" |
        sort -n | tail -n 1
}

# Tasks may be done before others are created, where the machine is busy: it is another graph then.
kept=
for run in 1 2 3 4 5 6; do
    under 0 OMPDARTS_DEVICES=2 "${program[@]}"
    same_checksum
    kept=$(runs_kept 2)
    [ "${kept:-0}" -lt 2 ] || break
done
[ "${kept:-0}" -ge 2 ] || fail "$ran: no run found what the one before had left: $(find "$work/cache" -type f -exec cat {} +)"
[ -z "$(runs_kept 3)" ] || fail "$ran: kept for three devices"

"$E2E_COMMAND" history show cholesky >"$work/shown" || fail "history show: exit code $?"
grep -q "settings of auto" "$work/shown" || fail "history: $(cat "$work/shown")"
grep -q "120  host *cholesky, once, [a-z]" "$work/shown" || fail "history: $(cat "$work/shown")"

file=$(find "$work/cache/ompdarts" -type f ! -name '*.lock')
sed -i 's/\( graph .*: \).*/\1none luf 0 x/' "$file"
under 0 OMPDARTS_DEVICES=2 "${program[@]}"
same_checksum

"$E2E_COMMAND" history clear "graph " >/dev/null || fail "history clear: exit code $?"
[ -z "$(runs_kept 2)" ] || fail "history is not cleared"
under 0 OMPDARTS_CACHE=0 OMPDARTS_DEVICES=2 "${program[@]}"
[ -z "$(runs_kept 2)" ] || fail "$ran: kept what it was not to"
finish
