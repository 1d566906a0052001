#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: command.sh OMPDARTS
#
# `ompdarts sim` from the outside: help, refusals, tables, CSV, traces; the same seed gives the same bytes.
subcommand=sim
source "$(dirname "$0")/../subcommand.sh"

sim() { "$ompdarts" sim "$@"; }

sim --help | grep -q 'Workloads:' || fail "--help"
refused 'one of --workload and --graph' --sched eager
refused "did you mean 'gemm2d'" --workload gem2d
refused "did you mean 'pcie'" --workload lu:n=3 --platform pci
refused "unknown name; allowed: .*belady" --workload lu:n=3 --evict none
refused "darts" --workload lu:n=3 --sched darst
refused "not a size" --workload lu:n=3 --mem much
refused "a whole number from 1 to" --workload lu:n=3 --devices 0
refused "has 8 devices, not 9" --workload lu:n=3 --devices 9
refused "a task needs" --workload lu:n=3 --mem 1M
refused "not one of simgrid, oracle" --workload lu:n=3 --model none
refused "goes with neither" --workload lu:n=3 --model oracle --trace "$work/none"
refused "not off, auto, or a size" --workload lu:n=3 --guard much
refused "not N or N:W" --workload lu:n=3 --cpu all
refused "says nothing of the host's cores" --workload lu:n=3 --cpu 2
refused "has 64 cores, not 65" --workload lu:n=3 --platform a100x2 --cpu 65
refused "has 64 cores, not 66" --workload lu:n=3 --platform a100x2 --cpu 33:2
refused "does not go with --graph" --graph none --cpu 2
refused "a whole number from 1 to 1024" --workload lu:n=3 --nodes 0
refused "not NIC.:SWITCH" --workload lu:n=3 --nodes 2 --network fast
refused "not NIC.:SWITCH" --workload lu:n=3 --nodes 2 --network 0
refused "not NIC.:SWITCH" --workload lu:n=3 --nodes 2 --network 25:10:2:1
refused "not NIC.:SWITCH" --workload lu:n=3 --nodes 2 --network 25:
refused "has 16 devices, not 17" --workload lu:n=3 --nodes 2 --devices 17
refused "more than 1024 devices" --workload lu:n=3 --nodes 200
refused "not PxQ" --workload lu:n=3 --nodes 2 --block-cyclic 2
refused "not PxQ" --workload lu:n=3 --nodes 2 --block-cyclic 1x2:all
refused "not a grid of all nodes" --workload lu:n=3 --nodes 2 --block-cyclic 2x2
refused "not a grid of all nodes" --workload lu:n=3 --nodes 2 --block-cyclic 1x2 --devices 12
refused "does not go with --block-cyclic" --workload lu:n=3,levels=1920/960 --nodes 2 --block-cyclic 1x2
refused "has no argument 'generate'" --workload gemm2d:n=3,generate=1
refused "generate=2 is not 0 or 1" --workload lu:n=3,generate=2
refused "goes with neither tile=" --workload lu:n=3,levels=1920/960,generate=1
# Over 61 devices the other simulator takes over; both agree, and so does the oracle. One node is what the platform is.
nodes() { sim --workload lu:n=6 --platform h200x8 --sched dmda --quiet --csv - "$@" | tail -1 | cut -d, -f4,10,12-14,36-; }
[[ $(nodes --nodes 9) == 72,*,9,50000000000,* ]] || fail "nine nodes: $(nodes --nodes 9)"
[[ $(nodes --nodes 9 --devices 16) == "$(nodes --nodes 9 --devices 16 --network 50:0:2)" ]] || fail "the default network"
[[ $(nodes --nodes 9 --devices 8 | cut -d, -f2-5) == "$(nodes --devices 8 | cut -d, -f2-5)" ]] || fail "devices of one node"
[[ $(nodes --nodes 9) == "$(nodes --nodes 9 --model oracle)" ]] ||
    fail "72 devices: $(nodes --nodes 9), by the oracle $(nodes --nodes 9 --model oracle)"
