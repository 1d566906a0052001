#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: trace.sh
#
# OMPDARTS_TRACE: the file is what docs/trace-format.md says and agrees with the statistics; where it cannot be written to its
# end, or the program is killed, nothing else is lost.
. "$(dirname "$0")/../common.sh"
trace=$work/trace.json
tile_bytes=$((32 * 32 * 4))

# traced EXPRESSION… : of the last run; `option` is check_trace.py's
traced() {
    python3 "$sources/checks/check_trace.py" ${option:+"$option"} "$trace" "$work/stats" "$@" && return
    fail "$ran: the trace is wrong"
}

for program in cholesky gemm2d lu; do
    plain 0 "$E2E_BENCH/$program" 6 32
    for settings in SCHED=darts "SCHED=eager EVICT=lru" "SCHED=mhfp EVICT=belady" "SCHED=dmdas COHERENCE=strict"; do
        # shellcheck disable=SC2086 # words
        under 0 $(sed 's/[A-Z_]*=/OMPDARTS_&/g' <<<"$settings") OMPDARTS_TRACE="$trace" OMPDARTS_DEVICES=2 \
            OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/$program" 6 32
        same_checksum
        traced "all(t['name'].startswith('task_') and '.inc:' in t['args']['source'] for t in tasks)" "stalls" \
            "len(flows) <= len([t for t in transfers if t['name'] == 'load'])" "len(flows) > 10" \
            "waiting and waiting[-1]['args']['waiting'] == 0" \
            "all(mode in ('in', 'inout') for t in tasks for _, mode in t['args']['depends'])" \
            "{a for t in tasks for a, _ in t['args']['depends']} <= {d[0] for t in tasks for d in t['args']['data']}" \
            "any(t['args']['created_us'] < t['args']['ready_us'] for t in tasks)"
    done
    under 0 OMPDARTS_TRACE="$trace" OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/$program" --style region 6 32
    traced "all('tasks_possible' in d['args'] for d in decisions if d['name'] == 'load')" \
        "all('planned_uses' in e['args'] for e in evictions if e['args']['reason'] != 'compaction')"
done

# Pages that kernels touch without having named them, where device memory is the process's own.
[ -n "${E2E_CUDA_DOUBLE-}" ] || {
    under 0 OMPDARTS_TRACE="$trace" "$E2E_PROGRAMS/array_unnamed" 1
    traced "faults and all(f['args']['size'] > 0 for f in faults)"
    stats "totals.faults > 0 and totals.fault_bytes >= 4096 and totals.fault_s > 0"
}

