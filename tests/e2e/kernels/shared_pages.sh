#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: shared_pages.sh PROGRAM NTILESxTILE...
#
# A factorisation of a matrix stored by columns, whose tiles share pages, two or more of them each, on four devices that
# hold a quarter of it each: right to the last bit, on devices (but for a task now and then whose tiles have
# just been divided in another way), within their limits. What the
# kernels use is learnt from few page faults.
. "$(dirname "$0")/../common.sh"
program=$1
shift
for size in "$@"; do
    tiles=${size%x*} tile=${size#*x}
    memory=$((tiles * tile * tiles * tile * 8 / 4))
    plain 0 "$E2E_BENCH/$program" --type double --style lapack "$tiles" "$tile"
    under 0 OMPDARTS_DEVICES=4 OMPDARTS_MEM=$memory "$E2E_BENCH/$program" --type double --style lapack "$tiles" "$tile"
    same_checksum
    grep -q ' ok$' "$work/out" || fail "$ran: $(tail -n 1 "$work/out")"
    # A kernel's first instance touches three tiles, in one or two pages a column; three kernels are watched, or four.
    stats "stats.host_tasks * 20 <= totals.tasks" "all(d.tasks > 0 and d.peak_bytes <= $memory for d in stats.devices)" \
        "totals.faults <= $((3 * 4 * 3 * 2 * tile))"
done
finish
