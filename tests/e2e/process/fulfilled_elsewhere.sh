#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A thread that is none of OpenMP's fulfils the events of detached tasks of a team of one thread, on which target tasks depend;
# and a program ends after a task that has fulfilled its own.
. "$(dirname "$0")/../common.sh"
for devices in 1 4; do
    for delay in 0 0.001; do
        under 0 OMPDARTS_DEVICES=$devices OMPDARTS_DEBUG=jitter=$delay "$E2E_PROGRAMS/own_detach" elsewhere
        grep -qx right "$work/out" || fail "$ran: wrong"
    done
done
under 0 "$E2E_PROGRAMS/own_detach" alone
grep -qx right "$work/out" || fail "$ran: wrong"
finish
