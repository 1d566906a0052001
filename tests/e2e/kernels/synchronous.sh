#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: synchronous.sh PROGRAM KERNELS MEMORY ARGUMENT…
#
# One of examples/programs whose kernels are synchronous, on all devices by OMPDARTS_SLICE: right by its own check, and to
# the last bit what it computes without the library, with ample memory and with so much for each device that its arrays do
# not fit on one. KERNELS of it can be cut into slices.
. "$(dirname "$0")/../common.sh"
program=$E2E_EXAMPLES/$1 kernels=$2 memory=$3
shift 3

# runs [VAR=VALUE…] : in slices, on all devices
runs() {
    under 0 "$@" "$program" "${arguments[@]}"
    same_checksum
    stats "sum(k.sliced > 0 for k in stats.kernels) == $kernels" "all(d.tasks > 0 for d in devices)" \
        "totals.peak_bytes <= totals.limit_bytes"
}

arguments=("$@")
"$program" --help >"$work/out" || fail "$program --help"
plain 0 "$program" "$@"
for value in off auto; do
    under 0 OMPDARTS_SLICE=$value "$program" "$@"
    same_checksum
done
runs OMPDARTS_SLICE=4
runs OMPDARTS_SLICE=4 OMPDARTS_MEM="$memory"
runs OMPDARTS_SLICE=8 OMPDARTS_DEVICES=4 OMPDARTS_MEM="$memory" OMPDARTS_SEED=2 OMPDARTS_DEBUG=jitter=0.0005
runs OMPDARTS_SLICE=3 OMPDARTS_DEVICES=2 OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
finish