sim --workload lu:n=6 --platform h200x8 --sched eager --nodes 2 | grep -q "network *node 0 sends" || fail "no network in the table"

# A block-cyclic distribution of the tiles that tasks write; of their first tasks alone, the others go where the policy says.
misplaced() {
    sim --workload lu:n=9,generate=1 --platform h200x8 --nodes 2 --block-cyclic "$1" --sched eager --quiet --trace - --csv "$work/csv" |
        awk -F, '$1 == "task" { all++; wrong += $7 != $5 % 2 * 8 + $4 % 2 * 4 + int($5 / 2) % 4; lost += $2 == "generate" &&
            $7 != $5 % 2 * 8 + $4 % 2 * 4 + int($5 / 2) % 4 } END { print all, wrong, lost + 0 }'
}
[ "$(misplaced 1x2)" = "366 0 0" ] || fail "block-cyclic: tasks, misplaced ones: $(misplaced 1x2)"
[[ $(misplaced 1x2:first) == "366 "[1-9]*" 0" ]] || fail "block-cyclic, first tasks: $(misplaced 1x2:first)"
moved() { sim --workload "$1" --platform h200x8 --nodes 2 --sched nodes --quiet --csv - | tail -1 | cut -d, -f12; }
[ "$(moved lu:n=9,generate=1)" -eq 0 ] || fail "what is made on devices comes from the program's memory"
[ "$(moved lu:n=9)" -eq $((81 * 1920 * 1920 * 4)) ] || fail "what is in the program's memory does not come from there once"
echo '#!/bin/sh' >"$work/program"
sim --workload lu:n=3 --trace "$work/program" >"$work/out" 2>"$work/err" && fail "a program is replaced by a trace"
grep -q "is a program, which would be replaced" "$work/err" || fail "--trace PROGRAM: $(cat "$work/err")"
refused "'luf' is an eviction rule" --workload lu:n=3 --sched darts+luf
refused "not one of ignore, measure, add" --workload lu:n=3 --sched-time yes
refused "is not an option" --workload lu:n=3 more
recursive=(--workload cholesky:n=4,levels=3840/1920/480,element=8 --platform a100x2 --devices 2)
refused "is for recursive workloads" --workload lu:n=3 --split never
refused "did you mean gaspp" "${recursive[@]}" --split gasp
refused "needs a level" "${recursive[@]}" --split level
refused "the program has no level 3: its levels are 0 to 2" "${recursive[@]}" --split level=3
refused "each of which divides the one before" --workload lu:levels=3840/1000
refused "goes with none of --model=oracle" "${recursive[@]}" --model oracle
for rule in never level=2 starve gaspp auto; do
    [ $rule = auto ] && recursive[1]=cholesky:n=2,levels=3840/1920/480,element=8 # it plays much
    sim "${recursive[@]}" --split "$rule" --cpu 60 --sched dmdas --quiet --csv - >"$work/split" || fail "--split $rule"
    sim "${recursive[@]}" --split "$rule" --cpu 60 --sched dmdas --quiet --csv - | cmp - "$work/split" || fail "$rule: not the same"
done
recursive[1]=cholesky:n=4,levels=3840/1920/480,element=8
sim "${recursive[@]}" --split level=2 --mem 400M --sched darts --trace "$work/recursive" >"$work/table" || fail "small memory"
grep -q 'split * 140 tasks' "$work/table" || fail "20 tasks, then 120 of 1920: $(cat "$work/table")"
[[ $(grep -c ^task "$work/recursive") -eq 5984 ]] || fail "32 tiles of 480: not all tasks have run"

run=(--workload cholesky:n=8 --mem 300M --devices 2 --seed 7)
sim "${run[@]}" --guard 1M --quiet --csv - >"$work/guarded" && sim "${run[@]}" --quiet --csv - | cmp - "$work/guarded" ||
    fail "the guard does something where no data live on devices only"
