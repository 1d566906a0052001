#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: uses_mpi.sh
#
# A program that uses MPI itself finds it as it expects it, and its target tasks run on other ranks.
. "$(dirname "$0")/../common.sh"
under 0 "$E2E_PROGRAMS/uses_mpi"
grep -qx right "$work/out" || fail "$ran: wrong"
stats "stats.host_tasks == 0" "totals.tasks == 48" "sum(d.tasks > 0 for d in devices) > 1"
finish
