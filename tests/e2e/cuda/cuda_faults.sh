#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cuda_faults.sh KIND
#
# What the CUDA driver reports, on its double, is survived with right results, or ends the program with a message that says
# which datum is lost; never a wrong result, never a hang. KIND:
#   lost      a device fails for good in the middle of its copies
#   failures  one call fails, and the next do not
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how the library ends a program
ulimit -c 0
survived=0 ended=0
tile_bytes=$((48 * 48 * 4)) large_bytes=$((144 * 144 * 4))

# try MESSAGE [VAR=VALUE…] PROGRAM ARGUMENTS… : right, or ended with a message of ours that contains MESSAGE.
try() {
    local message=$1 status
    shift
    rm -f "$work/stats"
    {
        "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 OMPDARTS_STATS="summary,$work/stats" \
            "$@" >"$work/out" 2>"$work/err"
        status=$?
    } 2>/dev/null # the shell's own word on aborted programs
    ran=$*
    case $status in
    0)
        survived=$((survived + 1))
        grep -q ' ok$' "$work/out" || fail "$ran: $(cat "$work/out")"
        [ -z "${exact-}" ] || same_checksum
        ;;
    134)
        ended=$((ended + 1))
        grep -q "^ompdarts: .*$message" "$work/err" && ! grep -q "watchdog\|invariant\|misuse" "$work/err" && return
        fail "$ran: ended, and not because of $message: $(head -n 8 "$work/err")"
        ;;
    *) fail "$ran: exit code $status: $(head -n 8 "$work/err")" ;;
    esac
}

lost() {
    local style n sched size
    for style in task region blas; do
        for size in "8 48" "5 144"; do
            plain 0 "$E2E_BENCH/cholesky" --style $style $size
            exact=yes
            for n in 1 3 9 20 45; do
                sched=$([ $((n % 2)) = 0 ] && echo darts || echo eager)
                try "device 1 is lost, and with it the only copy of the [0-9]* bytes at host address 0x" \
                    CUDA_DOUBLE_LOST=1:$n OMPDARTS_DEVICES=3 OMPDARTS_SCHED=$sched \
                    OMPDARTS_MEM=$((10 * (${size#* } == 48 ? tile_bytes : large_bytes))) \
                    "$E2E_BENCH/cholesky" --style $style $size
                if grep -q CUDA_ERROR "$work/err"; then
                    says "CUDA_ERROR_ILLEGAL_ADDRESS (700"
                    says "device 1 no longer responds: it is lost"
                    [ ! -e "$work/stats" ] || stats "[hasattr(d, 'lost') for d in devices] == [False, True, False]"
                fi
            done
        done
    done
    echo "$survived recovered, $ended ended because the only copy of a datum was lost"
    [ $survived -gt 0 ] && [ $ended -gt 0 ] || fail "only one of the two outcomes has been seen"
}

# One call, the n-th, reports an error that is not the device's end.
failures() {
    local call n size program
    local calls="cuEventRecord cuEventQuery cuMemHostRegister cuMemcpyHtoDAsync cuMemcpyDtoHAsync"
    for program in "cholesky --style task" "cholesky --style region" "cholesky-cublas --style blas"; do
        [[ $program != *cublas* ]] || calls="cuEventRecord cuEventQuery cuMemHostRegister" # it copies, too
        for size in "6 48" "4 144"; do
            under 0 "$E2E_BENCH/"$program $size
            cp "$work/out" "$work/plain"
            for call in $calls; do
                for n in 1 2 5 14 33; do
                    exact=yes try "no message will do" CUDA_DOUBLE_FAIL=$call:$n:999 OMPDARTS_DEVICES=2 \
                        OMPDARTS_MEM=$((6 * (${size#* } == 48 ? tile_bytes : large_bytes))) \
                        "$E2E_BENCH/"$program $size
                    [ $call = cuMemHostRegister ] || ! grep -q "^ompdarts: cuda:" "$work/err" ||
                        says "CUDA_ERROR_UNKNOWN (999"
                done
            done
        done
    done
    [ $ended -eq 0 ] || fail "$ended runs were ended"
}

$1
finish
