#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/test-patches.sh [OPTION...]
#
# Tries the patches for LLVM 19: they apply by `git am` in order (which apply to the pristine sources alone is told);
# their format is LLVM's; the runtimes are built with them; the tests that they add pass; of LLVM's other tests none is
# lost; and the tiled product, in which LLVM 19 fails in most runs, is right in all, with default settings and without the
# library.
# --suite adds what takes an hour: this project's end-to-end tests on the patched runtimes, and programs of its fuzzer,
# whose target tasks, launches and data constructs the library then gets from the runtimes.
#
#   --version N   those for LLVM N (19); of 22 libomp alone, compared with one without them, in its own tests
#   --quick       only what scripts/test.sh does where patches/ has changed: apply, build libomp, a few of our own tests
#   --suite       also our own tests
#   --only-suite  nothing else
#   --programs N  how many programs of the fuzzer (1000)
#   --runs N      how often the tiled product is run (200)
#   --tests PART  of LLVM's tests only those whose path contains PART; may be repeated
#   --jobs N      compilations and tests at once (the number of processors)
#   --help
#
# $BUILD is another folder for build/, which has to be built. Exit code 0: all well; 1: no; 2: wrong options; 77: the
# sources cannot be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${BUILD:-$root/build}")
version=19 quick= suite= only= runs=200 programs=1000 jobs=$(nproc) chosen=()

while (($#)); do
    case $1 in
        -h | --help) sed -n '4,26s/^# \{0,1\}//p' "$0"; exit 0 ;;
        --quick) quick=1 ;;
        --suite) suite=1 ;;
        --only-suite) suite=1 only=1 ;;
        --runs | --tests | --jobs | --programs | --version)
            (($# > 1)) || { echo "test-patches: $1 needs a value" >&2; exit 2; }
            case $1 in --runs) runs=$2 ;; --tests) chosen+=("$2") ;; --jobs) jobs=$2 ;; --programs) programs=$2 ;;
                --version) version=$2 ;; esac
            shift ;;
        *) echo "test-patches: unknown option $1 (--help)" >&2; exit 2 ;;
    esac
    shift
done
for number in "$runs" "$jobs" "$programs"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "test-patches: no number: $number (--help)" >&2; exit 2; }
done
series=$root/patches/llvm-$version
source=$build/llvm-$version-runtimes/patched/source
part=all stock=()
if [[ $version != 19 ]]; then
    part=libomp stock=(--stock "$build/llvm-$version-stock/lib")
    [[ ! $suite ]] || { echo "test-patches: our own tests run with LLVM 19 only" >&2; exit 2; }
fi
failures=0
fail()
{
    echo "test-patches: FAILED: $*" >&2
    failures=$((failures + 1))
}

# Each patch on the pristine sources, in a working tree of its own.
alone()
{
    local tree=$build/llvm-$version-runtimes/alone patch apply=() need=()
    [[ -d $source ]] || { fail "no $source: remove $build/llvm-$version-patched"; return; }
    git -C "$source" worktree prune
    rm -rf "$tree"
    git -C "$source" worktree add -q --detach "$tree" pristine
    for patch in "$series"/*.patch; do
        if git -C "$tree" am -q "$patch" >/dev/null 2>&1; then
            apply+=("$(basename "$patch" | cut -c1-4)")
        else
            git -C "$tree" am --abort >/dev/null 2>&1 || true
            need+=("$(basename "$patch" | cut -c1-4)")
        fi
        git -C "$tree" checkout -q pristine
    done
    git -C "$source" worktree remove --force "$tree"
    echo "test-patches: apply alone: ${apply[*]}; need those before them: ${need[*]:-none}"
}

format()
{
    local formatter commit
    formatter=$(command -v clang-format-19) &&
        command -v git-clang-format >/dev/null ||
        { echo "test-patches: no clang-format-19 here: format not looked at"; return; }
    for commit in $(git -C "$source" rev-list --reverse pristine..HEAD); do
        (cd "$source" && git-clang-format --binary "$formatter" --style=LLVM --diff "$commit~1" "$commit") |
            grep -q '^diff' && fail "format of $(git -C "$source" log -1 --format=%s "$commit")"
    done
    echo "test-patches: format looked at"
}

new_tests() # of PART
{
    git -C "$source" diff --name-only pristine HEAD -- "*/test/*" | grep "^$1/" | sed 's,^.*/test/,,'
}

# LLVM's tests with the distribution's runtimes and with ours; those of the series are among them.
suite()
{
    mkdir -p "$build/llvm-tests-patched"
    "$root/scripts/llvm-tests.sh" --source "$source" --runtimes "$build/llvm-$version-patched/lib" \
        ${stock[@]+"${stock[@]}"} --jobs "$jobs" "$@" |
        tee "$build/llvm-tests-patched/log" || fail "a test is lost"
}

# What lit says of a test without the series (plain) or with it (runtimes).
result() # NAME TEST
{
    python3 -c 'import json, sys
print(*(test["code"] for test in json.load(open(sys.argv[1]))["tests"] if test["name"].endswith(" :: " + sys.argv[2])))' \
        "$build/llvm-tests/$1.json" "$2"
}

