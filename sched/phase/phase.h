/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Hold and stream: which of the known tasks one device does next, so that each byte that it loads serves long.
 *
 * Of some role (an argument position of a kind of task, or what tasks write) a set H of items is chosen that stays on
 * the device; the partners, which is what their tasks use besides, are streamed past it. H is grown from an item with
 * much work: always the group of items that need the same new partners and bring the most task time per second of new
 * loads. So it becomes rows for a two-dimensional product, squares of C for a three-dimensional one, a block of tiles
 * for Cholesky, without knowing of either. Not published; "stationary" is the word for it in the design of
 * accelerators.
 *
 * A candidate (a role, and how much memory is kept for streams) is ordered by simulating the device: the load that
 * makes most tasks possible comes next, and held items come before streams once the latter's share of memory is full.
 * The candidate with the most task time per second of transfers wins; a few phases before the end, the one with which
 * all that is left needs the fewest, and there one without H is among them.
 *
 * Dependences: tasks come in an order in which each comes after those that it depends on. A task may be chosen if all
 * those before it are chosen. Deterministic. No threads, no engine: arrays in, arrays out.
 */
#ifndef OD_SCHED_PHASE_PHASE_H
#define OD_SCHED_PHASE_PHASE_H

#include "memmgr/device/slowness.h"
#include "util/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What estimates of one problem for different numbers of devices share; all zeros at first. */
typedef struct od_phase_memo {
    double loads;   /* as estimated last */
    double longest; /* seconds of the longest phase of that estimate; 0: unknown */
} od_phase_memo;

/* What was the best phase the last time that all were compared; all zeros at first. */
typedef struct od_phase_habit {
    int role;
    unsigned of;    /* which share of memory H leaves to streams, and what it reaches: a number */
    double worth;   /* seconds of tasks for each of transfers */
    double seconds; /* of its tasks */
    unsigned left;  /* how many phases more need not be compared with others */
} od_phase_habit;

/* The open tasks and what they use. All arrays are the caller's. */
typedef struct od_phase_problem {
    uint32_t ntasks, nitems, nkinds;
    const double *seconds;           /* by task: predicted duration */
    const uint8_t *speed_class;      /* by task: its row of od_slowness; NULL: OD_SPEED_GENERAL */
    const uint32_t *kind;            /* by task: below nkinds, which is OD_PHASE_KINDS at most */
    const uint32_t *first_use;       /* by task, and one more: its uses are first_use[t] .. first_use[t + 1] - 1 */
    const uint32_t *use;             /* the item */
    const bool *writes;              /* by use */
    const uint32_t *first_successor; /* by task, and one more */
    const uint32_t *successor;       /* greater than the task itself */
    const double *size;              /* by item: bytes */
    const double *load;              /* by item: seconds to bring it, or to write it back */
    const bool *resident;            /* by item: it is there */
    const bool *fresh;               /* by item: the first of the tasks overwrites it, which needs no load */
    double memory;                   /* bytes of the device */
    uint32_t window;                 /* tasks whose data are there before they have run: a task buffer */
    double share;                    /* seconds of tasks that it is to get at most */
    od_phase_memo *memo;             /* or NULL; for estimates */
    od_phase_habit *habit;           /* or NULL; for phases one after the other */
} od_phase_problem;

static inline unsigned od_phase_speed_class(const od_phase_problem *problem, uint32_t task)
{
    return problem->speed_class ? problem->speed_class[task] : OD_SPEED_GENERAL;
}

typedef struct od_phase_result {
    uint32_t *order; /* tasks, with room for all */
    uint32_t ntasks;
    double seconds; /* of these tasks */
    double loads;   /* seconds of the loads that they need, predicted */
    double stores;  /* seconds of what has to go back for it */
    double held;    /* bytes of H */
    int role; /* for information: number of the kind times OD_PHASE_POSITIONS plus the position, or a name below */
} od_phase_result;

enum { OD_PHASE_KINDS = 64, OD_PHASE_POSITIONS = 16 }; /* positions beyond these are no roles */
enum { OD_PHASE_FIRST = -1, OD_PHASE_LAST = -2, OD_PHASE_WRITTEN = -3, OD_PHASE_NOTHING = -4 };

/* The best phase: tasks, each once and after those that it depends on, of about `share` seconds; at least one where
 * there is any. The caller has set result->order. OD_ENOMEM: the result is undefined. Takes time linear in all tasks
 * for each role; the dozens of candidates look at the tasks around H only. */
od_status od_phase_plan(const od_phase_problem *problem, od_phase_result *result);

/* Seconds of loads, added up over all devices, when so many share the work of the problem equally, phase after phase;
 * a rough plan. Where they are more than `most` they are only known to be, and `*loads` is more than that. With a memo
 * estimates for more and more devices are free as long as memory limits the phases, not the share. OD_ENOMEM: `*loads`
 * is undefined. */
od_status od_phase_estimate(const od_phase_problem *problem, unsigned devices, double most, double *loads);

#endif
