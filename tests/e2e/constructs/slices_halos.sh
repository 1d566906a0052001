#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Stencils in four slices: what is moved in each step, once the slices are known, is their halos, without a page fault. Over
# rows it was 1.7 times as much before arrays were cut where slices begin and end; over cells of arrays that begin anywhere
# in a page there were two faults for each border before slices began where pages do.
. "$(dirname "$0")/../common.sh"
[ -z "${E2E_CUDA_DOUBLE-}" ] || { echo "skipped: page faults are not seen"; exit 77; }
moved="sum(d.h2d_bytes + d.d2h_bytes + d.d2d_bytes + d.fault_bytes for d in devices)"
few=8 more=28

run() { # VARIANT STEPS
    plain 0 "$E2E_PROGRAMS/slices" "$@"
    under 0 OMPDARTS_SLICE=4 OMPDARTS_DEVICES=4 OMPDARTS_SCHED=darts "$E2E_PROGRAMS/slices" "$@"
    same_output
    bytes=$(value "$moved") faults=$(value "sum(d.faults for d in devices)")
}

steps=$((more - few))
for variant in rows cells; do
    case $variant in
        rows) halos=$((3 * 2 * 2048 * 8)) ;; # bytes: a row to each side of each of three borders
        cells) halos=$((3 * 2 * 4096)) ;;    # a page
    esac
    run $variant $few
    bytes_before=$bytes faults_before=$faults
    run $variant $more
    echo "$variant: $(((bytes - bytes_before) / steps)) bytes a step, $halos are halos;" \
        "$((faults - faults_before)) page faults in $steps steps"
    [ $((10 * (bytes - bytes_before))) -le $((13 * halos * steps)) ] || fail "$variant: more than 1.3 times the halos are moved"
    [ "$faults" -le $((faults_before + steps)) ] || fail "$variant: slices still have page faults"
done
finish
