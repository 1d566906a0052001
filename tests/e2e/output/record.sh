#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: record.sh SIMULATOR
#
# A recorded run replayed on a model of the machine it ran on moves the same bytes, and its tasks start in the same order on the
# same devices: the engine decides on virtual time as it does in a program. Host devices, one thread, a slow bus, less memory
# than data. Then: other settings, and files that are cut off, foreign, or not there.
. "$(dirname "$0")/../common.sh"
cpu= # recordings are of devices
simulator=$1
: >"$work/host.times"

# model DEVICES BANDWIDTH: that many devices on a bus that serves one transfer at a time, as omptarget:link=RATE has it
model() {
    local k l
    cat <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="node" routing="Full">
<host id="ram" speed="1Gf"><prop id="kernels" value="host.times"/><prop id="peak" value="10"/>
<prop id="turns" value="yes"/><prop id="peer" value="yes"/></host>
<link id="bus" bandwidth="$2Bps" latency="0us" sharing_policy="SHARED"/>
END
    for ((k = 0; k < $1; k++)); do echo "<host id=\"gpu$k\" speed=\"1Gf\"/>"; done
    for ((k = 0; k < $1; k++)); do
        echo "<route src=\"ram\" dst=\"gpu$k\"><link_ctn id=\"bus\"/></route>"
        for ((l = k + 1; l < $1; l++)); do echo "<route src=\"gpu$k\" dst=\"gpu$l\"><link_ctn id=\"bus\"/></route>"; done
    done
    echo "</zone></platform>"
}

# replay_once DEVICES POLICY EVICTION MEMORY TILE_BYTES PROGRAM ARGUMENTS… : a tile takes 16 ms. Says in $difference what differs.
replay_once() {
    local devices=$1 policy=$2 rule=$3 memory=$4 bandwidth=$(($5 * 1000 / 16))
    shift 5
    model "$devices" $bandwidth >"$work/host.xml"
    under 0 OMP_NUM_THREADS=1 OMPDARTS_RECORD="$work/graph" OMPDARTS_DEVICES="$devices" OMPDARTS_BACKEND=omptarget:link=$((bandwidth * 1035 / 1000)) \
        OMPDARTS_MEM="$memory" OMPDARTS_SCHED="$policy" OMPDARTS_EVICT="$rule" "$@"
    ran="$policy+$rule on $devices: $*"
    "$patient" 60 "$simulator" --graph "$work/graph" --platform "$work/host.xml" --csv - --trace "$work/trace" >"$work/csv" ||
        fail "$ran: the replay failed"
    moved=$(tail -n 1 "$work/csv" | cut -d, -f12-14)
    recorded=$(awk '$1 == "moved" { h += $3; d += $4; p += $5 } END { print h "," d "," p }' "$work/graph")
    difference=
    [ "$moved" = "$recorded" ] || difference="replayed $moved bytes, recorded $recorded (h2d,d2h,d2d)"
    awk '$1 == "task" { n[$2] = t++ } $1 == "ran" { print n[$2], $3, $4 }' "$work/graph" | sort -s -g -k 3 |
        cut -d' ' -f1,2 >"$work/order"
    awk -F, '$1 == "task" { print $3, $7, $12 }' "$work/trace" | sort -s -g -k 3 | cut -d' ' -f1,2 | cmp -s - "$work/order" ||
        difference+=" the replay ran its tasks in another order"
}

# A data construct is recorded when it names its requests, a moment before the engine has them all: an event in between comes in
# another order in the replay. That is rare: ten times in a row it is another fault.
replay() {
    local try
    for try in {1..10}; do
        replay_once "$@"
        [ -z "$difference" ] && return
        echo "$ran, try $try: $difference"
    done
    fail "$ran: $difference"
}

for pair in "eager lru" "darts luf" "dmdas lru" "stationary belady"; do
    for devices in 1 2 3; do
        # shellcheck disable=SC2086
        replay $devices $pair 300Ki 16384 "$E2E_BENCH/cholesky" 6 64
        # shellcheck disable=SC2086
        replay $devices $pair 300Ki 16384 "$E2E_BENCH/lu" --style region 5 64
    done
    # shellcheck disable=SC2086
    replay 1 $pair 400Ki 16384 "$E2E_BENCH/cholesky" --style region 8 64
    # shellcheck disable=SC2086
    replay 2 $pair 600Ki 65536 "$E2E_BENCH/gemm2d" 6 64
    # shellcheck disable=SC2086
    replay 2 $pair 300Ki 16384 "$E2E_BENCH/gemm3d" --style region 4 64
