#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: no_progress.sh
#
# The watchdog over MPI: a program that hangs is stopped; time in which a rank that serves gets no processor is none in which
# there was no progress.
. "$(dirname "$0")/../common.sh"
export "${own_crashes[@]}" # a message and abort() is how the library ends a program
ulimit -c 0

{
    "$patient" $limit_s "${launch[@]}" OMPDARTS_DEBUG=watchdog=1 "$E2E_PROGRAMS/wait_for_nothing" >"$work/out" 2>"$work/err"
    status=$?
} 2>/dev/null
ran="a program that hangs"
expect_exit 134 $status "$ran"
says "watchdog: no progress for "

# Stopped for longer than the watchdog waits, and not for as long as would make it lost.
ran="a rank stopped for 5 s"
arguments=(12 96)
plain 0 "$E2E_BENCH/cholesky" "${arguments[@]}"
rm -f "$work/pid"
"$patient" $limit_s "$E2E_MPI" $mpi_options -n 1 env OMPDARTS_DEBUG=jitter=0.02,watchdog=2 OMPDARTS_LOG=info \
    "$E2E_COMMAND" run --stats=0 --backend=mpi "$E2E_BENCH/cholesky" "${arguments[@]}" \
    : -n 1 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
    : -n 1 bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
    >"$work/out" 2>"$work/err" </dev/null &
job=$!
stop_for 5 2 $job
wait $job
expect_exit 0 $? "$ran"
same_checksum
finish
