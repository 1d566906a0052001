/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The skeleton of policies that plan a whole batch of tasks at once: rcm, mst, hfp, mhfp, hypergraph.
 *
 * Tasks that have arrived wait until a device asks whose plan is empty. Then they become one batch
 * (sched/policy/batch/order/), the policy cuts it into a part per device, and each part is appended to the plan of
 * one device. A request takes a task of that device's plan: the first, or, with Ready (Gonthier's thesis, Algorithm
 * 2), that of the first few which lacks the fewest bytes. A device without a plan, where nothing has arrived either,
 * steals half of the fullest one's (Algorithm 7, line 5).
 *
 * Each planned task has a place in the order of its device, and each datum a list of its planned uses per device: so
 * the rule belady always knows the next use, whatever has been reordered, stolen or added.
 *
 * Not in the thesis: parts go to the devices that already hold most of their data; and what the order is computed
 * from is thinned (sched/policy/batch/static_batch.c).
 */
#ifndef OD_SCHED_POLICY_BATCH_STATIC_POLICY_H
#define OD_SCHED_POLICY_BATCH_STATIC_POLICY_H

#include "sched/policy.h"
#include "sched/policy/batch/order/order.h"

/* Options that all static policies have, first in their tables. */
#define OD_STATIC_OPTIONS                                                                                              \
    {"ready", "a request takes the one of this many planned tasks that lacks the fewest bytes; 0, 1: the first", true, \
     32, 32},                                                                                                          \
        {"steal", "0: a device without a plan does not steal", true, 1, 1},                                            \
        {"batch", "plan so many tasks at once at most; 0: all that have arrived", true, 65536, 65536},                 \
        {"sort", "0: tasks of a batch are planned in order of arrival, not of their data", true, 1, 1}

enum {
    OD_STATIC_READY,
    OD_STATIC_STEAL,
    OD_STATIC_BATCH,
    OD_STATIC_SORT,
    OD_STATIC_OWN, /* the first of the policy's own options */
};

/* What a policy is asked for: the batch cut into `parts`, see sched/policy/batch/order/order.h. */
typedef struct od_static_job {
    const od_batch *batch;
    uint64_t memory; /* bytes of a device that the batch's data may take */
    uint32_t parts;
    const uint64_t *values; /* of the policy's options */
    const void *data;       /* the planner's own, given to od_static_create() */
} od_static_job;

typedef od_status (*od_static_planner)(const od_static_job *job, uint32_t *order, uint32_t *begin);

/* For a policy's `create`; the other callbacks of its table are those below. `options`: those of the table. `data`: the
 * planner's own, allocated, or NULL; freed with the policy, and where this fails. */
od_status od_static_create(const od_policy_env *env, od_static_planner planner, const od_policy_option *options,
                           void *data, void **state);
void od_static_destroy(void *state);
od_status od_static_ready(void *state, od_task *task);
od_task *od_static_pop(void *state, unsigned k);
void od_static_forget(void *state, od_datum *datum);
uint32_t od_static_future_uses(void *state, const od_datum *datum);
uint64_t od_static_next_use(void *state, const od_datum *datum, unsigned k);
bool od_static_is_valid(void *state);

/* The callbacks of a static policy's table; where data are is asked for when needed. */
#define OD_STATIC_CALLBACKS                                                                                            \
    .destroy = od_static_destroy, .ready = od_static_ready, .pop = od_static_pop, .forget = od_static_forget,          \
    .future_uses = od_static_future_uses, .next_use = od_static_next_use, .is_valid = od_static_is_valid

#endif
