#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/sanitize.sh [--programs] [address|thread|valgrind|all]…      (default: all)
#
# `address` is AddressSanitizer with LeakSanitizer and UndefinedBehaviorSanitizer in one build. For each sanitizer: builds
# with clang into build-SANITIZER/, runs the unit and end-to-end tests there, with those of MPI, then the bench programs under
# several policies, with devices too small for their data and with randomly delayed transfers. These are Debug builds: the engine
# checks its invariants at every event. Any finding makes the exit code 1; the output of the programs stays in
# build-SANITIZER/sanitize/. With valgrind (memcheck) the unit tests run, the small end-to-end programs and some of the
# others, each once, in build-valgrind/. --programs: the bench programs alone, some minutes instead of hours.
#
# Instrumented is what is ours: the library, the unit tests, the command. The offload programs, libomp and libomptarget
# are not, so the sanitizer's runtime is preloaded into the programs, before the library. ThreadSanitizer cannot see how
# libomp orders tasks; Archer, the OpenMP tool that comes with libomp, tells it.
set -euo pipefail
cd "$(dirname "$0")/.."

programs_only=
if [[ ${1-} == --programs ]]; then
    programs_only=yes
    shift
fi
sanitizers=("${@:-all}")
if [[ ${sanitizers[*]} == all ]]; then
    sanitizers=(address thread)
    [[ $programs_only ]] || sanitizers+=(valgrind)
fi
for sanitizer in "${sanitizers[@]}"; do
    case $sanitizer in
        address | thread | valgrind) ;;
        *) echo "sanitize: '$sanitizer' is not one of address, thread, valgrind, all" >&2; exit 2 ;;
    esac
done

llvm_root=${LLVM_ROOT:-/usr/lib/llvm-19}
clang=$llvm_root/bin/clang
archer=$llvm_root/lib/libarcher.so
scripts/install-deps.sh libclang-rt-19-dev

# Failed assertions print a stack too. The signal SIGSEGV is the library's: it says which pages kernels use.
export ASAN_OPTIONS=handle_abort=1:handle_segv=0:strict_string_checks=1:malloc_context_size=2 # see tests/suppressions/leak.txt
export LSAN_OPTIONS=suppressions=$PWD/tests/suppressions/leak.txt:print_suppressions=0
export UBSAN_OPTIONS=handle_abort=1:print_stacktrace=1
export TSAN_OPTIONS=suppressions=$PWD/tests/suppressions/thread.txt:handle_abort=1:handle_segv=0:second_deadlock_stack=1:atexit_sleep_ms=20:ignore_noninstrumented_modules=1
for tool in ASAN LSAN UBSAN TSAN; do
    export ${tool}_SYMBOLIZER_PATH="$llvm_root/bin/llvm-symbolizer"
done
export LIBOMP_NUM_HIDDEN_HELPER_THREADS=0 # stock libomp's helper threads are unreliable, see docs/openmp.md
export OMP_NUM_THREADS=4

# Left out: counting transfers of large runs, which is slow here, and the programs below run the same code.
counting_tests='(e2e|cuda)\.(cholesky\.(small_tiles|four_devices)|gemm2d\.loads_.*'

programs=(cholesky lu gemm2d gemm3d tiny sync)

# A run is a line: environment (OMPDARTS_ left out), '|', program and arguments. Tiles are 16 KiB.
list_runs()
{
    local policy style jitter=DEBUG=watchdog=30,jitter=0.0003
    for policy in SCHED=darts SCHED=eager "SCHED=darts EVICT=lru SEED=7"; do
        for style in task region blas; do
            echo "$policy $jitter MEM=100K | cholesky --style $style 8 64"
            echo "$policy $jitter MEM=100K | lu --style $style 6 64"
            echo "$policy $jitter MEM=250K | gemm2d --style $style 6 64"
            echo "$policy $jitter MEM=100K | gemm3d --style $style 4 64"
        done
        echo "$policy $jitter MEM=1M | tiny 2000"
        echo "$policy MEM=1M | tiny --depend none 2000"
        echo "$policy $jitter MEM=1M | sync --loops 50 10000"
        echo "$policy $jitter MEM=1M | sync --no-region --loops 50 10000"
    done
    for policy in COHERENCE=strict COHERENCE=depend; do
        for style in task region blas; do
            echo "$policy $jitter MEM=100K | cholesky --style $style 6 64"
        done
    done
    # Tasks too large for a device: their host versions run.
    for style in task region blas; do
        echo "$jitter MEM=40K | lu --style $style 6 64"
    done
    # CPU workers beside slow devices, and without any; tasks that may be split.
    for policy in SCHED=auto SCHED=dmdas "SCHED=darts EVICT=lru"; do
        echo "$policy CPU=2 $jitter BACKEND=omptarget:slow=4 MEM=100K | cholesky --style region 8 64"
        echo "$policy CPU=1:2 $jitter BACKEND=omptarget:slow=4 MEM=250K | gemm3d --style task 5 64"
        echo "$policy CPU=auto $jitter BACKEND=omptarget:slow=4 MEM=100K | lu --style region 6 64"
        echo "$policy CPU=2 DEVICES=0 | cholesky --style task 8 64"
    done
    for policy in SPLIT=auto SPLIT=lp SPLIT=gaspp SPLIT=starve; do
        echo "$policy CPU=2 $jitter BACKEND=omptarget:slow=4 MEM=1M | cholesky --levels 256/128/64 12 64"
        echo "$policy CPU=2 $jitter BACKEND=omptarget:slow=4 MEM=1M | lu --style array --levels 256/128/64 12 64"
    done
    echo "BUFFER=1 $jitter MEM=100K | gemm3d --style region 5 64"
    echo "BUFFER=20 $jitter MEM=100K | gemm3d --style task 5 64"
    echo "DEVICES=1 STATS=summary BACKEND=omptarget:link=100M MEM=100K | cholesky --repeat 3 5 64"
    echo "DISABLE=1 | cholesky 5 64"
}

