#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: tiles_again.sh SHIM
#
# Tiles of a column-major matrix that stay on their devices, task after task: their pages, 64 ranges each, are protected
# as they come and go, not around each kernel; where the system permits fewer ranges than they are, more often; and a call
# that the system refuses is made again.
. "$(dirname "$0")/../common.sh"
preload=$preload:$1

# calls TIMES [VAR=VALUE]: of mprotect(), with so many tasks of each of four tiles
calls() {
    plain 0 "$E2E_PROGRAMS/tiles_again" "$1"
    under 0 OMPDARTS_DEVICES=2 OMPDARTS_MEM=768Ki "${@:2}" "$E2E_PROGRAMS/tiles_again" "$1"
    same_output
    stats "stats.host_tasks == 0"
    calls=$(sed -n '/^mprotect: /{s///p;q}' "$work/err") # a sanitizer's process ends later, and has none
}

tasks=$((4 * 100))
for run in 1 2 3 4 5; do # on a busy machine tiles may go from one device to the other
    calls 20 OMPDARTS_SEED=$run
    few=$calls
    calls 120 OMPDARTS_SEED=$run
    [ $((calls - few)) -gt $((16 * tasks)) ] || break
done
[ $((calls - few)) -le $((16 * tasks)) ] || fail "$tasks tasks more, and $((calls - few)) calls of mprotect more"
for run in 1 2 3 4 5 6 7 8 9; do # a busy machine may run all tasks of a tile in a row: then there are few
    calls 120 PROTECTIONS_LIMIT=400 OMPDARTS_SEED=$run
    [ "$calls" -lt $((16 * tasks)) ] || break
done
[ "$calls" -ge $((16 * tasks)) ] || fail "$calls calls of mprotect, where not all tiles can be left as they are"
calls 20 PROTECTIONS_REFUSED=900
finish