done

# replay_races PROGRAM: with short kernels on a faster bus tasks are created while others end: each counts in its place.
replay_races() {
    local try
    model 1 100000000 >"$work/host.xml"
    for try in 1 2 3; do
        under 0 OMP_NUM_THREADS=1 OMPDARTS_RECORD="$work/graph" OMPDARTS_DEVICES=1 OMPDARTS_BACKEND=omptarget:link=103500000 OMPDARTS_MEM=3M \
            OMPDARTS_SCHED=stationary "$E2E_BENCH/$1" --style region 16 128
        "$patient" 60 "$simulator" --graph "$work/graph" --platform "$work/host.xml" --csv - --quiet >"$work/csv" ||
            fail "$1, 16 x 16 tiles: the replay failed"
        moved=$(tail -n 1 "$work/csv" | awk -F, '{ printf "%d", $12 + $13 }')
        recorded=$(awk '$1 == "moved" { sum += $3 + $4 } END { printf "%d", sum }' "$work/graph")
        [ "$moved" = "$recorded" ] && return
        echo "$1, 16 x 16 tiles, try $try: replayed $moved bytes, recorded $recorded"
    done
    fail "$1, 16 x 16 tiles: replayed $moved bytes, recorded $recorded"
}

replay_races cholesky
replay_races lu

# With other settings a recorded run is a graph like others, with and without regions, of one thread or several.
for style in task region blas; do
    for threads in 1 4; do
        under 0 OMP_NUM_THREADS=$threads OMPDARTS_RECORD="$work/graph" OMPDARTS_DEVICES=2 OMPDARTS_MEM=250K "$E2E_BENCH/lu" --style $style 6 64
        # A reservation that was revoked is a task of its own, beside what its task then asked for.
        tasks=$(grep -c '^task ' "$work/graph")
        most=91; [ $style != blas ] || most=182
        ((tasks >= 91 && tasks <= most)) || fail "lu --style $style: $tasks tasks"
        for settings in "--devices 1" "--sched dmdas" "--sched eager --devices 3 --mem 150K"; do
            # shellcheck disable=SC2086
            "$patient" 60 "$simulator" --graph "$work/graph" --platform nvlink $settings --csv - --quiet >"$work/csv" ||
                fail "lu --style $style with $threads threads: no replay with $settings"
            [ "$(tail -n 1 "$work/csv" | cut -d, -f9)" = "$tasks" ] || fail "lu --style $style, $settings: not $tasks tasks ran"
        done
    done
done

# The scheduler is told of the tasks that use data on a device, and not of those that open and close regions.
under 0 OMP_NUM_THREADS=4 OMPDARTS_RECORD="$work/graph" OMPDARTS_MEM=250K "$E2E_BENCH/lu" --style region 6 64
told=$(awk '$1 == "create" { told[$2] = $4 > 0 } $1 == "task" { tasks++; wrong += !told[$2]; told[$2] = 0 }
    END { for (t in told) wrong += told[t]; print tasks + 0, wrong + 0 }' "$work/graph")
[ "$told" = "91 0" ] || fail "lu --style region: tasks, and how many the scheduler was told of wrongly: $told"
under 0 OMP_NUM_THREADS=1 OMPDARTS_RECORD="$work/graph" "$E2E_BENCH/cholesky" 4 64

# refused FILE MESSAGE
refused() {
    "$patient" 60 "$simulator" --graph "$1" >"$work/out" 2>"$work/err"
    [ $? -eq 2 ] || fail "$1 ($2): not refused"
    ran="$1" says "$2"
}

lines=$(wc -l <"$work/graph")
for cut in $(seq 1 10) 20 $((lines / 2)) $((lines - 1)); do
    head -n "$cut" "$work/graph" >"$work/cut"
    refused "$work/cut" "cut off after $cut lines"
done
sed 3d "$work/graph" >"$work/cut"
refused "$work/cut" "lines are missing"
sed '1s/[0-9]*$/5/' "$work/graph" >"$work/cut"
refused "$work/cut" "format version 5"
refused "$0" "not a recorded run"
refused "$work/none" "No such file"
finish
