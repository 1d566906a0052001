/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What plans have been found for which problems: engines that play the same graph one after the other, each with other
 * settings (sched/auto/trial.h), come upon the same ones again and again.
 *
 * A finding is kept under a hash of all that it depends on. There are so many places for them; a newer one takes the
 * place of an older one. Without memory none is kept.
 */
#ifndef OD_SCHED_PHASE_FINDINGS_H
#define OD_SCHED_PHASE_FINDINGS_H

#include "sched/phase/phase.h"
#include "sched/phase/snapshot.h"

typedef struct od_finding {
    uint64_t key;
    union {
        struct { /* of od_active_find() */
            unsigned count;
            double seconds;
        } active;
        double loads;          /* of od_active_loads(); of od_owners_find() nothing but the last member */
        double finish;         /* of od_list_plan_best(): seconds */
        struct {               /* of od_phase_plan() */
            od_phase_result phase;
            od_phase_habit habit;
        };
    };
    uint32_t *order; /* of the last two, by task; else NULL, like the next */
    unsigned *place; /* or the owner, by task */
} od_finding;

/* All zeros at first. */
typedef struct od_findings {
    od_finding place[512];
} od_findings;

void od_findings_free(od_findings *findings);

/* What is found, as it is part of the key. */
typedef enum od_findings_kind {
    OD_FINDINGS_ACTIVE = 1,
    OD_FINDINGS_LOADS,
    OD_FINDINGS_LIST,
    OD_FINDINGS_PHASE,
    OD_FINDINGS_OWNERS
} od_findings_kind;

/* Of the tasks, and of what they use and load, wherever that is and whatever memory there is. */
uint64_t od_findings_tasks_key(const od_phase_problem *problem);
/* Of the snapshot, but for the share. */
uint64_t od_findings_key(const od_snapshot *snapshot);
/* Of what that and these bytes say. */
uint64_t od_findings_mix(uint64_t key, od_findings_kind kind, const void *bytes, size_t size);

/* NULL: not known; also where there are no findings at all (NULL). */
const od_finding *od_findings_look_up(const od_findings *findings, uint64_t key);
/* Copies order and place, of so many tasks, where they are not NULL. */
void od_findings_add(od_findings *findings, const od_finding *finding, uint32_t ntasks);

#endif
