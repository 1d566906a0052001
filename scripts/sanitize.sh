#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/sanitize.sh [address|undefined|thread|all]…      (default: all)
#
# Builds with clang and one sanitizer into build-SANITIZER/ and runs the unit and end-to-end tests there. These are Debug
# builds: the engine checks its invariants at every event.
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=("${@:-all}")
[[ ${sanitizers[*]} == all ]] && sanitizers=(address undefined thread)
for sanitizer in "${sanitizers[@]}"; do
    case $sanitizer in
        address | undefined | thread) ;;
        *) echo "sanitize: '$sanitizer' is not one of address, undefined, thread, all" >&2; exit 2 ;;
    esac
done

llvm_root=${LLVM_ROOT:-/usr/lib/llvm-19}
scripts/install-deps.sh libclang-rt-19-dev

# Files with a reason per line; they name only code that is not ours.
suppressions=$PWD/tests/suppressions
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1
[[ -f $suppressions/leak.txt ]] && export LSAN_OPTIONS=suppressions=$suppressions/leak.txt
[[ -f $suppressions/thread.txt ]] && TSAN_OPTIONS+=:suppressions=$suppressions/thread.txt
ASAN_SYMBOLIZER_PATH=$llvm_root/bin/llvm-symbolizer
export ASAN_SYMBOLIZER_PATH TSAN_SYMBOLIZER_PATH=$ASAN_SYMBOLIZER_PATH

failed=()
for sanitizer in "${sanitizers[@]}"; do
    echo "== $sanitizer"
    build=build-$sanitizer
    cmake -G Ninja -S . -B "$build" -DCMAKE_C_COMPILER="$llvm_root/bin/clang" -DCMAKE_BUILD_TYPE=Debug \
          -DOMPDARTS_LLVM_ROOT="$llvm_root" -DOMPDARTS_SANITIZE="$sanitizer"
    cmake --build "$build"
    ctest --test-dir "$build" --output-on-failure -j2 -L 'unit|e2e' || failed+=("$sanitizer")
done
if ((${#failed[@]})); then
    echo "sanitize: tests failed under: ${failed[*]}" >&2
    exit 1
fi
echo "sanitize: clean under ${sanitizers[*]}"