declare -A runtime_name=([address]=asan [thread]=tsan) # asan's has what UndefinedBehaviorSanitizer needs
declare -A cmake_list=([address]="address;undefined" [thread]=thread)

# run_program SANITIZER LOG ENVIRONMENT PROGRAM ARGUMENT…
run_program()
{
    local build=build-$1 log=$2 variables runtime
    read -ra variables <<<"$3"
    runtime=$("$clang" -print-file-name="libclang_rt.${runtime_name[$1]}-$(uname -m).so")
    shift 3
    # The watchdog ends a run that makes no progress and prints the engine's state; timeout ends all others.
    timeout 120 env OMPDARTS_DEBUG=watchdog=30 "${variables[@]}" OMPDARTS_CACHE=0 LD_PRELOAD="$runtime $PWD/$build/libompdarts.so" \
        "$build/bench/$1" "${@:2}" >"$log" 2>&1
}

# run_programs SANITIZER: prints a dot for each run and the output of those that failed; false if any did.
run_programs()
{
    local logs=build-$1/sanitize count=0 failed=0 status line environment program
    rm -rf "$logs"
    mkdir "$logs"
    while IFS= read -r line; do
        count=$((count + 1))
        environment=$(sed -E 's/\b[A-Z]+=/OMPDARTS_&/g' <<<"${line%%|*}")
        read -ra program <<<"${line#*|}"
        status=0
        run_program "$1" "$logs/$count.log" "$environment" "${program[@]}" || status=$?
        if ((status == 0)); then
            printf .
        else
            failed=$((failed + 1))
            printf '\nsanitize: %s: exit code %d: %s\n' "$1" "$status" "$line"
            head -n 80 "$logs/$count.log"
        fi
    done < <(list_runs)
    printf '\n%d of %d programs clean under %s\n' $((count - failed)) "$count" "$1"
    ((failed == 0))
}

# run_valgrind: false if there are findings
run_valgrind()
{
    local build=build-valgrind
    echo "== valgrind: build"
    cmake -G Ninja -S . -B $build -DCMAKE_BUILD_TYPE=Debug -DOMPDARTS_LLVM_ROOT="$llvm_root" -DOMPDARTS_VALGRIND=ON
    cmake --build $build
    echo "== valgrind: tests"
    ctest --test-dir $build --output-on-failure -j2 -L valgrind
}

failures=()
for sanitizer in "${sanitizers[@]}"; do
    if [[ $sanitizer == valgrind ]]; then
        run_valgrind || failures+=(valgrind)
        continue
    fi
    build=build-$sanitizer
    unset OMP_TOOL_LIBRARIES
    left_out=$counting_tests
    labels='unit|e2e|cuda|mpi'
    if [[ $sanitizer == thread ]]; then
        # Where a thread that is in `taskwait depend` runs a task that comes to another one, libomp 19 fails an assertion if a tool such
        # as Archer listens, without the library alike.
        # And two threads of a program in one critical section crash in __kmpc_end_critical() (9 of 20 runs without the library).
        left_out+='|forms|slices_beside\.critical'
        [[ -f $archer ]] || { echo "sanitize: $archer is missing (Debian: libomp-19-dev)" >&2; exit 1; }
        export OMP_TOOL_LIBRARIES=$archer ARCHER_OPTIONS=all_memory=1
    fi
    # Device memory of ranks that serve GPUs is at addresses that sanitizers have for their own; a profiling library beside
    # one would have to be in the ranks alone.
    left_out+=')|mpi\.(gpu\.|rank\.(gpu|counts)'
    echo "== $sanitizer: build"
    cmake -G Ninja -S . -B "$build" -DCMAKE_C_COMPILER="$clang" -DCMAKE_BUILD_TYPE=Debug \
          -DCMAKE_C_FLAGS_DEBUG="-g -O1" -DOMPDARTS_LLVM_ROOT="$llvm_root" -DOMPDARTS_SANITIZE="${cmake_list[$sanitizer]}"
    if [[ $programs_only ]]; then
        cmake --build "$build" --target ompdarts "${programs[@]/#/bench\/}"
    else
        cmake --build "$build"
        echo "== $sanitizer: tests"
        ctest --test-dir "$build" --output-on-failure -j2 -L "$labels" -E "$left_out)" ||
            failures+=("$sanitizer: tests")
    fi
    echo "== $sanitizer: programs"
    run_programs "$sanitizer" || failures+=("$sanitizer: programs")
done
if ((${#failures[@]})); then
    printf 'sanitize: findings in %s\n' "${failures[@]}" >&2
    exit 1
fi
echo "sanitize: clean under ${sanitizers[*]}"
