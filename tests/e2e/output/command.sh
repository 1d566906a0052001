#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a user types: `ompdarts run --sched darts --mem SIZE PROGRAM`. The result is right, the exit code is the program's, and
# the summary says who did what.
. "$(dirname "$0")/../common.sh"
[ -z "$sanitizer" ] || { echo "skipped: the command preloads the library first, a sanitizer must come before it"; exit 77; }

plain 0 "$E2E_BENCH/cholesky" 12 64
"$patient" $limit_s "$E2E_COMMAND" run --sched darts --mem 400K --debug watchdog=10 --stats "summary,$work/stats" "$E2E_BENCH/cholesky" 12 64 \
    >"$work/out" 2>"$work/err" || fail "ompdarts run: exit code $?"
ran="ompdarts run cholesky"
same_checksum
stats "stats.policy == 'darts' and stats.eviction == 'luf'" "stats.tasks == 364" "400000 - 256 < totals.limit_bytes <= 400000"
says "ompdarts: cholesky, darts+luf, seed 1: 364 tasks (0 on the host)"
for device in 0 1 2 3; do
    says "device $device "
done
"$patient" $limit_s "$E2E_COMMAND" run --stats=0 --debug watchdog=10 "$E2E_PROGRAMS/exit_inside" host_task >"$work/out" 2>"$work/err"
expect_exit 7 $? "ompdarts run exit_inside"
[ ! -s "$work/err" ] || fail "--stats=0, and yet: $(cat "$work/err")"
"$patient" $limit_s "$E2E_COMMAND" run --disable "$E2E_BENCH/cholesky" 12 64 >"$work/out" 2>"$work/err" || fail "--disable: exit code $?"
same_checksum
finish
