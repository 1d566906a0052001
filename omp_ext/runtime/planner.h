/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The planner: a thread that carries out what a policy has planned aside (sched/aside.h) while tasks go on. It starts with the
 * first plan. Functions are called under the runtime's lock.
 */
#ifndef OD_OMP_EXT_PLANNER_H
#define OD_OMP_EXT_PLANNER_H

#include "sched/aside.h"

#include "util/lock.h"

typedef struct od_planner od_planner;

/* `done` is called without the lock, when an aside has run. NULL: out of memory. */
od_planner *od_planner_create(od_lock *lock, void (*done)(od_aside *aside));
/* In the child of a fork, which has no such thread: frees what is left. */
void od_planner_abandon(od_planner *planner);
/* False: there is no thread for it. */
bool od_planner_submit(od_planner *planner, od_aside *aside);

#endif
