#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: hidden_helpers.sh
#
# Many threads, with libomp's hidden helper threads left out in either way. With LIBOMP_USE_HIDDEN_HELPER_TASK=0 stock
# libomp aborts after some 25 threads, the library's among them: whether it does is printed.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/many_roots
plain 0 "$program"
under 0 "$program"
same_output

unset LIBOMP_NUM_HIDDEN_HELPER_THREADS
under 0 "$program"
same_output
export LIBOMP_USE_HIDDEN_HELPER_TASK=0
if "$patient" 60 "$program" >"$work/out" 2>"$work/err"; then
    echo "without the library: right"
else
    echo "without the library: $(grep -m 1 Assertion "$work/err")"
fi 2>/dev/null
for off in 0 false off; do
    under 0 LIBOMP_USE_HIDDEN_HELPER_TASK=$off "$program"
    same_output
done
finish
