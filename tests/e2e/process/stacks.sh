#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels on host devices with large private arrays, where the main thread's stack has no limit, and where it has a large
# one: other threads of the program's get 2 MB, or as much.
. "$(dirname "$0")/../common.sh"
program=$E2E_PROGRAMS/large_frames
tried=
for limit in unlimited 65536; do
    (ulimit -s $limit) 2>/dev/null || continue
    tried=yes
    ulimit -S -s $limit
    plain 0 "$program"
    under 0 "$program"
    same_output
    under 0 OMPDARTS_DEVICES=1 OMPDARTS_MEM=64Ki "$program"
    same_output
done
[ -n "$tried" ] || { echo "skipped: the system allows no such stack"; exit 77; }
finish
