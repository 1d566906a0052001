#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: guard.sh OMPDARTS
#
# Recorded runs replayed with a guard or a limit of the spill area that they did not have: chains of a datum that is born on
# a device, made, used and freed. The recorded run had made those of the last chain when its thread wrote back results, before
# any of the others; under the guard they come last. Nothing waits for ever, and data die when they are used.
subcommand=sim
source "$(dirname "$0")/../subcommand.sh"

# chains COUNT [host]: a recording. host: the first chain's datum is used after a host task, which ended after that moment.
# Tasks take $task_seconds.
task_seconds=0.001
chains() {
    awk -v n="$1" -v host="${2-}" -v s="$task_seconds" '
        function put(line) { print line; lines++ }
        function clock() { return sprintf("%.6f", now += 1e-6) }
        function place(i) { return sprintf("%#x", 1048576 * (i + 1)) }
        function enter(i) { put("open " clock() " " 4 * i + 1 " " place(i) " 1048576 undefined"); put("done " 4 * i + 1 " " clock() " 0") }
        function fill(i) {
            put("datum " data + 0 " " place(i) " 1048576")
            put("task " 4 * i + 2 " " clock() " 0 0 " s " 1 " data++ ":w 1 " 4 * i + 1)
            put("ran " 4 * i + 2 " 0 " clock() " " s " " clock())
        }
        function finish(i) {
            put("task " 4 * i + 3 " " clock() " 0 0 " s " 1 " (i == n - 1 ? 0 : data - 1) ":r " \
                (i == 0 && host ? 2 " " 4 * n + 1 : 1) " " 4 * i + 2)
            put("ran " 4 * i + 3 " 0 " clock() " " s " " clock())
            put("close " clock() " " 4 * i + 4 " " place(i) " 1048576 release")
            put("done " 4 * i + 4 " " clock() " 1 " 4 * i + 3)
        }
        BEGIN {
            put("ompdarts-graph 4")
            put("run devices=1 memory=1048576000 buffer=3 seed=1 spill=1 active=0")
            put("policy darts"); put("eviction luf"); put("links 12000000000 0.00001 0 0"); put("kernel 0 work")
            for (i = 0; i < n; i++)
                for (k = 1; k <= 4; k++)
                    put("create " 4 * i + k " " clock() " " (k == 2 || k == 3 ? s : 0) " 1 " place(i) ":" (k == 3 ? "r" : "rw"))
            if (host) put("create " 4 * n + 1 " " clock() " 0 0")
            enter(n - 1); fill(n - 1)
            put("sync " clock()); put("resume " clock())
            if (host) put("done " 4 * n + 1 " " clock() " 0")
            for (i = 0; i < n - 1; i++) { enter(i); fill(i); finish(i) }
            finish(n - 1)
            put("moved 0 0 0 0"); put("end " 2 * n " " data " " lines + 1)
        }'
}

# replay OPTIONS… : $spilled bytes, $most bytes in spill areas, $peak on a device, $seconds
replay() {
    "$ompdarts" sim --graph "$work/graph" --quiet --csv - "$@" >"$work/csv" 2>"$work/err" || fail "$*: $(cat "$work/err")"
    IFS=, read -r seconds peak spilled most < <(tail -1 "$work/csv" | cut -d, -f10,27-29)
}

chains 12 >"$work/graph"
replay --mem 4Mi --sched eager
((spilled > 0)) || fail "nothing is spilled without the guard"
for devices in 1 2 4; do
    for policy in darts eager stationary; do
        for bound in 1 2 3; do
            machine=(--devices $devices --sched $policy --mem 4Mi --guard ${bound}Mi)
            replay "${machine[@]}"
            ((spilled == 0 && peak <= bound * 1048576)) || fail "${machine[*]}: $spilled bytes are spilled, $peak in use"
            machine=(--devices $devices --sched $policy --mem 2Mi --spill-limit ${bound}Mi)
            replay "${machine[@]}"
            ((most <= bound * 1048576)) || fail "${machine[*]}: $most bytes"
        done
        replay --devices $devices --sched $policy --mem 2Mi --guard auto
    done
done

# What the guard holds back may be awaited by what everything before it needs: then it is let go.
chains 4 host >"$work/graph"
replay --mem 4Mi --guard 1Mi
awk "BEGIN { exit !($seconds > 0.5 && $seconds < 5) }" || fail "a task that is held back for ever: $seconds s"

# What takes less time to make than to write back and to load is made again; what takes longer is not.
for task_seconds in 0.00001 0.001; do
    chains 12 >"$work/graph"
    for policy in darts eager; do # stationary spills nothing
        machine=(--sched $policy --mem 4Mi)
        replay "${machine[@]}"
        before=$seconds kept=$spilled
        replay "${machine[@]}" --recompute auto
        if [ $task_seconds = 0.001 ]; then
            [ "$spilled $seconds" = "$kept $before" ] || fail "${machine[*]}: slow tasks run again"
        else
            awk "BEGIN { exit !($spilled < $kept && $seconds < $before) }" ||
                fail "${machine[*]}: $spilled bytes are spilled in $seconds s, before $kept in $before s"
        fi
        replay "${machine[@]}" --recompute always
        ((spilled < kept)) || fail "${machine[*]}: $spilled bytes are spilled, $kept before"
    done
done

"$ompdarts" analyze "$work/graph" --sched=darts,eager >"$work/out" || fail "analyze"
grep -q "with 12.6 MB a device this program would evict nothing under darts; the recorded run had 1.05 GB" "$work/out" ||
    fail "what would be enough: $(tail -3 "$work/out")"

sim() { "$ompdarts" sim "$@"; }
refused "not off, or a size" --workload lu:n=3 --spill-limit 0
refused "not one of off, auto, always" --workload lu:n=3 --recompute sometimes
exit 0
