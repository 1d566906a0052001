#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/demo.sh [NTILES TILE]      (default: 24 320)
#
# Installs what is missing, builds, and runs two ordinary OpenMP programs, a Cholesky factorisation and a matrix product
# (gemm2d: one task is a block row of A times a block column of B), on four memory-capped devices under five pairs of
# scheduling policy and eviction rule. Single precision, NTILES x NTILES tiles of TILE x TILE elements. The devices are
# LLVM's host devices: no GPU is needed.
#
# How slow the link is. On the machine of the papers a V100 multiplies matrices at 13,253 GFlop/s, tiles are
# 1920 x 1920 floats, and the bus of 12 GB/s is shared. What decides is the ratio
#
#     time to multiply two tiles     2 T^3 / rate of one device
#     --------------------------  =  --------------------------
#     time to move one tile             4 T^2 / bandwidth
#
# The rate of the four host devices together is measured first, with a fast link and room for everything; one device has
# a quarter of it. Then the link is slowed so that the ratio is that of the V100. It grows with T, so a smaller tile
# needs a faster link for the same ratio:
#
#     bandwidth = 12 GB/s * (measured rate / 4) / (13,253 GFlop/s) * 1920 / TILE
set -euo pipefail
cd "$(dirname "$0")/.."

ntiles=${1:-24}
tile=${2:-320}
devices=4
depth=4     # gemm2d: tiles in a block row
min_tiles=8 # below that, a quarter of the data does not hold what a task needs
configurations=("eager lru" "darts lru" "darts luf" "stationary belady" "auto auto")

if (($# != 0 && $# != 2)) || ! [[ $ntiles =~ ^[1-9][0-9]{0,3}$ && $tile =~ ^[1-9][0-9]{0,4}$ ]] ||
    ((ntiles < min_tiles)); then
    echo "usage: scripts/demo.sh [NTILES TILE]    whole numbers, NTILES at least $min_tiles" >&2
    exit 2
fi

scripts/install-deps.sh
cmake -G Ninja -S . -B build
cmake --build build

results=$(mktemp -d)
child=""
trap '[[ -n $child ]] && kill "$child" 2>/dev/null; rm -rf "$results"' EXIT

# run NAME BENCHMARK OMPDARTS-OPTION… -- ARGUMENT…: runs a benchmark, prints a dot each second, and leaves
# NAME.bench.json and NAME.stats.json in $results.
run()
{
    local name=$1 benchmark=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    printf '  %-20s ' "$name"
    build/ompdarts run --devices $devices "${options[@]}" --stats "summary,$results/$name.stats.json" \
        "build/bench/$benchmark" --json --type float "$@" >"$results/$name.bench.json" 2>"$results/$name.log" &
    child=$!
    while kill -0 $child 2>/dev/null; do
        printf .
        sleep 1
    done
    if ! wait $child; then
        child=""
        printf ' failed\n'
        tail -n 20 "$results/$name.log" "$results/$name.bench.json" >&2
        exit 1
    fi
    child=""
    printf ' done\n'
}

tile_bytes=$((tile * tile * 4))
declare -A data_bytes=(
    [cholesky]=$((tile_bytes * ntiles * (ntiles + 1) / 2)) # the lower half
    [gemm2d]=$((tile_bytes * 2 * ntiles * depth))          # A and B; C is only written
)

echo
echo "Measuring the devices' rate (gemm2d, fast link, room for everything)"
side=12
run calibration gemm2d --sched eager --evict lru --mem $(((side + 2 * depth) * side * tile_bytes)) -- \
    --repeat 3 --no-check --depth $depth $side "$tile"
bandwidth=$(python3 scripts/demo_table.py bandwidth "$results/calibration.bench.json" $devices "$tile")

for benchmark in cholesky gemm2d; do
    bytes=${data_bytes[$benchmark]}
    memory=$((bytes / 4))
    arguments=("$ntiles" "$tile")
    [[ $benchmark == gemm2d ]] && arguments=(--depth "$depth" "${arguments[@]}")
    echo
    echo "$benchmark: $((bytes / 1000000)) MB of data, $((memory / 1000000)) MB on each of $devices devices"
    for configuration in "${configurations[@]}"; do
        read -r sched evict <<<"$configuration"
        run "$benchmark-$sched-$evict" "$benchmark" --sched "$sched" --evict "$evict" --mem "$memory" \
            --backend "omptarget:link=$bandwidth" -- "${arguments[@]}"
    done
done

echo
python3 scripts/demo_table.py table "$results"
echo
echo "Data: Cholesky, the lower half of the matrix; gemm2d, A and B, $depth tiles deep (C is only written)."
echo "Each of the $devices devices may hold a quarter of it."
echo "All devices share one link of $((bandwidth / 1000000)) MB/s: multiplying two tiles takes as long, compared with"
echo "moving one, as for tiles of 1920 on a V100 (13,253 GFlop/s) behind a bus of 12 GB/s."
