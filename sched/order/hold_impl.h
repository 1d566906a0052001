/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What hold.c (which candidates), hold_grow.c (what stays) and hold_stream.c (in what order) share. */
#ifndef OD_SCHED_ORDER_HOLD_IMPL_H
#define OD_SCHED_ORDER_HOLD_IMPL_H

#include "sched/order/hold.h"

#define OD_NO_ITEM UINT32_MAX

/* What never changes while one problem is looked at. */
typedef struct od_hold_graph {
    const od_hold_problem *p;
    uint32_t *first_user, *user; /* by item: its tasks, in their order */
    uint32_t *indegree;          /* by task */
    double *level;               /* by task: seconds to the end of the graph, its own included */
} od_hold_graph;

/* H as it grew: any beginning of it is a candidate. */
typedef struct od_hold_growth {
    uint32_t *item; /* in the order in which they joined */
    uint32_t nitems;
    double *bytes;    /* of the items up to this one */
    double *seconds;  /* of the tasks with these */
    double *loads;    /* predicted seconds of their loads and stores, partners included */
    uint32_t *joined; /* by task: how many items there were when it came to belong; 0: it does not */
} od_hold_growth;

/* Seconds of the load that using the item costs. */
static inline double od_hold_cost(const od_hold_problem *p, uint32_t item)
{
    return p->resident[item] || p->fresh[item] ? 0 : p->load[item];
}

/* H grows until its tasks take so many seconds. Without dependences that may be more than the share: the streams then end before
 * they have met all that could use them. With dependences tiles would be left half done. */
static inline double od_hold_reach(const od_hold_problem *p)
{
    static const double times = 4, rounding = 1 - 1e-6;
    return rounding * (p->first_successor[p->ntasks] ? p->share : times * p->share);
}

/* The order ends when its tasks take so many seconds. With dependences a phase may be somewhat longer than the share, if it is whole then. */
static inline double od_hold_limit(const od_hold_problem *p)
{
    static const double longer = 1.25, rounding = 1 - 1e-6;
    return rounding * (p->first_successor[p->ntasks] ? longer * p->share : p->share);
}

/* Grows H of a role up to so many bytes; `growth` has room for all items and tasks. OD_ENOMEM: what it holds is undefined. */
od_status od_hold_grow(const od_hold_graph *graph, int role, double limit, od_hold_growth *growth);

/* Orders those of the tasks that are `chosen` (by task), with items `held` (by item) staying. Ends when the share has been reached,
 * or without any task once it is clear that less than `worth` seconds of tasks will come for each of transfers.
 * `there` (by item): what is on the device then. OD_ENOMEM: the result is undefined. */
od_status od_hold_stream(const od_hold_graph *graph, const bool *chosen, const bool *held, double worth,
                         od_hold_result *result, bool *there);

#endif