# Whether patches/README.md says that the test of this patch cannot pass without it.
always_fails() # TEST
{
    local patch
    patch=$(grep -lF "/test/$1" "$series"/*.patch | sed -n '1s,.*/\([0-9]*\)-.*,\1,p')
    grep -qE "^\\| $patch .*\\| (fails always|hangs|does not compile)" "$root/patches/README.md"
}

# What the series adds passes with it; without it, it fails, or now and then.
own_tests() # PATH...
{
    local test with without
    suite "$@"
    for test in "$@"; do
        with=$(result runtimes "$test") without=$(result plain "$test")
        if [[ $with != PASS ]]; then
            fail "$test does not pass with the series: ${with:-not run}"
        elif [[ $without == FAIL ]]; then
            continue
        elif always_fails "$test"; then
            fail "$test does not fail without the series: ${without:-not run}"
        else
            echo "test-patches: $test passes without the series, too, this time"
        fi
    done
}

tiled_product()
{
    local program=$build/tests/e2e/programs/tiled_product run right=0 stock=0 tried=$((runs < 10 ? runs : 10))
    [[ -x $program ]] || { fail "no $program: build the project first"; return; }
    for ((run = 0; run < tried; run++)); do
        OMP_NUM_THREADS=4 timeout 60 "$program" >/dev/null 2>&1 && stock=$((stock + 1))
    done 2>/dev/null
    for ((run = 0; run < runs; run++)); do
        OMP_NUM_THREADS=4 LD_LIBRARY_PATH=$build/llvm-$version-patched/lib timeout 120 "$program" >/dev/null 2>&1 &&
            right=$((right + 1))
        (((run + 1) % 20)) || echo "test-patches: tiled product: $right of $((run + 1)) runs are right"
    done
    echo "test-patches: tiled product: $right of $runs runs are right;" \
        "with the distribution's runtimes $stock of $tried"
    ((right == runs)) || fail "the tiled product"
}

our_tests() # CTEST-OPTION...
{
    local log=$build/llvm-$version-patched.tests
    [[ -x $build/ompdarts ]] || { fail "no $build/ompdarts: build the project first"; return; }
    env -u OMP_NUM_THREADS LD_LIBRARY_PATH="$build/llvm-$version-patched/lib" \
        ctest --test-dir "$build" -j "$jobs" --output-on-failure "$@" >"$log" 2>&1 || fail "our tests: $log"
    grep -E 'tests passed|^[[:space:]]+[0-9]+ - .*\((Failed|Timeout|SEGFAULT)' "$log" | sed 's/^/test-patches: /'
}

fuzz()
{
    python3 "$root/tests/fuzz/fuzz.py" --build "$build" --clang "clang-$version" --settings 3 --count "$programs" \
        --llvm-libdir "$build/llvm-$version-patched/lib" --jobs "$jobs" || fail "the fuzzer"
}

# How often the library has done what the series makes needless, in the programs of its tests, one run of each.
workarounds()
{
    local program
    for program in "$build"/tests/e2e/programs/*; do
        [[ -f $program && -x $program ]] || continue
        LD_LIBRARY_PATH=$build/llvm-$version-patched/lib OMPDARTS_LOG=info OMPDARTS_CACHE=0 \
            LD_PRELOAD=$build/libompdarts.so timeout 20 "$program" 2>&1 >/dev/null </dev/null |
            grep 'target tasks handed over by libomp' || true
    done 2>/dev/null | awk '
        { programs++; n = 0; for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) { sum[++n] += $i; shape[n] = 1 } line = $0 }
        END {
            print "test-patches: in " programs " programs:"
            n = 0
            $0 = line; sub(/^ompdarts: libomp: /, "")
            for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) $i = sum[++n]
            print "test-patches: " $0
        }'
}

build_runtimes() # PART OPTION...
{
    "$root/scripts/build-llvm-runtimes.sh" --version "$version" --only "$1" --jobs "$jobs" "${@:2}"
}

build_runtimes "$([[ $quick ]] && echo libomp || echo $part)" --patched
[[ $only ]] || alone
if [[ ! $quick && ! $only ]]; then
    format
    [[ $part == all ]] || build_runtimes $part
    mapfile -t tests < <(new_tests openmp; [[ $part != all ]] || new_tests offload)
    own_tests "${tests[@]}"
    [[ $part == all ]] || chosen=("${chosen[@]-openmp/}")
    suite ${chosen[@]+"${chosen[@]}"}
    [[ $part != all ]] || tiled_product
fi
if [[ $quick && $version == 19 ]]; then
    our_tests -R '^e2e\.(created_alone|captured_yields|device_memory_api|discarded_tasks|target_nowait)$'
fi
if [[ $suite ]]; then
    # Two stand in front of libomptarget's launches, where the library does not come by here.
    our_tests -L '^(e2e|cuda)$' -E '^(cuda\.async_bench|e2e\.faulty_kernel)$'
    fuzz
    workarounds
fi
((failures == 0)) || { echo "test-patches: $failures failures"; exit 1; }
echo "test-patches: all well"
