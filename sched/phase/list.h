/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * List scheduling of all known tasks on devices that share the way from the host: which device runs what, in what
 * order, and when all is done.
 *
 * Time is simulated. A task that becomes ready goes to the device that would complete it first, as in dmdas (thesis,
 * Algorithm 6): after the work that it has been given, and after its inputs have come over the shared way, where they
 * queue behind what others will ask for; and what it takes of that way counts `bus` times more, because others need
 * it, too. Or it goes to the owner of what it writes. A device takes the most urgent tasks that it has been given into
 * its window, asks for their data and runs them in that order; the data used least recently leave its memory. Several
 * numbers of devices and values of `bus` are tried, but for values with which all tasks would go where they go with
 * another one.
 *
 * Deterministic. No threads, no engine: arrays in, arrays out.
 */
#ifndef OD_SCHED_PHASE_LIST_H
#define OD_SCHED_PHASE_LIST_H

#include "sched/phase/phase.h"

typedef struct od_list_problem {
    const od_phase_problem *tasks; /* whose `share` and `resident` are not looked at */
    const od_placeset *copies;     /* by item: devices that have it, or will */
    const od_slowness *slowness;   /* NULL: all devices are as fast as predicted */
    const unsigned *which;         /* the numbers of the devices that may be used, in turn */
    unsigned devices; /* a load takes od_phase_problem.load while so many load at once, and less where fewer do */
    bool owners; /* one device runs all tasks that write an item (sched/phase/owners.h), instead of the first to end */
    double limit; /* a plan that takes so many seconds is of no use; with owners any is of use */
    struct od_findings *findings; /* of owners, or NULL */
} od_list_problem;

typedef struct od_list_plan {
    unsigned *place; /* by task: its device, one of od_list_problem.which; room for all tasks */
    uint32_t *order; /* tasks as they start; likewise */
    double seconds;  /* until all is done; infinite: there is no plan of use */
} od_list_plan;

/* The plan with which all is done first, on `most` devices or fewer. OD_ENOMEM: the plan is undefined. */
od_status od_list_plan_best(const od_list_problem *problem, unsigned most, od_list_plan *plan);

#endif