# Every policy tells its choices, with the numbers of its rule. The link is slow enough for many tasks to be ready before
# their data are there: else there is nothing to choose from.
plain 0 "$E2E_BENCH/gemm2d" 12 32
slow=OMPDARTS_BACKEND=omptarget:link=200M
[ -z "${E2E_CUDA_DOUBLE-}" ] || slow=CUDA_DOUBLE_BANDWIDTH=200000000
# decides POLICY [KIND SCORE]… : it tells choices of these kinds, each with that number; without a kind it tells none. Whether there is
# anything to take out of turn is a question of timing.
decides() {
    local policy=$1 told=()
    shift
    under 0 OMPDARTS_SCHED="$policy" OMPDARTS_TRACE="$trace" OMPDARTS_DEVICES=2 OMPDARTS_MEM=$((14 * tile_bytes)) \
        OMP_NUM_THREADS=1 $slow "$E2E_BENCH/gemm2d" 12 32
    same_checksum
    [ $# -gt 0 ] || told=("not decisions")
    while [ $# -gt 0 ]; do
        [ "$1" = take ] || told+=("any(d['name'] == '$1' for d in decisions)")
        told+=("all('$2' in d['args'] for d in decisions if d['name'] == '$1')")
        shift 2
    done
    traced "${told[@]}"
}
decides darts load tasks_possible
decides dmda place other_completion_s
decides dmdar place other_completion_s take first_lacking_bytes
decides dmdas place other_completion_s take first_priority
decides lws place released_there
decides "plugin:$E2E_PLUGIN" place lacking_bytes
for policy in rcm mst hfp mhfp hypergraph; do
    decides $policy plan data_bytes
done
decides eager
decides ap

# Host tasks that call a library, and synchronous constructs.
plain 0 "$E2E_BENCH/gemm3d" --style blas 5 32
under 0 OMPDARTS_TRACE="$trace" OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/gemm3d" --style blas 5 32
same_checksum
option=--revoked traced
plain 0 "$E2E_PROGRAMS/target_sync"
under 0 OMPDARTS_TRACE="$trace" "$E2E_PROGRAMS/target_sync"
same_output
traced tasks
# Too large for a device: the host's tasks.
plain 0 "$E2E_BENCH/lu" 6 32
under 0 OMPDARTS_TRACE="$trace" OMPDARTS_MEM=$((2 * tile_bytes)) "$E2E_BENCH/lu" 6 32
same_checksum
traced "any(t['pid'] == 1 for t in tasks)"

# A full disk: one warning.
plain 0 "$E2E_BENCH/cholesky" 16 32
under 0 OMPDARTS_TRACE=/dev/full "$E2E_BENCH/cholesky" 16 32
same_checksum
[ "$(grep -c 'trace' "$work/err")" -eq 1 ] || fail "$ran: not one warning, but $(cat "$work/err")"
says "/dev/full: No space left on device; the trace ends here, the program continues"
stats "stats.tasks == 816"
# For ViTE: written at the end, or converted.
plain 0 "$E2E_BENCH/lu" 6 32
for ending in paje trace; do
    under 0 OMPDARTS_TRACE="$work/x.$ending" OMPDARTS_DEVICES=2 OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/lu" 6 32
    same_checksum
    python3 "$sources/checks/check_paje.py" "$work/x.$ending" $((14 * tile_bytes)) || fail "$ran: the trace is wrong"
done
under 0 OMPDARTS_TRACE="$trace" OMPDARTS_DEVICES=2 OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/lu" 6 32
"$E2E_COMMAND" trace convert "$trace" "$work/y.paje" >"$work/out" 2>"$work/err" || fail "convert: $(cat "$work/err")"
python3 "$sources/checks/check_paje.py" "$work/y.paje" $((14 * tile_bytes)) "$trace" || fail "convert: the trace is wrong"
ran="ompdarts trace convert"
"$E2E_COMMAND" trace convert "$trace" "$work/y.csv" 2>"$work/err" && fail "$ran: to a format that there is not"
says "allowed: a file that ends in .paje or .trace"
"$E2E_COMMAND" trace convert "$work/y.paje" "$work/z.paje" 2>"$work/err" && fail "$ran: from Paje"
says "a trace for ViTE; wanted is one in JSON"
"$E2E_COMMAND" trace convert "$trace" /none/z.paje 2>"$work/err" && fail "$ran: to nowhere"
says "/none/z.paje: No such file or directory"
"$E2E_COMMAND" trace convert "$trace" 2>"$work/err" && fail "$ran: one file"
says "two files are needed, to convert from and to"
"$E2E_COMMAND" trace comvert 2>"$work/err" && fail "$ran: a typo"
says "unknown argument 'comvert', did you mean 'convert'?"
head -c 50000 "$trace" >"$work/cut.json"
"$E2E_COMMAND" trace convert "$work/cut.json" "$work/y.paje" 2>"$work/err" || fail "convert: $(cat "$work/err")"
says "the end is missing; what could be read is converted"
python3 "$sources/checks/check_paje.py" "$work/y.paje" $((14 * tile_bytes)) || fail "convert: of a cut trace"

# Nothing to trace, and nothing asked for.
rm -f "$trace"
under 0 OMPDARTS_TRACE="$trace" OMPDARTS_DISABLE=1 "$E2E_BENCH/cholesky" 4 32
[ ! -e "$trace" ] || fail "$ran: a trace of nothing"

# Killed in the middle: what has been written can be read.
env LD_PRELOAD="$preload" OMPDARTS_TRACE="$trace" "$E2E_BENCH/cholesky" --repeat 200 16 32 >"$work/out" 2>"$work/err" &
program=$!
for ((i = 0; i < 600; i++)); do
    size=$(stat -c %s "$trace" 2>/dev/null || echo 0)
    [ "$size" -lt 1000000 ] || break
    sleep 0.1
done
kill -KILL $program
wait $program 2>/dev/null
python3 "$sources/checks/check_trace.py" --cut "$trace" || fail "killed: the trace is wrong"
# Interrupted: it is complete.
env LD_PRELOAD="$preload" OMPDARTS_TRACE="$trace.2" "$E2E_BENCH/cholesky" --repeat 1000 16 32 >"$work/out" 2>"$work/err" &
program=$!
for ((i = 0; i < 600; i++)); do
    [ ! -s "$trace.2" ] || break
    sleep 0.1
done
kill -TERM $program
wait $program 2>/dev/null
python3 "$sources/checks/check_trace.py" "$trace.2" || fail "interrupted: the trace is wrong"
finish
