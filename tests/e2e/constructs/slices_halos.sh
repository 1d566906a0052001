#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A stencil over rows in four slices: what is moved in each step, once the slices are known, is their halos, without a
# page fault. Before arrays were cut where slices begin and end it was 1.7 times as much.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }
moved="sum(d.h2d_bytes + d.d2h_bytes + d.d2d_bytes + d.fault_bytes for d in devices)"
halos=$((3 * 2 * 2048 * 8)) # bytes: a row to each side of each of three borders
few=8 more=28

run() { # STEPS
    plain 0 "$E2E_PROGRAMS/slices" rows "$1"
    under 0 OMPDARTS_SLICE=4 OMPDARTS_DEVICES=4 OMPDARTS_SCHED=darts "$E2E_PROGRAMS/slices" rows "$1"
    same_output
    bytes=$(value "$moved") faults=$(value "sum(d.faults for d in devices)")
}

run $few
bytes_before=$bytes faults_before=$faults
run $more
steps=$((more - few))
echo "$(((bytes - bytes_before) / steps)) bytes a step, $halos are halos; $((faults - faults_before)) page faults in $steps steps"
[ $((10 * (bytes - bytes_before))) -le $((13 * halos * steps)) ] || fail "more than 1.3 times the halos are moved"
[ "$faults" -le $((faults_before + steps)) ] || fail "slices still have page faults"
finish
