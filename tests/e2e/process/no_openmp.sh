#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Preloaded into programs that know nothing of it: no effect, no output. (A whole shell session may have it in LD_PRELOAD.)
# So it is in a program with GCC's OpenMP runtime, and in one with LLVM's that does not offload.
. "$(dirname "$0")/../common.sh"
[ -z "$sanitizer" ] || { echo "skipped: a library with a sanitizer cannot be preloaded into the system's programs"; exit 77; }

# untouched PROGRAM ARGUMENTS… : output, errors and exit code are those without the library
untouched() {
    local expected status
    "$patient" $limit_s "$@" >"$work/plain" 2>"$work/plain.err"
    expected=$?
    "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_STATS="summary,$work/stats" "$@" >"$work/out" \
        2>"$work/err"
    status=$?
    ran=$*
    expect_exit $expected $status "$ran"
    same_output
    cmp -s "$work/plain.err" "$work/err" || fail "$ran: on standard error: $(cat "$work/err")"
    [ ! -e "$work/stats" ] || fail "$ran: statistics were written"
}

untouched /bin/true
untouched /bin/false
untouched sh -c 'echo "$0"; exit 3' text
untouched ls "$sources"
untouched sh -c 'ls | sort | head -n 2; (exit 4)'
untouched python3 -c 'import threading; t = threading.Thread(target=print, args=("x",)); t.start(); t.join()'

# Libraries opened by hand, children of all kinds, and no thread that the program has not made.
cat >"$work/children.py" <<'CODE'
import ctypes
import multiprocessing
import os
import subprocess
import time

if __name__ == "__main__":
    libm = ctypes.CDLL("libm.so.6")
    libm.cos.restype = ctypes.c_double
    libm.cos.argtypes = [ctypes.c_double]
    print(libm.cos(0.0))
    child = os.fork()
    if child == 0:
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(subprocess.run(["sh", "-c", "echo child; exit 6"], capture_output=True, check=False))
    print(subprocess.run(["env"], capture_output=True, check=True).stderr)
    for method in "fork", "spawn":
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(abs, range(-3, 3)))
    for _ in range(200): # the pools' threads may still be ending
        threads = len(os.listdir("/proc/self/task"))
        if threads == 1:
            break
        time.sleep(0.05)
    print("threads", threads)
CODE
untouched python3 "$work/children.py"
if type -P perl >/dev/null; then
    untouched perl -e 'my $pid = fork; exit 3 unless $pid; waitpid $pid, 0; print $? >> 8, `echo text`;'
fi

# gcc starts several programs; what they make is the same to the last byte.
cat >"$work/code.c" <<'CODE'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    return printf("%d\n", access("/proc/self/task", R_OK)) != 2;
}
CODE
for compiler in gcc "${E2E_CLANG:-clang}"; do
    type -P "$compiler" >/dev/null || continue
    untouched "$compiler" -O2 "$work/code.c" -o "$work/code"
    cp "$work/code" "$work/code.under"
    "$compiler" -O2 "$work/code.c" -o "$work/code"
    cmp -s "$work/code" "$work/code.under" || fail "$compiler makes another program under the library"
    untouched "$work/code"
    untouched "$compiler" -c "$work/missing.c" -o "$work/missing.o"
    "$compiler" -static "$work/code.c" -o "$work/static" 2>"$work/err" && untouched "$work/static"
done

cat >"$work/host.c" <<'CODE'
#include <omp.h>
#include <stdio.h>
int main(void)
{
    int sum = 0, x = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 1000; i++)
        sum += i;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : x) shared(x)
        x += i;
    }
    printf("%d %d %d\n", sum, x, omp_get_num_devices() >= 0);
    return 0;
}
CODE
compiled=0
for compiler in "${E2E_CLANG:-clang}" gcc; do
    if "$compiler" -fopenmp "$work/host.c" -o "$work/host" ${E2E_LLVM_LIBDIR:+-Wl,-rpath,"$E2E_LLVM_LIBDIR"} 2>"$work/err"; then
        untouched "$work/host"
        compiled=$((compiled + 1))
    else
        echo "$compiler -fopenmp does not work here: not tried"
    fi
done
[ $compiled -gt 0 ] || fail "no compiler for OpenMP"

# gcc's runtime, which only the library sees that uses it; and none, of which a program asks whether it is there.
cat >"$work/threads.c" <<'CODE'
#include <omp.h>
int numbers(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += omp_get_thread_num() + 10 * omp_get_ancestor_thread_num(1);
    return sum;
}
CODE
cat >"$work/opens.c" <<'CODE'
#include <dlfcn.h>
#include <stdio.h>
extern int omp_get_thread_num(void) __attribute__((weak));
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*numbers)(void) = library ? (int (*)(void))dlsym(library, "numbers") : NULL;
    return printf("%d %d\n", numbers ? numbers() : -1, omp_get_thread_num ? omp_get_thread_num() : 0) < 0;
}
CODE
if gcc -fopenmp -shared -fPIC "$work/threads.c" -o "$work/threads.so" 2>"$work/err" && gcc "$work/opens.c" -o "$work/opens" -ldl; then
    untouched "$work/opens" "$work/threads.so"
    grep -qx "33000 0" "$work/plain" || fail "numbers of gcc's threads: $(cat "$work/plain")"
fi

plain 0 "$E2E_PROGRAMS/no_construct"
under 0 OMPDARTS_STATS=summary "$E2E_PROGRAMS/no_construct"
same_output
says "ompdarts: no_construct: nothing was scheduled: no target region was reached"
under 0 OMPDARTS_TRACE="$work/none.json" "$E2E_PROGRAMS/no_construct"
same_output
says "ompdarts: no_construct: nothing was scheduled: no target region was reached; no file was written"
under 0 OMPDARTS_STATS=summary OMPDARTS_DISABLE=1 "$E2E_PROGRAMS/no_construct"
says "OMPDARTS_DISABLE=1: nothing is scheduled"
under 0 OMPDARTS_STATS=0 "$E2E_PROGRAMS/no_construct"
same_output
[ ! -s "$work/err" ] || fail "$ran: on standard error: $(cat "$work/err")"
finish
