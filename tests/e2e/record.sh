#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: record.sh SIMULATOR
#
# A recorded run replayed on a model of the machine it ran on moves the same bytes, and its tasks start in the same order. One
# host device, one thread, a slow link, less memory than data. Then: files that are cut off, foreign, or not there.
. "$(dirname "$0")/common.sh"
simulator=$1
: >"$work/host.times"

# replay POLICY EVICTION MEMORY TILE_BYTES PROGRAM ARGUMENTS… : a tile takes 16 ms.
replay() {
    local policy=$1 rule=$2 memory=$3 bandwidth=$(($4 * 1000 / 16))
    shift 4
    cat >"$work/host.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="node" routing="Full">
<host id="ram" speed="1Gf"><prop id="kernels" value="host.times"/><prop id="peak" value="10"/><prop id="turns" value="yes"/></host>
<host id="gpu0" speed="1Gf"/><link id="bus" bandwidth="${bandwidth}Bps" latency="0us" sharing_policy="SHARED"/>
<route src="ram" dst="gpu0"><link_ctn id="bus"/></route></zone></platform>
END
    under 0 OMP_NUM_THREADS=1 OMPDARTS_RECORD="$work/graph" OMPDARTS_DEVICES=1 OMPDARTS_LINK_BANDWIDTH=$((bandwidth * 1035 / 1000)) \
        OMPDARTS_MEM_LIMIT="$memory" OMPDARTS_SCHED="$policy" OMPDARTS_EVICT="$rule" "$@"
    timeout 60 "$simulator" --graph "$work/graph" --platform "$work/host.xml" --csv - --trace "$work/trace" >"$work/csv" ||
        fail "$ran: the replay failed"
    moved=$(tail -n 1 "$work/csv" | cut -d, -f12,13)
    recorded=$(awk '$1 == "moved" { print $3 "," $4 }' "$work/graph")
    [ "$moved" = "$recorded" ] || fail "$ran: replayed $moved bytes, recorded $recorded (h2d,d2h)"
    awk '$1 == "task" { n[$2] = t++ } $1 == "ran" { print n[$2], $3, $4 }' "$work/graph" | sort -s -g -k 3 |
        cut -d' ' -f1,2 >"$work/order"
    awk -F, '$1 == "task" { print $3, $7, $12 }' "$work/trace" | sort -s -g -k 3 | cut -d' ' -f1,2 | cmp - "$work/order" ||
        fail "$ran: the replay ran its tasks in another order"
}

for pair in "eager lru" "darts luf"; do
    # shellcheck disable=SC2086
    replay $pair 400Ki 16384 "$E2E_BENCH/cholesky" 8 64
    # shellcheck disable=SC2086
    replay $pair 600Ki 65536 "$E2E_BENCH/gemm2d" 8 64
done

# refused FILE MESSAGE
refused() {
    timeout 60 "$simulator" --graph "$1" >"$work/out" 2>"$work/err"
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
sed '1s/[0-9]*$/3/' "$work/graph" >"$work/cut"
refused "$work/cut" "format version 3"
refused "$0" "not a recorded run"
refused "$work/none" "No such file"
finish
