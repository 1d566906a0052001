/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many devices are active, and how many idle.
 *
 * Devices that share the way from the host each load what they need: beyond some number, more of them finish later.
 * From all that is known (sched/graph/known.h) the seconds of loads are estimated for each number of devices
 * (od_phase_estimate) and set against the time to compute. The thesis leaves it open ("accept to let GPUs be idle");
 * not published.
 */
#ifndef OD_SCHED_PHASE_ACTIVE_H
#define OD_SCHED_PHASE_ACTIVE_H

#include "sched/phase/findings.h"

enum { OD_ACTIVE_AS_POLICY = 0, OD_ACTIVE_CHOSEN = -1 }; /* else: so many, at most all */

typedef struct od_active {
    bool chooses;
    bool under_way;   /* an estimate */
    bool first;       /* it is the first one ever: tasks wait for that one, and for no other */
    unsigned count;   /* of active devices, the first that are not lost */
    od_placeset set;  /* the active devices; empty: as `count` says */
    size_t estimated; /* open tasks when that was last chosen, or was begun to be; 0: never for this batch */
    uint64_t batch;   /* od_known.batches then */
    bool begun;       /* some estimate has */
} od_active;

typedef struct od_active_estimate {
    od_snapshot snapshot;
    od_phase_memo memo;
    unsigned ndevices, loading; /* in all; for which links are given */
    unsigned count; /* of devices that finish soonest */
    double seconds; /* until they do; infinite: there was no memory for the estimate */
    double work;    /* seconds of all tasks */
    double speed[OD_MAX_DEVICES + 1]; /* of so many devices, in devices */
    od_findings *findings;            /* where it is looked up and noted, or NULL */
} od_active_estimate;

void od_active_init(od_active *active, const od_policy_env *env, int count, bool policy_chooses);
/* True where clearly more work is known than the last time, and no estimate is under way. */
bool od_active_is_due(od_active *active, const od_known *known);
/* Begins an estimate, of what is known now. OD_ENOMEM: it has not begun. */
od_status od_active_begin(od_active *active, const od_policy_env *env, od_known *known,
                           od_active_estimate *estimate);
/* Seconds that the way which devices share is busy with loads, when so many are active, phase after phase. (Links are
 * given as fast as when `loading` devices load; so many share what there is.) Where that is more than `most` it is only
 * known to be. Infinite: out of memory. */
double od_active_loads(const od_snapshot *snapshot, unsigned loading, unsigned nactive, double most);
/* The key of its finding, from that of the snapshot. */
uint64_t od_active_loads_key(uint64_t snapshot, unsigned loading, unsigned nactive);
/* Seconds until all is done: each device works so long, and loads take so long. */
double od_active_finish(double work, double loads);
/* Needs nothing but the estimate. */
void od_active_find(od_active_estimate *estimate);
/* Adopts what was found; the estimate is free then. */
void od_active_end(od_active *active, od_active_estimate *estimate);

#endif
