#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: no_progress.sh
#
# A program that hangs by its own fault is stopped by the watchdog, which says how things stand. One that gets SIGINT or
# SIGTERM gives its figures and ends by that signal; if it handles the signal itself, nothing of that happens.
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how the library ends a program

# ended STATUS [VAR=VALUE…] PROGRAM ARGUMENTS…
ended() {
    local status
    rm -f "$work/stats"
    {
        "$patient" $limit_s env LD_PRELOAD="$preload" OMPDARTS_STATS="$work/stats" "${@:2}" >"$work/out" 2>"$work/err"
        status=$?
    } 2>/dev/null
    ran=${*:2}
    expect_exit "$1" $status "$ran"
}

ended 134 OMPDARTS_DEBUG=watchdog=1 "$E2E_PROGRAMS/wait_for_nothing"
says "watchdog: no progress for "
says " s; 1 threads wait in libomp" # more than the 1 s asked for where the machine is busy
says "engine state after"
# Threads sleep, and do not look as if one of them ran a task.
ended 134 OMPDARTS_DEBUG=watchdog=1 KMP_BLOCKTIME=0 "$E2E_PROGRAMS/wait_for_nothing" barrier
says "watchdog: no progress for "
says " s; 1 threads wait in libomp"

# Seconds in which it is stopped do not count: what it says is at least 4 s less than it took (one for rounding).
begin=$(date +%s)
env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=3 "$E2E_PROGRAMS/wait_for_nothing" >"$work/out" 2>"$work/err" &
program=$!
until [ -s "$work/out" ]; do sleep 0.02; done
sleep 1
kill -STOP $program
sleep 4
kill -CONT $program
wait $program 2>/dev/null
status=$?
ran="stopped for 4 s"
took=$(($(date +%s) - begin))
expect_exit 134 $status "$ran"
said=$(sed -n 's/.*watchdog: no progress for \([0-9]*\) s.*/\1/p' "$work/err" | head -n 1)
[ "${said:-0}" -ge 3 ] && [ "$said" -le $((took - 4 + 1)) ] || fail "$ran: took $took s, but: $(cat "$work/err")"

for signal in 2 15; do
    ended $((128 + signal)) OMPDARTS_STATS="summary,$work/stats" "$E2E_PROGRAMS/wait_for_nothing" signal $signal
    says "statistics so far"
    says "1 tasks (0 on the host)"
    stats "stats.tasks == 1"
done
# Nothing to say: as without the library.
ended 130 OMPDARTS_STATS= "$E2E_PROGRAMS/wait_for_nothing" signal 2
[ ! -s "$work/err" ] || fail "$ran: on standard error: $(cat "$work/err")"

# In the middle of work.
for moment in 0 0.01 0.1; do
    rm -f "$work/stats" "$work/out"
    env LD_PRELOAD="$preload" OMPDARTS_DEBUG=watchdog=10 OMPDARTS_STATS="$work/stats" \
        "$E2E_PROGRAMS/wait_for_nothing" loop >"$work/out" 2>"$work/err" &
    program=$!
    until [ -s "$work/out" ]; do sleep 0.02; done
    sleep $moment
    kill -TERM $program
    wait $program 2>/dev/null
    status=$?
    ran="a loop, terminated after $moment s"
    expect_exit 143 $status "$ran"
    says "interrupted (Terminated): statistics so far"
    stats "stats.tasks > 0"
done
finish
