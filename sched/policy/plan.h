/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A plan: the tasks that a policy has reserved for one device, in order
 * (plannedTasks_k of the papers). Shared by all policies that plan.
 *
 * Keeps od_replica.planned_uses (n_p of Algorithm 10) of every datum that a planned
 * task uses, and task->state and task->place. Uses task->link.
 */
#ifndef OD_SCHED_POLICY_PLAN_H
#define OD_SCHED_POLICY_PLAN_H

#include "sched/policy.h"

typedef struct od_plan {
    unsigned k;
    od_list tasks;                                            /* od_task.link */
    void (*planned)(void *engine, od_task *task, unsigned k); /* od_policy_env.planned, or NULL */
    void *engine;
} od_plan;

/* `env` names the observer of what is planned. */
void od_plan_init(od_plan *plan, const od_policy_env *env, unsigned k);
void od_plan_append(od_plan *plan, od_task *task);
/* Takes a task out again; it is OD_TASK_READY and nowhere afterwards. */
void od_plan_remove(od_plan *plan, od_task *task);
od_task *od_plan_pop(od_plan *plan); /* NULL: empty */
/* Bytes that the task would have to load on device k and that no task in its buffer is bringing. */
size_t od_plan_lacking(const od_task *task, unsigned k);
/* The same, or some bytes more than `most`. */
size_t od_plan_lacking_within(const od_task *task, unsigned k, size_t most);
bool od_plan_is_valid(const od_plan *plan);

#endif
