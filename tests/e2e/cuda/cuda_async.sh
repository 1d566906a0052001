#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cuda_async.sh KIND LIBASYNC
#
# Kernels that go on after their launch (async_launch.c), as on a GPU: right results, the next kernel of a device queued
# behind the one that runs, and on each device they are launched by one thread of the library's, and by the program's own
# (two) where the back-end is asynchronous, too. KIND: bench or programs.
. "$(dirname "$0")/../common.sh"
preload=$preload:$2
export ASYNC_LAUNCH_STATS=$work/launches
tile_bytes=$((32 * 32 * 4))

# launches EXPRESSION… : each holds for what async_launch.c has counted: most and threads per device, launches, synchronous
launches() {
    python3 - "$work/launches" "$@" <<'CODE' && return
import sys

most, threads, launches, synchronous = [], [], 0, 0
for line in open(sys.argv[1], encoding="utf-8"):
    words = line.split()
    if words[0] == "device":
        most.append(int(words[5]))
        threads.append(int(words[7]))
        launches += int(words[3])
    else:
        synchronous = int(words[1])
wrong = [text for text in sys.argv[2:] if not eval(text)]
print("".join(f"not true: {text} (most {most}, threads {threads}, {launches} launches)\n" for text in wrong), end="")
sys.exit(1 if wrong else 0)
CODE
    fail "$ran"
}

bench() {
    local program backend sched memory most_threads
    export OMP_NUM_THREADS=2
    for program in cholesky gemm3d lu; do
        plain 0 "$E2E_BENCH/$program" 7 32
        for backend in cuda omptarget; do
            most_threads=$([ $backend = cuda ] && echo 3 || echo 1)
            for sched in eager darts; do
                for memory in auto $((8 * tile_bytes)); do
                    under 0 OMPDARTS_BACKEND=$backend OMPDARTS_SCHED=$sched OMPDARTS_MEM=$memory \
                        "$E2E_BENCH/$program" 7 32
                    same_checksum
                    launches "launches == $(value stats.tasks) and synchronous == 0" "max(threads) <= $most_threads"
                done
            done
            under 0 OMPDARTS_BACKEND=$backend OMPDARTS_MEM=$((8 * tile_bytes)) "$E2E_BENCH/$program" \
                --style region 7 32
            same_checksum
        done
    done
    plain 0 "$E2E_BENCH/gemm3d" 6 32
    under 0 OMPDARTS_DEVICES=1 ASYNC_LAUNCH_DELAY=1000 "$E2E_BENCH/gemm3d" 6 32
    same_checksum
    launches "most == [2]" "threads[0] <= 3"
    # Where launches wait for their kernels all the same, a second thread launches the second one.
    under 0 OMPDARTS_DEVICES=1 ASYNC_LAUNCH_DELAY=1000 ASYNC_LAUNCH_WAIT=1 "$E2E_BENCH/gemm3d" 6 32
    same_checksum
    launches "most == [2]" "threads[0] in (2, 3)"
    # Short kernels, which the program's own thread launches.
    plain 0 "$E2E_BENCH/cholesky" 16 16
    for seed in 1 2 3; do
        under 0 OMPDARTS_BACKEND=omptarget OMPDARTS_SEED=$seed ASYNC_LAUNCH_DELAY=0 "$E2E_BENCH/cholesky" 16 16
        same_checksum
        stats "stats.host_tasks == 0"
    done
}

# Programs of one construct each; some let their tasks wait inside for what others' kernels hold.
programs() {
    local program backend
    for program in target_nowait firstprivate structs sections kernels_beside_host_tasks learnt_host_task learnt_other_data \
        host_task_between update_section enter_exit_nowait always_into_alloc reduction nested_structs remapped_memory; do
        plain 0 "$E2E_PROGRAMS/$program"
        memory=$(sed -nE "s/^ \* memory: //p" "$sources/programs/$program.c")
        for backend in cuda omptarget; do
            under 0 OMPDARTS_BACKEND=$backend "$E2E_PROGRAMS/$program"
            same_output
            under 0 OMPDARTS_BACKEND=$backend OMPDARTS_MEM="${memory:-auto}" OMPDARTS_SCHED=eager \
                ASYNC_LAUNCH_DELAY=1000 OMPDARTS_DEVICES=1 OMPDARTS_DEBUG=watchdog=2 "$E2E_PROGRAMS/$program"
            same_output
            ! grep -q watchdog "$work/err" || fail "$ran: $(head -n 3 "$work/err")"
        done
    done
}

$1
finish
