#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: faults.sh KIND LIBFAULTY
#
# What fails is survived with right results, or ends the program with a message; no wrong result, no crash, no hang. KIND:
#   copies   each n-th copy fails, now and then or always
#   device   a device is lost in the middle
#   memory   the n-th allocation of host memory fails, or the n-th and the one after it, for every n
#            (with E2E_THOROUGH; else for every third)
#   devices  the n-th allocation of device memory fails, for every n
#   threads  the n-th thread cannot be started, or none from there on, for every n
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how the library ends a program
kind=$1
preload=$preload:$2
survived=0 ended=0
tile_bytes=$((32 * 32 * 4))

# try MESSAGE [VAR=VALUE…] PROGRAM ARGUMENTS… : right, or ended with a message of ours that contains MESSAGE.
try() {
    local message=$1 status
    shift
    rm -f "$work/stats"
    {
        "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 OMPDARTS_STATS="$work/stats" "$@" \
            >"$work/out" 2>"$work/err"
        status=$(exit_code $?)
    } 2>/dev/null # the shell's own word on aborted programs
    ran=$*
    case $status in
    0)
        survived=$((survived + 1))
        cmp -s "$work/plain.result" <(result "$work/out") || fail "$ran: differs from the run without the library"
        ;;
    2 | 134)
        ended=$((ended + 1))
        grep -q "^ompdarts: .*$message" "$work/err" && ! grep -q "watchdog\|invariant" "$work/err" && return
        fail "$ran: ended with exit code $status, and not because of $message: $(head -n 8 "$work/err")"
        ;;
    *) fail "$ran: exit code $status: $(head -n 8 "$work/err")" ;;
    esac
}

result() {
    grep '^checksum ' "$1" || cat "$1"
}

reference() {
    plain 0 "$@"
    result "$work/plain" >"$work/plain.result"
}

# every_nth STEP VARIABLE MESSAGE PROGRAM ARGUMENTS… : runs with the first failing, then each STEP-th, until none does.
every_nth() {
    local step=$1 variable=$2 message=$3 n=$((1 - $1))
    shift 3
    reference "$@"
    while :; do
        n=$((n + step))
        try "$message" "$variable=$n" OMPDARTS_MEM=$((6 * tile_bytes)) "$@"
        grep -q '^faulty: failed' "$work/err" || break
    done
    echo "$* $variable: up to $n"
    [ $n -gt 3 ] || fail "only $((n - 1)) failures for $*"
}

copies() {
    for program in cholesky gemm3d; do
        reference "$E2E_BENCH/$program" --style region 5 32
        for every in 13 11 7; do
            try "failed 3 times" FAULTY_COPY_EVERY=$every OMPDARTS_MEM=$((6 * tile_bytes)) \
                "$E2E_BENCH/$program" --style region 5 32
            stats "stats.tasks == totals.tasks + totals.host_tasks"
        done
    done
    reference "$E2E_BENCH/sync" --loops 20 1000
    try "failed 3 times" FAULTY_COPY_EVERY=2 "$E2E_BENCH/sync" --loops 20 1000
    [ $ended -eq 0 ] || fail "$ended of the runs in which copies fail now and then were ended"
    try "failed 3 times" FAULTY_COPY_EVERY=1 "$E2E_BENCH/sync" --loops 20 1000
    [ $ended -eq 1 ] || fail "no copy worked, and that was not noticed"
}

device() {
    local style coherence after lost
    for program in cholesky gemm3d; do
        for style in task region blas; do
            reference "$E2E_BENCH/$program" --style $style 5 32
            for coherence in auto strict; do
                for after in 0 1 3 8 20 50; do
                    lost=$((after % 4))
                    try "device $lost is lost, and with it the only copy" FAULTY_DEVICE=$lost FAULTY_AFTER=$after \
                        OMPDARTS_COHERENCE=$coherence OMPDARTS_DEVICES=4 OMPDARTS_MEM=$((8 * tile_bytes)) \
                        OMPDARTS_SCHED=$([ $((after % 2)) = 0 ] && echo darts || echo eager) \
                        "$E2E_BENCH/$program" --style $style 5 32
                done
            done
        done
    done
    reference "$E2E_BENCH/sync" --loops 20 1000
    for after in 0 1 2 5 9 30; do
        try "device 0 is lost, and with it the only copy" FAULTY_DEVICE=0 FAULTY_AFTER=$after \
            "$E2E_BENCH/sync" --loops 20 1000
    done
    # The last device, too: the host does it all.
    reference "$E2E_BENCH/sync" --no-region --loops 20 1000
    try "" OMPDARTS_DEVICES=1 FAULTY_DEVICE=0 FAULTY_AFTER=9 "$E2E_BENCH/sync" --no-region --loops 20 1000
    says "is lost, and its tasks move to other devices"
    echo "$survived recovered, $ended ended because the only copy of a datum was lost"
    [ $survived -gt 0 ] && [ $ended -gt 0 ] || fail "only one of the two outcomes has been seen"
}

if [ -n "$sanitizer" ] && [[ $kind == memory || $kind == threads ]]; then
    echo "skipped: memory and threads are the sanitizer's"
    exit 77
fi
case $kind in
copies | device) $kind ;;
memory)
    step=3
    [ -z "${E2E_THOROUGH-}" ] || step=1
    # One request that fails is met from the reserve.
    for style in task region blas; do
        every_nth $step FAULTY_MALLOC "memory" "$E2E_BENCH/cholesky" --style $style 3 32
    done
    every_nth $((5 * step)) FAULTY_MALLOC "memory" "$E2E_PROGRAMS/structs"
    [ $ended -eq 0 ] || fail "$ended runs ended for want of memory, of which there was some in reserve"
    # The reserve is used up at once.
    export FAULTY_IN_A_ROW=2
    every_nth $((3 * step)) FAULTY_MALLOC "memory" "$E2E_BENCH/cholesky" --style region 3 32
    every_nth $((11 * step)) FAULTY_MALLOC "memory" "$E2E_PROGRAMS/structs"
    ;;
devices) every_nth 1 FAULTY_MMAP "memory" "$E2E_BENCH/cholesky" 3 32 ;;
threads)
    for FAULTY_IN_A_ROW in 1 1000; do # one fails, or all do from there on
        export FAULTY_IN_A_ROW
        for style in task region blas; do
            every_nth 1 FAULTY_THREAD "thread" "$E2E_BENCH/cholesky" --style $style 3 32
        done
    done
    [ $ended -eq 0 ] || fail "$ended runs ended for want of threads"
    ;;
esac
finish
