#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: nodes.sh SHIM
#
# Ranks on three nodes, for all that their hosts' names say, one of which is that of rank 0: what each node and the network
# reach is measured at the first run, and kept.
. "$(dirname "$0")/../common.sh"
shim=${sanitizer:+$sanitizer:}$1
cholesky=$E2E_BENCH/cholesky
plain 0 "$cholesky" 8 96

run() {
    ran=$1
    shift
    "$patient" $limit_s "$E2E_MPI" $mpi_options \
        -n 1 env XDG_CACHE_HOME="$work" OMPDARTS_CACHE=1 OMPDARTS_LOG=info OMPDARTS_MEM=2M OMPDARTS_DEBUG=watchdog=10 \
            "$E2E_COMMAND" run --backend=mpi "$@" "$cholesky" 8 96 \
        : -n 1 env LD_PRELOAD="$shim" OTHER_HOST=left "$E2E_COMMAND" serve --devices=2 "$cholesky" \
        : -n 1 env LD_PRELOAD="$shim" OTHER_HOST=right "$E2E_COMMAND" serve --devices=1 "$cholesky" \
        : -n 1 "$E2E_COMMAND" serve --devices=1 "$cholesky" >"$work/out" 2>"$work/err" </dev/null
    expect_exit 0 $? "$ran"
    same_checksum
}

run "first run"
links=("host to rank "{1,2,3} "rank "{1,2,3}" to host" "within rank 1" "host to rank 1 at once" "rank 1 to host at once"
    "rank 1 to rank 2" "rank 2 to rank 3" "host to 2 nodes at once" "2 nodes to host at once")
for link in "${links[@]}"; do
    grep -qE "^ompdarts: profile: link mpi [0-9a-f]* $link: .*measured" "$work/err" || fail "$ran: no link '$link'"
done
[ "$(grep -c "profile: link" "$work/err")" -eq ${#links[@]} ] || fail "$ran: other links: $(grep "profile: link" "$work/err")"
run "second run"
! grep -q "profile: link" "$work/err" || fail "$ran: links are measured again: $(grep "profile: link" "$work/err")"
run "another choice of devices" --devices=1,2,3
! grep -q "profile: link" "$work/err" || fail "$ran: links are measured again: $(grep "profile: link" "$work/err")"

# The way out of rank 0's node is shared: as a rule a tile that three nodes want leaves it once.
product=("$E2E_BENCH/gemm2d" 12 96)
plain 0 "${product[@]}"
other() { echo "env LD_PRELOAD=$shim OTHER_HOST=$1 $E2E_COMMAND serve --devices=1 ${product[0]}"; }
product_on() {
    ran="a product on $*"
    "$patient" $limit_s "$E2E_MPI" $mpi_options \
        -n 1 env OMPDARTS_SCHED=eager OMPDARTS_LOG=info OMPDARTS_STATS="$work/stats" OMPDARTS_DEBUG=watchdog=10 \
            "$E2E_COMMAND" run --backend=mpi "${product[@]}" \
        : -n 1 $(other $1) : -n 1 $(other $2) : -n 1 $(other $3) >"$work/out" 2>"$work/err" </dev/null
    expect_exit 0 $? "$ran"
    same_checksum
    pool=$(sed -nE 's/^ompdarts: runtime: 3 devices of ([0-9]+) bytes.*/\1/p' "$work/err")
}
product_on a b c
stats "totals.h2d_bytes < 1.5 * 24 * 4 * 96 * 96 * 4" "totals.remote_bytes > totals.h2d_bytes"

# Ranks on one machine share what it has.
alone=${pool:-0}
product_on a a a
[ "${pool:-0}" -gt 0 ] && [ $(((alone + pool / 2) / pool)) -eq 3 ] ||
    fail "$ran: devices of ${pool:-no} bytes, where each has a machine of its own $alone"

# The policy that knows of nodes sends no more between ranks than one queue for all, on three nodes of two devices.
factor=("$E2E_BENCH/cholesky" 12 96)
plain 0 "${factor[@]}"
other() { echo "env LD_PRELOAD=$shim OTHER_HOST=$1 $E2E_COMMAND serve --devices=2 ${factor[0]}"; }
between() {
    ran="a factorisation on three nodes, $1"
    "$patient" $limit_s "$E2E_MPI" $mpi_options \
        -n 1 env OMPDARTS_SCHED="$1" OMPDARTS_STATS="$work/stats" OMPDARTS_DEBUG=watchdog=10 \
            "$E2E_COMMAND" run --backend=mpi "${factor[@]}" \
        : -n 1 $(other a) : -n 1 $(other b) : -n 1 $(other c) >"$work/out" 2>"$work/err" </dev/null
    expect_exit 0 $? "$ran"
    same_checksum
    bytes=$(value "totals.h2d_bytes + totals.d2h_bytes + totals.remote_bytes")
}
between eager
queue=$bytes
between nodes
echo "between ranks: eager $queue bytes, nodes $bytes"
[ "$bytes" -gt 0 ] && [ "$bytes" -le "$queue" ] || fail "$ran: $bytes bytes between ranks, with eager $queue"
finish
