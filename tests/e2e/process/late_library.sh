#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: late_library.sh [globals]
#
# Libraries with target regions that are opened after the first kernels have run, closed, and replaced by others: right
# results, and scheduled; also in a program that has no device code, nor OpenMP, itself. `globals`: with device variables.
. "$(dirname "$0")/../common.sh"
flags=(-std=gnu17 -O2 -fopenmp "-fopenmp-targets=$E2E_TRIPLE" "-Wl,-rpath,$E2E_LLVM_LIBDIR" "-L$E2E_LLVM_LIBDIR")

# library NAME SOURCE FLAG…
library() {
    "$E2E_CLANG" "${flags[@]}" -shared -fPIC "${@:3}" "$sources/libraries/$2.c" -o "$work/$1.so" 2>"$work/err" ||
        { fail "$1 was not built: $(cat "$work/err")"; finish; }
}

library scale_twice scale -DFACTOR=2
library scale_thrice scale -DFACTOR=3
library count count
# No device code, no OpenMP: the first library brings both.
"$E2E_CLANG" -std=gnu17 -Wno-unknown-pragmas "$sources/programs/late_library.c" -o "$work/plain_program" 2>"$work/err" ||
    fail "the plain program was not built: $(cat "$work/err")"

# same PROGRAM STEP… : under the library as without; every kernel of the program and of the libraries is scheduled
same() {
    local program=$1 settings tasks=0 step
    shift
    for step in "$@"; do
        case $step in
            kernels) [ "$program" = "$work/plain_program" ] || tasks=$((tasks + 48)) ;;
            *.so) tasks=$((tasks + 60)) ;;
        esac
    done
    plain 0 "$program" "$@"
    grep -qx right "$work/plain" || fail "wrong without the library: $*"
    for settings in OMPDARTS_DEBUG=check "OMPDARTS_COHERENCE=strict OMPDARTS_SCHED=eager" \
        "OMPDARTS_MEM=64Ki OMPDARTS_DEBUG=jitter=0.001"; do
        under 0 $settings "$program" "$@"
        same_output
        stats "stats.tasks >= $tasks"
    done
}

# libomptarget 19 itself cannot open a library again where it has run kernels since that one was closed.
own=$E2E_PROGRAMS/late_library other=$work/plain_program
two=$work/scale_twice.so three=$work/scale_thrice.so count=$work/count.so
if [ "${1-}" = globals ]; then
    for program in "$own" "$other"; do
        same "$program" kernels "$count" "$count" kernels
        same "$program" kernels "$two" "$count" "$three" "$two" kernels
        same "$program" "$count" close kernels
        same "$program" "$two" close "$count" close "$count" close
    done
    under 0 "$own" kernels "$count" kernels "$count"
    [ "$(grep -c "only one device is used from now on" "$work/err")" -eq 1 ] ||
        fail "$ran: not told once that one device is used: $(cat "$work/err")"
else
    for program in "$own" "$other"; do
        same "$program" kernels "$two" kernels "$three" kernels "$two" kernels
        same "$program" kernels "$two" close kernels
        same "$program" kernels "$two" close "$three" close "$two" close "$two" kernels
    done
    # An interpreter, which knows nothing of OpenMP.
    cat >"$work/calls.py" <<'CODE'
import ctypes
import sys

x = (ctypes.c_double * (6 * 1024))()
print(ctypes.CDLL(sys.argv[1]).scale(x, 6, 4), sum(x))
CODE
    if [ -z "$sanitizer" ]; then
        plain 0 python3 "$work/calls.py" "$two"
        under 0 python3 "$work/calls.py" "$two"
        same_output
        stats "stats.tasks >= 24"
    fi
fi
finish
