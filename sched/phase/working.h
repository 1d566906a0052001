/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many devices work, and how many rest.
 *
 * Devices that share the way from the host each load what they need: beyond some number, more of them finish later.
 * From all that is known (sched/graph/known.h) the seconds of loads are estimated for each number of devices
 * (od_phase_estimate) and set against the time to compute. The thesis leaves it open ("accept to let GPUs be idle");
 * not published.
 */
#ifndef OD_SCHED_PHASE_WORKING_H
#define OD_SCHED_PHASE_WORKING_H

#include "sched/phase/snapshot.h"

enum { OD_WORKING_AS_POLICY = 0, OD_WORKING_CHOSEN = -1 }; /* else: so many, at most all */

typedef struct od_working {
    bool chooses;
    bool under_way;   /* an estimate */
    bool first;       /* it is the first one ever: tasks wait for that one, and for no other */
    unsigned count;   /* of devices that work */
    size_t estimated; /* open tasks when that was last chosen, or was begun to be; 0: never for this batch */
    uint64_t batch;   /* od_known.batches then */
    bool begun;       /* some estimate has */
} od_working;

typedef struct od_working_estimate {
    od_snapshot snapshot;
    od_phase_memo memo;
    unsigned ndevices;
    unsigned count; /* of devices that finish soonest */
    double seconds; /* until they do; infinite: there was no memory for the estimate */
    double work;    /* seconds of all tasks */
} od_working_estimate;

void od_working_init(od_working *working, const od_policy_env *env, int count, bool policy_chooses);
/* True where clearly more work is known than the last time, and no estimate is under way. */
bool od_working_is_due(od_working *working, const od_known *known);
/* Begins an estimate, of what is known now. OD_ENOMEM: it has not begun. */
od_status od_working_begin(od_working *working, const od_policy_env *env, od_known *known,
                           od_working_estimate *estimate);
/* Seconds that the way which `ndevices` devices share is busy with loads, when so many of them work phase after
 * phase. (Links are told as fast as when all load; so many share what there is.) Infinite: out of memory. */
double od_working_loads(const od_snapshot *snapshot, unsigned ndevices, unsigned working);
/* Seconds until all is done: each device works so long, and loads take so long. */
double od_working_finish(double work, double loads);
/* Needs nothing but the estimate. */
void od_working_find(od_working_estimate *estimate);
/* Adopts what was found; the estimate is free then. */
void od_working_end(od_working *working, od_working_estimate *estimate);

#endif
