#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: ranks.sh
#
# Devices of three ranks, one of which has two: summary, statistics, traces and reports are grouped by rank, and say the
# same. Devices of one rank are not grouped.
. "$(dirname "$0")/../common.sh"
limit=300000
host=$(uname -n | cut -c -63)
export OMPDARTS_SCHED=dmdas
plain 0 "$E2E_BENCH/cholesky" 8 96

# summary PATTERN… : lines of the summary that match these, one after the other
summary() {
    local pattern number=0 next
    for pattern; do
        next=$(tail -n +$((number + 1)) "$work/err" | grep -nE -m 1 -- "^$pattern" | cut -d : -f 1)
        [ -n "$next" ] || { fail "$ran: no line '$pattern' after line $number of: $(cat "$work/err")"; return; }
        number=$((number + next))
    done
}

under 0 OMPDARTS_STATS=summary OMPDARTS_TRACE="$work/trace.json" OMPDARTS_MEM=$limit "$E2E_BENCH/cholesky" 8 96
same_checksum
sums="[0-9]+ tasks?, busy [0-9.]+%, [0-9.]+ MB from rank 0, [0-9.]+ MB from other ranks, [0-9.]+ MB within one rank, [0-9]+ evictions?$"
summary "rank 1 on $host: 1 device, $sums" "device 0 of rank 1 " "rank 2 on $host: 1 device, $sums" "device 0 of rank 2 " \
    "rank 3 on $host: 2 devices, $sums" "device 0 of rank 3 " "device 1 of rank 3 " "3 ranks: 4 devices, 120 tasks, .* evictions?$" "all "
stats "[r.rank for r in stats.ranks] == [1, 2, 3]" "[r.devices for r in stats.ranks] == [1, 1, 2]" \
    "all(r.host == '$host' for r in stats.ranks)" "sum(r.tasks for r in stats.ranks) == 120" \
    "all(r.remote_bytes == r.d2d_bytes for r in stats.ranks[:2])" "0 < totals.remote_bytes < totals.d2d_bytes"
python3 "$sources/checks/check_trace.py" "$work/trace.json" "$work/stats" || fail "$ran: the trace is wrong"
[ "$(grep -c '"name":"process_labels"' "$work/trace.json")" -eq 4 ] || fail "$ran: not all devices have a rank in the trace"

# As text, the sums of a rank are those of the statistics.
"$E2E_COMMAND" report "$work/trace.json" >"$work/report" || fail "report: exit code $?"
python3 - "$work/stats" "$work/report" <<'CODE' || fail "report: $(cat "$work/report")"
import json, re, sys

stats = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], encoding="utf-8").read()
rows = re.findall(r"^( *)(rank \d on \S+|device \d of rank \d) +(.*)$", text, re.M)
assert [name.split()[0] for _, name, _ in rows] == "rank device rank device rank device device".split(), rows
for rank in stats["ranks"]:
    figures = next(r.split() for _, name, r in rows if name == f"rank {rank['rank']} on {rank['host']}")
    told = [int(figures[0]), *(float(n) for n in figures[9:13]), *(int(n) for n in figures[13:16])]
    known = [rank["tasks"], *(round(rank[n] / 1e6, 1) for n in ("h2d_bytes", "d2h_bytes", "d2d_bytes", "remote_bytes")),
             rank["loads"], rank["reloads"], rank["evictions"]]
    assert all(abs(a - b) < 0.11 for a, b in zip(told, known, strict=True)), (told, known)
CODE

"$E2E_COMMAND" report "$work/trace.json" -o "$work/report.html" 2>"$work/err" || fail "report: exit code $?"
for width in 1200 400; do
    "$sources/checks/browse.sh" "$work/report.html" $width
    case $? in 0 | 77) ;; *) fail "the page is wrong" ;; esac
done

# Kernels do not run there in slices, and the summary does not say that they might.
under 0 OMPDARTS_SLICE=4 "$E2E_PROGRAMS/slices" stencil
stats "[k.sliced for k in stats.kernels] == [0]" "stats.kernels[0].reason == 'runs on devices of other ranks'"
under 0 OMPDARTS_STATS=summary "$E2E_PROGRAMS/slices" stencil
! grep -q OMPDARTS_SLICE "$work/err" || fail "$ran: $(cat "$work/err")"

# For ViTE: each place is in the container of its rank, the host in that of rank 0.
"$E2E_COMMAND" trace convert "$work/trace.json" "$work/converted.paje" || fail "convert: exit code $?"
python3 "$sources/checks/check_paje.py" "$work/converted.paje" $limit "$work/trace.json" || fail "convert: the trace is wrong"
under 0 OMPDARTS_TRACE="$work/x.paje" OMPDARTS_MEM=$limit "$E2E_BENCH/cholesky" 8 96
for file in converted x; do
    python3 "$sources/checks/check_paje.py" "$work/$file.paje" $limit || fail "$file.paje: the trace is wrong"
    sed -nE 's/^5 0.0 (R[0-9]+) Rank R "(rank [0-9]).*/\1 \2/p' "$work/$file.paje" >"$work/containers"
    while read -r place container name; do
        grep -q "^$container ${name/* of /}$" "$work/containers" || fail "$file.paje: $name, $place, is in $container of $(cat "$work/containers")"
    done < <(sed -nE 's/^5 0.0 (P[0-9]+) Place (R[0-9]+) "(.*)"$/\1 \2 \3/p; ' "$work/$file.paje" | sed 's/ host$/ host of rank 0/')
done

# One rank: as without.
under 0 OMPDARTS_STATS=summary OMPDARTS_DEVICES=2,3 OMPDARTS_TRACE="$work/trace.json" OMPDARTS_MEM=$limit "$E2E_BENCH/cholesky" 8 96
same_checksum
stats "not hasattr(stats, 'ranks')" "len(devices) == 2"
! grep -qE "on $host|process_labels" "$work/err" "$work/trace.json" || fail "$ran: devices of one rank are grouped"
finish