sim "${run[@]}" >"$work/table" || fail "a table"
grep -q 'GFlop/s' "$work/table" || fail "the table has no speed"
sim "${run[@]}" --csv - --quiet --trace "$work/trace1" >"$work/csv1" || fail "CSV"
sim "${run[@]}" --csv - --quiet --trace "$work/trace2" >"$work/csv2" || fail "CSV"
cmp "$work/csv1" "$work/csv2" || fail "the same seed, another result"
cmp "$work/trace1" "$work/trace2" || fail "the same seed, another trace"
[[ $(grep -c '^task,' "$work/trace1") == 120 ]] || fail "the trace has not 120 tasks"
sim "${run[@]}" --quiet --csv - --trace "$work/1.json" >"$work/csv3" || fail "a trace for Perfetto"
sim "${run[@]}" --quiet --csv - --trace "$work/2.json" >/dev/null || fail "a trace for Perfetto"
cmp "$work/csv1" "$work/csv3" || fail "who is told decides differently"
cmp "$work/1.json" <(sed "2s#$work/2.json#$work/1.json#" "$work/2.json") || fail "the same seed, another trace for Perfetto"
python3 "$(dirname "$0")/../e2e/checks/check_trace.py" "$work/1.json" || fail "a wrong trace for Perfetto"
[[ $(grep -c '"cat":"task"' "$work/1.json") == 120 ]] || fail "the trace for Perfetto has not 120 tasks"
[[ $(grep -c '"created_us":0.000,' "$work/1.json") == 120 ]] || fail "not all tasks are created at the beginning"
sim "${run[@]}" --quiet --csv - --model oracle >"$work/csv4" || fail "the oracle"
cmp "$work/csv1" "$work/csv4" || fail "the oracle, other figures"
# decides POLICY [KIND…] : it tells choices of the first kind, perhaps of the others, and takes the same where nobody listens
decides() {
    local policy=$1 told kind
    shift
    sim --sched "$policy" --workload gemm2d:n=16 --mem 300M --devices 4 --quiet --csv - >"$work/csv1" || fail "$policy"
    sim --sched "$policy" --workload gemm2d:n=16 --mem 300M --devices 4 --quiet --csv - --trace "$work/1.json" >"$work/csv2" ||
        fail "$policy, traced"
    cmp "$work/csv1" "$work/csv2" || fail "$policy: who is told decides differently"
    python3 "$(dirname "$0")/../e2e/checks/check_trace.py" "$work/1.json" || fail "$policy: a wrong trace for Perfetto"
    told=$(grep -o '"name":"[a-z]*","cat":"decision"' "$work/1.json" | cut -d'"' -f4 | sort -u | xargs)
    for kind in $told; do
        [[ " $* " == *" $kind "* ]] || fail "$policy tells '$told', and not only '$*'"
    done
    [[ " $told " == *" ${1-} "* ]] || fail "$policy tells '$told', nothing of '$1'"
}
for policy in eager ap; do decides $policy; done
for policy in dmda dmda:bus; do decides $policy place; done
for policy in dmdar dmdas; do decides $policy place take; done
for policy in rcm mst hfp mhfp hypergraph; do decides $policy plan take steal; done
decides darts load place steal
decides lws place steal
sim "${run[@]}" --trace /nonexistent/x.json 2>"$work/err" && fail "a trace that cannot be written"
grep -q '/nonexistent/x.json: No such file or directory' "$work/err" || fail "no word about it: $(cat "$work/err")"
[[ $(wc -l <"$work/csv1") == 2 ]] || fail "the CSV has not a header and a row"

# CPU workers: a row of the table, their columns of the CSV, the places of their tasks in traces.
cpu=(--workload cholesky:n=40,tile=480,element=8 --platform a100x2 --devices 2 --sched dmdas --cpu)
sim "${cpu[@]}" 16:4 | grep -qE '^  CPU +[1-9][0-9]* .* of 16 workers of 4 cores' || fail "no CPU workers in the table"
sim "${cpu[@]}" 16 --quiet --csv - --trace "$work/trace1" >"$work/csv1" || fail "CPU workers"
ran=$(grep -c '^task,.*,cpu[0-9]*,' "$work/trace1")
[[ $(tail -1 "$work/csv1" | cut -d, -f30-32) == "16,1,$ran" && $ran -gt 0 ]] || fail "$ran tasks: $(tail -1 "$work/csv1")"
sim "${cpu[@]}" 16 --quiet --csv - --trace "$work/1.json" | cmp - "$work/csv1" || fail "who is told decides differently"
python3 "$(dirname "$0")/../e2e/checks/check_trace.py" "$work/1.json" || fail "a wrong trace for Perfetto, with CPU workers"

