#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: tasks_at_once.sh
#
# KMP_TASKING=0, with which libomp carries tasks out where they are created and refuses to detach any: nothing is
# scheduled. (Stock libomp fails in parallel regions that have tasks.)
. "$(dirname "$0")/../common.sh"
export KMP_TASKING=0
for program in always_unused default_device; do
    plain 0 "$E2E_PROGRAMS/$program"
    under 0 "$E2E_PROGRAMS/$program"
    same_output
    says "nothing is scheduled"
done
finish
