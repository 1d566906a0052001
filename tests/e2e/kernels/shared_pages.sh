#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: shared_pages.sh PROGRAM NTILESxTILE...
#
# A factorisation of a matrix stored by columns, whose tiles share pages, two or more of them each, on four devices that
# hold a quarter of it each: right to the last bit, within their limits. What the kernels use is learnt from few page
# faults, and few tasks run on the host (a tile may just have been divided in another way): of three runs in one at
# least. An instance that finds columns of its tiles opened by others can teach too few, which costs faults until it is noticed.
. "$(dirname "$0")/../common.sh"
program=$1
shift
for size in "$@"; do
    tiles=${size%x*} tile=${size#*x}
    memory=$((tiles * tile * tiles * tile * 8 / 4)) learnt=
    # A kernel's first instance touches three tiles, in one or two pages a column; three kernels are watched, or four.
    faults=$((3 * 4 * 3 * 2 * tile))
    plain 0 "$E2E_BENCH/$program" --type double --style lapack "$tiles" "$tile"
    for try in 1 2 3; do
        under 0 OMPDARTS_DEVICES=4 OMPDARTS_MEM=$memory "$E2E_BENCH/$program" --type double --style lapack "$tiles" "$tile"
        same_checksum
        grep -q ' ok$' "$work/out" || fail "$ran: $(tail -n 1 "$work/out")"
        stats "all(d.peak_bytes <= $memory for d in stats.devices)"
        seen="run $try: $(value stats.host_tasks) of $(value totals.tasks) tasks on the host, $(value totals.faults) page faults"
        echo "$seen"
        learnt=$(value "stats.host_tasks * 20 <= totals.tasks and totals.faults <= $faults and all(d.tasks > 0 for d in stats.devices)")
        [ "$learnt" != True ] || break
    done
    [ "$learnt" = True ] || fail "$ran: what tiles use is not learnt"
done
finish
