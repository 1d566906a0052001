/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What stationary.c (the policy) and plan.c (what each device is given) share. */
#ifndef OD_SCHED_POLICY_STATIONARY_IMPL_H
#define OD_SCHED_POLICY_STATIONARY_IMPL_H

#include "sched/graph/known.h"
#include "sched/phase/phase.h"
#include "sched/policy/plan.h"

typedef struct od_stationary {
    od_policy_env env;
    bool steals, owners;     /* options */
    bool plans;              /* something is being planned; one at a time, for tasks are planned once */
    bool in_order;           /* the last plan was a joint one: each device follows its order, and takes nothing over */
    double planning_seconds; /* what the last one took */
    od_phase_habit habit;    /* of the last phase */
    od_plan ready[];         /* by device: its tasks that are ready, in the order in which they became so */
} od_stationary;

/* Plans the task for the device, behind all others there. */
void od_stationary_claim(od_stationary *s, od_known_task *known, unsigned k);
/* Plans what the device does next; its tasks are claimed then, or when the plan is there (od_stationary.plans). */
void od_stationary_plan(od_stationary *s, unsigned k);

#endif
