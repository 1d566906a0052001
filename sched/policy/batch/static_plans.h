/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The plans of all devices, with the place of each task in the order of its device and, per device and datum, the
 * list of planned uses in that order. So the next use of a datum is known at any moment, whatever was taken out of
 * turn, moved or added.
 *
 * A task is adopted when it arrives (all memory is taken then), may be planned, taken out and planned again, and is
 * released when it leaves. Uses task->policy_data; task->link only while it is planned.
 */
#ifndef OD_SCHED_POLICY_BATCH_STATIC_PLANS_H
#define OD_SCHED_POLICY_BATCH_STATIC_PLANS_H

#include "sched/policy/plan.h"
#include "util/status.h"

typedef struct od_static_device {
    od_plan plan;
    uint64_t ns;    /* predicted duration of the plan */
    uint64_t place; /* of the next task that is appended; places only grow */
} od_static_device;

typedef struct od_static_plans {
    unsigned ndevices;
    struct od_static_datum **data; /* by datum id; NULL: no task has used it */
    uint32_t *index;               /* by datum id: scratch, all zero between uses */
    uint32_t ndata;                /* length of these two */
    od_static_device device[];
} od_static_plans;

od_static_plans *od_static_plans_create(const od_policy_env *env); /* NULL: out of memory */
void od_static_plans_destroy(od_static_plans *plans);              /* planned tasks are released */

od_status od_static_plans_adopt(od_static_plans *plans, od_task *task);
void od_static_plans_release(od_static_plans *plans, od_task *task);
void od_static_plans_forget(od_static_plans *plans, const od_datum *datum); /* no adopted task uses it */

void od_static_plans_append(od_static_plans *plans, od_task *task, unsigned k);
void od_static_plans_take_out(od_static_plans *plans, od_task *task, unsigned k);

uint64_t od_static_plans_task_ns(const od_task *task); /* predicted duration of an adopted task */
uint32_t od_static_plans_readers(const od_static_plans *plans, const od_datum *datum); /* adopted tasks that read it */
/* Place of its first planned use on device k; UINT64_MAX: none. */
uint64_t od_static_plans_next_use(const od_static_plans *plans, const od_datum *datum, unsigned k);
bool od_static_plans_is_valid(const od_static_plans *plans);

#endif
