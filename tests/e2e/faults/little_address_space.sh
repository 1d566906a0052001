#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A limit of the address space (`ulimit -v`): memory and threads are what fits, and where little or OMPDARTS_MEM does not fit nothing
# is scheduled; the program runs in either case.
. "$(dirname "$0")/../common.sh"
[ -z "$sanitizer" ] || { echo "skipped: sanitizers need all of the address space"; exit 77; }
limited=(OMP_NUM_THREADS=2 bash -c 'ulimit -v 2000000 && exec "$0" "$@"')

for program in "$E2E_BENCH/sync --loops 5 20000" "$E2E_PROGRAMS/target_nowait"; do
    plain 0 "${limited[@]}" $program
    under 0 "${limited[@]}" $program
    same_output "/seconds/d; s/[0-9.]+ s\b//"
    stats "stats.tasks > 0"
    under 0 OMPDARTS_MEM=1G "${limited[@]}" $program
    same_output "/seconds/d; s/[0-9.]+ s\b//"
    says "ompdarts: runtime: there is not enough memory for 4 devices of 1000 MB each, nothing is scheduled"
    ! grep -q "cannot allocate\|Failure" "$work/err" || fail "more than one message: $(cat "$work/err")"
done

# OpenBLAS asks again and again for the 32 to 128 MB that each of its callers needs where it gets none: what two threads would need
# must not be in our pools, stacks or malloc's arenas, nor with more callers than the program has.
for kib in 700000 800000 900000 1000000 1200000 1600000; do
    limited=(OMP_NUM_THREADS=2 bash -c "ulimit -v $kib"' && exec "$0" "$@"')
    for program in "$E2E_BENCH/cholesky 6 64" "$E2E_BENCH/sync --loops 5 20000"; do
        plain 0 "${limited[@]}" $program
        under 0 "${limited[@]}" $program
        same_output "s/(time|seconds).*//; s/[0-9.]+ s\b//"
        [ $kib -lt 1200000 ] || stats "stats.tasks > 0"
    done
done
limited=(OMP_NUM_THREADS=2 bash -c 'ulimit -v 300000 && exec "$0" "$@"')
plain 0 "${limited[@]}" "$E2E_PROGRAMS/target_nowait"
under 0 "${limited[@]}" "$E2E_PROGRAMS/target_nowait"
says "the limit of the address space (ulimit -v) leaves"

# Threads that slept in our barrier when it turned out that nothing is scheduled.
for variant in flag items; do
    plain 0 "$E2E_PROGRAMS/passed_on" $variant
    under 0 OMPDARTS_MEM=100000G "$E2E_PROGRAMS/passed_on" $variant
    same_output
done
# A limit of the size of files, which memory files have, too: arrays stay whole.
limited=(bash -c 'ulimit -f 64 && exec "$0" "$@"')
plain 0 "$E2E_PROGRAMS/array_in_parts"
under 0 "${limited[@]}" "$E2E_PROGRAMS/array_in_parts"
same_output
finish