# One header, however often rows are appended; one row per repetition.
sim --workload pairs:n=5 --repeat 3 --csv "$work/rows" --quiet && sim --workload pairs:n=5 --csv "$work/rows" --quiet
[[ $(wc -l <"$work/rows") == 5 && $(grep -c ^workload, "$work/rows") == 1 ]] || fail "rows are not appended"

# fast GFLOPS ARGUMENT… : it is as fast as that
fast() {
    local speed
    speed=$(sim --csv - --quiet "${@:2}" | tail -1 | cut -d, -f11)
    awk -v least="$1" -v speed="$speed" 'BEGIN { exit !(speed >= least) }' || fail "${*:2}: $speed GFlop/s"
}
fast 26000 --workload cholesky:n=20 --platform pcie --devices 8 --mem 2000Mi --sched auto
fast 28000 --workload lu:n=20 --platform pcie --devices 8:4 --mem 2000Mi --sched stationary:owners

# What deciding costs can be added to the simulated time: of one task, nothing can hide it.
makespan() { sim --workload lu:n=1 --csv - --quiet "$@" | tail -1 | cut -d, -f10; }
awk -v a="$(makespan)" -v b="$(makespan --sched-time add)" 'BEGIN { exit !(b > a) }' || fail "--sched-time add adds nothing"
[[ $(makespan) == "$(makespan --sched-time measure)" ]] || fail "--sched-time measure changes the result"
refused "not one of stay, late, early" --workload lu:n=3 --results never

# Planning that takes time: with little of it auto does no better than darts, with more it does, and the same every time.
planned() { sim --workload lu:n=5 --devices 4 --mem 300Mi --csv - --quiet "$@" | tail -1 | cut -d, -f10; }
darts=$(planned --sched darts) little=$(planned --processors 1) more=$(planned --processors 16) all=$(planned)
[[ $more == "$(planned --processors 16)" ]] || fail "--processors: another result"
awk "BEGIN { exit !($all < $more && $more < $darts && $little <= 1.02 * $darts) }" ||
    fail "auto takes $little, $more and $all s with 1, 16 and all processors, darts $darts s"
refused "not a whole number" --workload lu:n=3 --processors few

# Durations that are learnt as tasks run: what was chosen on guesses is chosen again.
darts=$(planned --sched darts --durations learnt) auto=$(planned --durations learnt)
awk "BEGIN { exit !($auto <= 1.03 * $darts) }" || fail "a first run takes $auto s, under darts $darts s"
[[ $darts != "$(planned --sched darts)" ]] || fail "--durations learnt: as if they were known"
refused "not one of known, learnt" --workload lu:n=3 --durations never
refused "goes with neither" --workload lu:n=3 --model oracle --durations learnt

# Results written back belong to the run; those sent early move no more bytes, and the run ends sooner.
results() { sim --workload gemm3d:n=6 --csv - --quiet --results "$1" | tail -1 | cut -d, -f10,12-14; }
IFS=, read -r stay _ none _ < <(results stay)
IFS=, read -r late _ all _ < <(results late)
IFS=, read -r early _ same _ < <(results early)
[[ $none == 0 && $all == 132710400 && $same == "$all" ]] || fail "results: $none, $all, $same bytes to the host"
awk "BEGIN { exit !($stay < $early && $early < $late) }" || fail "results: $stay s, early $early s, late $late s"
sim "${run[@]}" --csv /dev/full --quiet 2>/dev/null && fail "a full disk goes unnoticed"
exit 0
