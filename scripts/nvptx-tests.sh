#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/nvptx-tests.sh [OPTION...]
#
# The programs of the tests, all of them, built for NVIDIA's GPUs and launched by the CUDA plug-ins of LLVM 19 and 22 on the
# double of the driver: on 1, 2 and 4 GPUs, with the library and without (tests/e2e/nvptx). It takes an hour on two idle
# processors, so it ends when its time is over, and the next call goes on with what is left for the same library.
#
#   --minutes N   start no further test after so long (default 60)
#   --jobs N      tests at once (default 2)
#   --anew        all tests are left
#   --help
#
# BUILD is the folder in which the project has been built (default: build/). Exit code 0: no test has failed; 1: some have,
# which are listed, and are left for the next call, or there are none; 2: bad command line.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
minutes=60 jobs=2 anew=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) sed -n '4,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --minutes=* | --jobs=*) option=${1%%=*}; set -- "$option" "${1#*=}" "${@:2}"; continue ;;
    --minutes | --jobs)
        [[ ${2-} =~ ^[1-9][0-9]{0,4}$ ]] || { echo "nvptx-tests: $1 takes a number" >&2; exit 2; }
        declare "${1#--}=$2"
        shift
        ;;
    --anew) anew=yes ;;
    *) echo "nvptx-tests: $1 is not known (--help)" >&2; exit 2 ;;
    esac
    shift
done
[ -e "$build/libompdarts.so" ] || { echo "nvptx-tests: $build holds no build (BUILD)" >&2; exit 2; }

# All are registered while this runs.
registered=$(sed -n 's/^OMPDARTS_NVPTX:BOOL=//p' "$build/CMakeCache.txt")
register() { cmake -DOMPDARTS_NVPTX="$1" "$build" >"$build/nvptx-tests.log" 2>&1 || { cat "$build/nvptx-tests.log" >&2; exit 1; }; }
trap 'register "$registered"' EXIT
register ON

passed=$build/nvptx-passed.$(cat "$build"/libompdarts.so "$build"/libompdarts-cuda.so | sha256sum | cut -c1-12)
[ -z "$anew" ] || rm -f "$passed"
touch "$passed"
tests=$(ctest --test-dir "$build" -N -L '^nvptx$' | sed -nE 's/^ *Test +#([0-9]+): (.*)$/\1 \2/p')
[ -n "$tests" ] || { echo "nvptx-tests: no test is registered; cmake -DOMPDARTS_NVPTX=ON $build says why" >&2; exit 1; }
left=$(awk -v passed="$passed" 'BEGIN {while ((getline name <passed) > 0) done[name]} !($2 in done)' <<<"$tests")
echo "$(grep -c . <<<"$tests") tests, $(grep -c . <<<"$left" || true) of them left"
[ -n "$left" ] || exit 0

# A test that runs as the time is over is cut off up to a second before, which ctest calls a timeout, too.
end=$((EPOCHSECONDS + 60 * minutes))
name_ends()
{
    local line
    while IFS= read -r line; do
        ((EPOCHSECONDS < end - 2)) || line=${line/'***Timeout'/'***Cut off'}
        printf '%s\n' "$line"
    done
}
ctest --test-dir "$build" -I "0,0,0,$(cut -d ' ' -f 1 <<<"$left" | paste -sd ,)" -j "$jobs" --schedule-random --no-tests=ignore \
    --stop-time "$(date -d "@$end" +%H:%M:%S)" --output-on-failure | name_ends | tee "$build/nvptx-tests.log" || true
failed() { grep -E '^ *[0-9]+/[0-9]+ Test .*\*\*\*(Failed|Exception|Timeout|Not Run)' "$build/nvptx-tests.log"; }
sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.* +Passed .*/\1/p' "$build/nvptx-tests.log" >>"$passed"
echo "$(grep -c . "$passed") of $(grep -c . <<<"$tests") have passed, $(failed | grep -c . || true) have failed"
! failed
