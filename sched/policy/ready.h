/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Ready: the tasks planned for one device, taken in another order than that of the plan (thesis, Algorithm 2).
 *
 * The next task is the first of those for which the fewest bytes have to be brought, given what is on the device now or
 * will be for the tasks in its buffer. The bytes that each task lacks are kept up to date when data come
 * and go, and the tasks are in a heap: a choice costs O(log n), not a look at all tasks.
 * Uses od_task.policy_data, and od_plan's od_task.link.
 */
#ifndef OD_SCHED_POLICY_READY_H
#define OD_SCHED_POLICY_READY_H

#include "sched/policy/plan.h"
#include "util/status.h"

typedef struct od_ready od_ready;

/* What decides first: by_priority the highest priority, then by_data the fewest bytes to bring, then the order of the
 * plan. */
typedef struct od_ready_rules {
    bool by_priority;
    bool by_data;
} od_ready_rules;

od_ready *od_ready_create(const od_policy_env *env, unsigned k, od_ready_rules rules); /* NULL: out of memory */
/* Tasks that are still planned are forgotten; neither they nor their data are looked at. */
void od_ready_destroy(od_ready *ready);

/* Appends a task to the plan, with a number of the caller's. */
od_status od_ready_push(od_ready *ready, od_task *task, uint64_t note);
/* The next task, no longer planned; its data count as on the device from now on. NULL: none. `*note` is its number. */
od_task *od_ready_pop(od_ready *ready, uint64_t *note);
/* Takes a certain task out of the plan; returns its number. */
uint64_t od_ready_remove(od_ready *ready, od_task *task);
/* The plan itself, to be looked at. */
const od_plan *od_ready_plan(const od_ready *ready);

void od_ready_incoming(od_ready *ready, const od_datum *datum);
void od_ready_evicted(od_ready *ready, const od_datum *datum);
void od_ready_forget(od_ready *ready, const od_datum *datum);

/* Compares what is kept with a recount. */
bool od_ready_is_valid(const od_ready *ready);

#endif
