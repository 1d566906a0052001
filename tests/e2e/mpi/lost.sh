#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: lost.sh TIMES SHIM
#
# A rank that serves is killed, or stops answering, at a random moment: the result is right, or a message says which
# rank it was, and the job ends.
. "$(dirname "$0")/../common.sh"
arguments=(12 96)
plain 0 "$E2E_BENCH/cholesky" "${arguments[@]}"

# lose SIGNAL MILLISECONDS [OPTION OF MPIRUN…] : that long after the rank has begun, or to be stopped, after all have come
# together: one that stops before keeps the others waiting for minutes.
lose() {
    local signal=$1 after=$2 job pid status
    shift 2
    rm -f "$work/pid"
    "$patient" $limit_s "$E2E_MPI" $mpi_options "$@" -n 1 \
        env OMPDARTS_DEBUG=jitter=0.02 OMPDARTS_LOG=info "$E2E_COMMAND" run --stats=0 --backend=mpi:silence=2 "$E2E_BENCH/cholesky" "${arguments[@]}" \
        : -n 2 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
        : -n 1 bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
        >"$work/out" 2>"$work/err" </dev/null &
    job=$!
    while [ ! -s "$work/pid" ] && kill -0 $job 2>/dev/null; do sleep 0.05; done
    while [ "$signal" = STOP ] && ! grep -q "^ompdarts: runtime: 3 devices" "$work/err" && kill -0 $job 2>/dev/null; do sleep 0.05; done
    pid=$(cat "$work/pid")
    sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
    kill "-$signal" "$pid" 2>/dev/null
    wait $job
    status=$?
    kill -KILL "$pid" 2>/dev/null
    ran="SIG$signal after $after ms"
    [ $status -ne 124 ] || fail "$ran: the job does not end"
    if grep -q '^checksum ' "$work/out"; then
        same_checksum
    else
        grep -qE 'rank 3|other ranks do not respond' "$work/err" || { [ -n "$hydra" ] && grep -q "BAD TERMINATION" "$work/out"; } || fail "$ran: nothing says why it ended: $(head -n 5 "$work/err")"
    fi
}

for ((i = 0; i < $1; i++)); do
    lose KILL $((RANDOM % 4000))
    lose STOP $((RANDOM % 1500))
done
[ -z "${E2E_THOROUGH-}" ] || lose KILL $((2000 + RANDOM % 2000)) --enable-recovery # mpirun lets the others go on

# Rank 0 stops for longer than others may be silent, as with its whole machine: nobody is lost.
ran="rank 0 stopped for 4 s"
rm -f "$work/pid" "$work/err"
"$patient" $limit_s "$E2E_MPI" $mpi_options -n 1 bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" \
    env OMPDARTS_DEBUG=jitter=0.02 OMPDARTS_LOG=info "$E2E_COMMAND" run --stats=0 --backend=mpi:silence=2 "$E2E_BENCH/cholesky" "${arguments[@]}" \
    : -n 3 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" >"$work/out" 2>"$work/err" </dev/null &
job=$!
stop_for 4 3 $job
wait $job
expect_exit 0 $? "$ran"
same_checksum
! grep -q "has not been heard of" "$work/err" || fail "$ran: $(grep "has not been heard of" "$work/err")"

# A rank whose devices take longer to open than others may be silent.
if [ -n "${E2E_THOROUGH-}" ]; then
    ran="a rank that opens its devices for 35 s"
    "$patient" $limit_s "$E2E_MPI" $mpi_options -n 1 "$E2E_COMMAND" run --stats=0 --backend=mpi "$E2E_BENCH/cholesky" "${arguments[@]}" \
        : -n 1 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
        : -n 1 env LD_PRELOAD="${sanitizer:+$sanitizer:}$2" OTHER_HOST=slow OTHER_HOST_S=35 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/cholesky" \
        >"$work/out" 2>"$work/err" </dev/null
    expect_exit 0 $? "$ran"
    same_checksum

    # One that goes on after it was taken for lost stays so, and does not take rank 0 for ended 30 s later.
    ran="a rank stopped for 4 s"
    rm -f "$work/pid" "$work/err"
    "$patient" $limit_s "$E2E_MPI" $mpi_options \
        -n 1 env OMPDARTS_LOG=info "$E2E_COMMAND" run --stats=0 --backend=mpi:silence=2 "$E2E_BENCH/tiny" --empty 5000000 \
        : -n 1 "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/tiny" \
        : -n 1 bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$E2E_COMMAND" serve --devices=1 "$E2E_BENCH/tiny" \
        >"$work/out" 2>"$work/err" </dev/null &
    job=$!
    stop_for 4 2 $job
    sleep 36
    kill -TERM $job 2>/dev/null || fail "$ran: the job has ended: $(cat "$work/err")"
    wait $job
    [ "$(grep -c "no longer responds" "$work/err")" -eq 1 ] || fail "$ran: it is not lost once: $(cat "$work/err")"
fi
finish
