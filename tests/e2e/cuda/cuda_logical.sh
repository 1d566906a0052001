#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cuda_logical.sh LIBASYNC
#
# Logical devices: one device divided into several, alone or beside others. Right results, tasks on each, told apart by their
# names; through both back-ends. declare target variables, of which each device has its own, keep the shares of one in use.
. "$(dirname "$0")/../common.sh"
library=$1
tile_bytes=$((48 * 48 * 4))

# Kernels take longer than their creation (async_launch.c), so that no device gets all.
slow_kernels() {
    local alone=$preload
    preload=$preload:$library
    under 0 ASYNC_LAUNCH_DELAY=2000 "$@"
    preload=$alone
}

# names DEVICES : what the devices are called
names() {
    case $1 in
    '0*4') echo "['device 0.0', 'device 0.1', 'device 0.2', 'device 0.3']" ;;
    0,0,1) echo "['device 0.0', 'device 0.1', 'device 1']" ;;
    1,0,1) echo "['device 1.0', 'device 0', 'device 1.1']" ;;
    '2*1') echo "['device 2']" ;;
    esac
}

for backend in cuda omptarget; do
    export OMPDARTS_BACKEND=$backend
    for style in task region; do
        plain 0 "$E2E_BENCH/gemm3d" --style $style 5 48
        for devices in '0*4' 0,0,1 1,0,1 '2*1'; do
            for memory in auto $((8 * tile_bytes)); do
                slow_kernels OMPDARTS_DEVICES="$devices" OMPDARTS_MEM=$memory OMPDARTS_SCHED=eager \
                    OMPDARTS_STATS=summary "$E2E_BENCH/gemm3d" --style $style 5 48
                same_checksum
                stats "[d.name for d in devices] == $(names "$devices")" "stats.host_tasks == 0" \
                    "all(d.tasks > 0 for d in devices)" "all(d.peak_bytes <= d.limit_bytes for d in devices)"
                for name in $(names "$devices" | grep -o "device [0-9.]*" | tr ' ' _); do
                    grep -q "^${name/_/ } " "$work/err" || fail "$ran: no ${name/_/ } in the summary: $(cat "$work/err")"
                done
            done
        done
    done
    for program in declare_target declare_target_all_devices device_clause sections; do
        plain 0 "$E2E_PROGRAMS/$program"
        for devices in '0*4' 1,0,1; do
            under 0 OMPDARTS_DEVICES="$devices" "$E2E_PROGRAMS/$program"
            same_output
        done
    done
    # One device, with one copy of the variables: all four shares may run tasks that use them.
    under 0 OMPDARTS_DEVICES='0*4' OMPDARTS_SCHED=eager "$E2E_PROGRAMS/declare_target"
    stats "len(devices) == 4"
    ! grep -q "only one device is used" "$work/err" || fail "$ran: $(cat "$work/err")"
    for devices in '0*0' 7 '0*99' a,b 0,7 '0*' ,1; do
        under 2 OMPDARTS_DEVICES="$devices" "$E2E_BENCH/cholesky" 4 32
        says "ompdarts: OMPDARTS_DEVICES"
        says allowed
        [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ] || fail "$ran: $(cat "$work/out" "$work/err")"
    done
done
finish
