/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef OD_SCHED_SPLIT_STARVE_H
#define OD_SCHED_SPLIT_STARVE_H

#include "sched/split/split.h"

/* The work left keeps the devices busy for less time than the longest path from this task takes, which is shorter where
 * it is split: task->plan says how far. */
bool od_split_starves(const od_split_view *view, od_split_task *task);

#endif
