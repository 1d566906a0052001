#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# CPU workers (OMPDARTS_CPU): with devices slowed down they take tasks, in regions, too; results are right under every
# policy, and statistics have a row for each of them. What is excluded they leave alone. Wrong values are one line each.
. "$(dirname "$0")/../common.sh"

slow=OMPDARTS_BACKEND=omptarget:slow=20
[ -z "${E2E_CUDA_DOUBLE-}" ] || slow=OMPDARTS_BACKEND=auto # it launches kernels itself
of_workers="sum(w.tasks for w in stats.cpus)"

taken=0 # by the worker; a single run may end before it has learnt what kernels take there
for style in task region; do
    plain 0 "$E2E_BENCH/cholesky" --style $style 10 64
    for policy in eager darts dmdas lws mhfp stationary auto; do
        under 0 OMPDARTS_CPU=1 OMPDARTS_DEVICES=2 OMPDARTS_MEM=200K OMPDARTS_SCHED=$policy $slow \
            "$E2E_BENCH/cholesky" --style $style 10 64
        same_checksum
        stats "stats.tasks == 220" "len(stats.cpus) == 1"
        taken=$((taken + $(value "$of_workers")))
    done
done
[ -n "${E2E_CUDA_DOUBLE-}" ] || [ $taken -gt 0 ] || fail "the CPU worker took no task in any run"
under 0 OMPDARTS_CPU=auto OMPDARTS_DEVICES=2 OMPDARTS_STATS=summary $slow "$E2E_BENCH/cholesky" 10 64
same_checksum
says "cpu 0 "

# By name, by name and line; one that there is not.
names=$(OMPDARTS_CPU=1 OMPDARTS_CPU_EXCLUDE=none LD_PRELOAD=$preload "$E2E_BENCH/cholesky" 2 16 2>&1 >/dev/null |
    sed -n 's/.*OMPDARTS_CPU_EXCLUDE=none: the program has no such kernel; it has //p')
[ -n "$names" ] || fail "no names of kernels"
under 0 OMPDARTS_CPU=1 OMPDARTS_CPU_EXCLUDE="${names//, /,}" OMPDARTS_DEVICES=2 $slow "$E2E_BENCH/cholesky" 10 64
same_checksum
stats "$of_workers == 0"
functions=$(sed 's/_l[0-9]*//g' <<<"$names")
under 0 OMPDARTS_CPU=1 OMPDARTS_CPU_EXCLUDE="${functions//, /,}" OMPDARTS_DEVICES=2 $slow "$E2E_BENCH/cholesky" 10 64
stats "$of_workers == 0"

# A host version has the worker's cores and as many threads; where it crashes, kernel and task are named.
cores=$(($(nproc) < 2 ? 1 : 2))
under 0 OMPDARTS_DEVICES=0 OMPDARTS_CPU=1:$cores OMP_NUM_THREADS=7 "$E2E_PROGRAMS/host_version" team
grep -qx "$cores processors, $cores threads" "$work/out" || fail "$ran: $(cat "$work/out")"
if [ -z "$sanitizer" ]; then # which has handlers of its own
    plain 139 OMP_TARGET_OFFLOAD=disabled "$E2E_PROGRAMS/host_version" crash
    under 139 OMPDARTS_DEVICES=0 OMPDARTS_CPU=1 "$E2E_PROGRAMS/host_version" crash
    says "SIGSEGV in the host version of kernel main_l"
    says ", task 0, which a CPU worker runs"
    under 132 OMPDARTS_DEVICES=0 OMPDARTS_CPU=1 "$E2E_PROGRAMS/host_version" trap
    says "SIGILL in the host version of kernel main_l"
fi

for value in 2: :2 1:0 -1 1:2:3 many 1000000 1:100000; do
    under 2 OMPDARTS_CPU=$value "$E2E_BENCH/cholesky" 2 16
    says "OMPDARTS_CPU=$value: "
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than a line"
done
under 0 OMPDARTS_CPU=1 OMP_TARGET_OFFLOAD=mandatory "$E2E_BENCH/cholesky" 2 16
says "OMP_TARGET_OFFLOAD=mandatory forbids the host: no CPU workers (OMPDARTS_CPU)"
finish
