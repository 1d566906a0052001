#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: nvtx.sh LIBRARY [PROFILER]
#
# A profiler that listens to NVTX is told the same as the trace and the statistics, and every range is ended, however
# the run ends. LIBRARY was built with the double of NVIDIA's header (tests/nvtx_double), or, with a PROFILER, with that
# header itself.
own_library=$E2E_LIBRARY E2E_LIBRARY=$1
. "$(dirname "$0")/../common.sh"
export NVTX_DOUBLE_LOG=$work/log
profiled=(NVTX_INJECTION64_PATH="${2-the double}")
trace=$work/trace.json
tile_bytes=$((32 * 32 * 4))

# told PROCESSES [STATS TRACE] : since the last time
told() {
    python3 "$sources/checks/check_nvtx.py" "$NVTX_DOUBLE_LOG" "$@" || fail "$ran: the profiler was told something wrong"
    rm -f "$NVTX_DOUBLE_LOG"
}

# silent : the profiler was told nothing
silent() {
    [ ! -e "$NVTX_DOUBLE_LOG" ] || fail "$ran: a profiler was told something"
    rm -f "$NVTX_DOUBLE_LOG"
}

plain 0 "$E2E_BENCH/cholesky" 6 32
for settings in DEVICES=1 "DEVICES=2 SCHED=eager EVICT=lru" "DEVICES=2 COHERENCE=strict"; do
    # shellcheck disable=SC2046,SC2086 # words
    under 0 $(sed 's/[A-Z_]*=/OMPDARTS_&/g' <<<"$settings") "${profiled[@]}" OMPDARTS_TRACE="$trace" \
        OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/cholesky" 6 32
    same_checksum
    stats "stats.tasks == 56"
    [[ $settings = *strict ]] || stats "totals.evictions > 0"
    told 1 "$work/stats" "$trace"
done
# Without a trace beside it; too large for a device: the host's tasks.
under 0 "${profiled[@]}" OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/cholesky" --style region 6 32
told 1
under 0 "${profiled[@]}" OMPDARTS_TRACE="$trace" OMPDARTS_MEM=$((2 * tile_bytes)) "$E2E_BENCH/cholesky" 6 32
same_checksum
stats "stats.host_tasks > 0"
told 1 "$work/stats" "$trace"

# Nobody listens.
under 0 "$E2E_BENCH/cholesky" 6 32
same_checksum
silent
under 0 "${profiled[@]}" OMPDARTS_DISABLE=1 "$E2E_BENCH/cholesky" 6 32
silent
# The library as it is built, with or without the header, and a profiler that is not there.
preload=${sanitizer:+$sanitizer:}$own_library
under 0 NVTX_INJECTION64_PATH=/none/profiler.so OMPDARTS_MEM=$((14 * tile_bytes)) "$E2E_BENCH/cholesky" 6 32
same_checksum
silent
preload=${sanitizer:+$sanitizer:}$E2E_LIBRARY

# Interrupted.
env LD_PRELOAD="$preload" "${profiled[@]}" "$E2E_BENCH/cholesky" --repeat 1000 16 32 >"$work/out" 2>"$work/err" &
program=$!
for ((i = 0; i < 600; i++)); do
    [ "$(stat -c %s "$NVTX_DOUBLE_LOG" 2>/dev/null || echo 0)" -lt 100000 ] || break
    sleep 0.1
done
kill -TERM $program
wait $program 2>/dev/null
expect_exit 143 $? interrupted
ran=interrupted
told 1

# A child that goes on with what the parent has is not profiled; one that starts on its own is.
if [ -z "${E2E_CUDA_DOUBLE-}" ]; then
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 TSAN_OPTIONS=${TSAN_OPTIONS-}:die_after_fork=0
    under 0 "${profiled[@]}" "$E2E_PROGRAMS/forks" after offload
    told 1
    under 0 "${profiled[@]}" OMPDARTS_DEBUG=jitter=0.001 "$E2E_PROGRAMS/forks" between exit
    told 1
    under 0 "${profiled[@]}" "$E2E_PROGRAMS/forks" first offload
    told 2
fi
# An exit from inside a task.
under 7 "${profiled[@]}" "$E2E_PROGRAMS/exit_inside" host_task
told 1
finish
