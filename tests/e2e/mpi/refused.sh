#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: refused.sh
#
# Ranks that do not belong together, or have nothing to offer: one line says why, and the job ends.
. "$(dirname "$0")/../common.sh"

# refused CODE TEXT COMMAND… : ends so, and says that in one line of ours, of which ranks may have one each
refused() {
    local code=$1 text=$2 status
    shift 2
    "$patient" $limit_s "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$(exit_code $?)
    ran=$*
    expect_exit "$code" $status "$ran"
    says "$text"
    [ ! -s "$work/out" ] || [ -n "$hydra" ] || fail "$ran: it printed $(head -n 1 "$work/out")"
}

run=("$E2E_COMMAND" run --stats=0 --backend=mpi) serve=("$E2E_COMMAND" serve --devices=1)
job=("$E2E_MPI" $mpi_options -n 1)
program=$E2E_BENCH/cholesky

refused 2 "no PROGRAM given" "${serve[@]}"
refused 2 "serve: this is the only rank" "${serve[@]}" "$program"
refused 2 "there is one rank only" "${run[@]}" "$program" 4 64
refused 2 "not built with offloading" "${serve[@]}" /bin/ls
refused 2 "silence=0" "$E2E_COMMAND" run --backend=mpi:silence=0 "$program" 4 64
refused 2 "this process is no rank of an MPI job" env LD_PRELOAD="$preload" OMPDARTS_BACKEND=mpi "$program" 4 64
refused 2 "rank 1 is \`ompdarts run\`" "${job[@]}" "${run[@]}" "$program" 4 64 : -n 1 "${run[@]}" "$program" 4 64
refused 2 "serves another program" "${job[@]}" "${run[@]}" "$program" 4 64 : -n 1 "${serve[@]}" "$E2E_BENCH/lu"
refused 2 "those of rank 1" "${job[@]}" "${run[@]}" --mem=2M "$program" 4 64 : -n 1 "${serve[@]}" --mem=1M "$program"
refused 2 "only 1 device exists" "${job[@]}" "${run[@]}" --devices=2 "$program" 4 64 : -n 1 "${serve[@]}" "$program"
refused 1 "at least one device must be served" "${job[@]}" "${run[@]}" "$program" 4 64 : -n 1 "${serve[@]}" --devices=0 "$program"
refused 1 "only 4 devices exist" "${job[@]}" "${run[@]}" "$program" 4 64 : -n 1 "${serve[@]}" --devices=9 "$program"

# Before MPI begins, for which the others wait: in the command, in the library, and in the program.
refused 2 "did you mean 4G" "${job[@]}" "${run[@]}" --mem=4 "$program" 4 64 : -n 2 "${serve[@]}" "$program"
refused 2 "cannot run '/nowhere'" "${job[@]}" "${run[@]}" "$program" 4 64 : -n 2 "${serve[@]}" /nowhere
refused 2 "offloads before main()" "${job[@]}" "${run[@]}" "$E2E_PROGRAMS/static_objects" tasks : -n 2 "${serve[@]}" \
    "$E2E_PROGRAMS/static_objects"
finish
