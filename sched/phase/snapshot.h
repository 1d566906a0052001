/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A snapshot: the open tasks of the known graph (sched/graph/known.h) as one device sees them, as plain arrays to plan
 * from (sched/phase/phase.h).
 */
#ifndef OD_SCHED_PHASE_SNAPSHOT_H
#define OD_SCHED_PHASE_SNAPSHOT_H

#include "sched/graph/known.h"
#include "sched/phase/phase.h"
#include "sched/policy.h"

typedef struct od_snapshot {
    od_phase_problem problem; /* `share` is the caller's to set */
    od_known_task **task;     /* by number in the problem: in order of submission */
    double *seconds, *size, *load;
    uint8_t *speed_class;
    uint32_t *kind, *first_use, *use, *first_successor, *successor;
    bool *writes, *resident, *fresh;
    od_placeset *copies; /* by item: devices that have it, or where a planned task will bring it */
} od_snapshot;

/* Of device k. OD_ENOMEM: there is none, nothing is to be freed. */
od_status od_snapshot_create(od_snapshot *snapshot, const od_known *known, const od_policy_env *env, unsigned k);
void od_snapshot_free(od_snapshot *snapshot);
/* Times that its tasks together take on device j what is predicted for them. */
double od_snapshot_slowness(const od_snapshot *snapshot, const od_policy_env *env, unsigned j);

#endif
