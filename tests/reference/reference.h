/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Plain versions of the policies, straight from the pseudo-code of the papers: each choice scans all tasks and all
 * data, and what can be computed from the tasks and replicas is computed anew. Tests run them beside the fast ones,
 * which must make the same choices; bench/sched_cost measures them. They take the option values of the policy that they
 * mirror.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "sched/policy.h"

extern const od_policy_ops od_reference_eager, od_reference_ap, od_reference_dmda, od_reference_dmdar,
    od_reference_dmdas, od_reference_lws, od_reference_darts;

/* NULL: the policy has none. */
const od_policy_ops *od_reference_find(const char *policy);

/* Tasks that a reference owns, in order of arrival. */
typedef struct reference_tasks {
    od_task **task;
    size_t count, capacity;
} reference_tasks;

od_status reference_add(reference_tasks *tasks, od_task *task);
void reference_remove(reference_tasks *tasks, const od_task *task);

/* True where a replica on k holds memory and may be used. */
static inline bool reference_is_resident(const od_datum *datum, unsigned k)
{
    return datum->replica[k].state == OD_PRESENT || datum->replica[k].state == OD_LOADING;
}

static inline bool reference_is_planned(const od_task *task, unsigned k)
{
    return task->state == OD_TASK_PLANNED && task->place == (int)k;
}

#endif
