/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The planner: a thread that runs a policy's background jobs (sched/background.h) while tasks go on. It starts with the
 * first plan. Functions are called under the runtime's lock.
 */
#ifndef OD_OMP_EXT_PLANNER_H
#define OD_OMP_EXT_PLANNER_H

#include "sched/background.h"

#include "util/lock.h"

typedef struct od_planner od_planner;

/* `done` is called without the lock, when a job has run. NULL: out of memory. */
od_planner *od_planner_create(od_lock *lock, void (*done)(od_background *job));
/* In the child of a fork, which has no such thread: frees what is left. */
void od_planner_abandon(od_planner *planner);
/* False: there is no thread for it. */
bool od_planner_submit(od_planner *planner, od_background *job);

#endif
