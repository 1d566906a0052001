#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Devices of unequal speed: what tasks take on each is learnt, so that a policy that gives tasks to devices in advance gives
# the faster one more, and the order of the devices does not matter. Results are right under every policy.
. "$(dirname "$0")/../common.sh"
cpu= # all tasks are for devices

# All tasks are ready at once, five times, and half of the first 64 are the slow device's before anything is known.
program=("$E2E_BENCH/gemm2d" --repeat 5 8 192)
plain 0 "${program[@]}"
for policy in dmda stationary auto; do
    for slow in 30/1 1/30; do
        under 0 OMPDARTS_SCHED=$policy OMPDARTS_DEVICES=2 OMPDARTS_BACKEND=omptarget:slow=$slow "${program[@]}"
        same_checksum
        stats "stats.tasks == 320"
        fast=1
        [ $slow = 30/1 ] || fast=0
        [ $policy != dmda ] || stats "stats.devices[$fast].tasks > 320 * 4 / 5"
    done
done
finish
