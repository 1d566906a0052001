/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Priorities of a problem's tasks. */
#ifndef OD_SCHED_ORACLE_LEVELS_H
#define OD_SCHED_ORACLE_LEVELS_H

#include "sched/oracle/problem.h"

/* The program's, or by their bottom levels, as an engine has them that has seen all before one is ready: the same for
 * all settings. The caller's to free. NULL: out of memory. */
int32_t *od_play_levels(const od_play_problem *problem);

#endif
