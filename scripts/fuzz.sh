#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/fuzz.sh HOURS [FIRST_SEED] [OPTION...]
#
# Runs the differential fuzzer (tests/fuzz) for so many hours (0.5 will do) against the build in $BUILD (default:
# build/), from FIRST_SEED on (default: the seconds since 1970, so that each run meets new programs). A progress line comes
# every 30 s. The result and each failure's seed are added to tests/fuzz/log/runs.txt, failing programs, shrunk, to
# $BUILD/fuzz-failures/; tests/fuzz/log/productions.txt then says how often each production was used. An interrupted run
# ends with what it is at, and reports. More options go to tests/fuzz/fuzz.py (--help).
set -eu
[ $# -ge 1 ] || { sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
hours=$1 first=${2:-$(date +%s)}
shift $(($# < 2 ? $# : 2))
mkdir -p "$root/tests/fuzz/log"
exec python3 "$root/tests/fuzz/fuzz.py" --build "$build" --hours "$hours" --first "$first" \
    --keep "$build/fuzz-failures" --log "$root/tests/fuzz/log/runs.txt" "$@"
