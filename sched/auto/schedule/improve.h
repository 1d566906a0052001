/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Local search on a static schedule: something is changed at random, the oracle plays it, and it stays if all is done
 * sooner. Of what comes again several rounds are played, since a schedule that makes the most of where data lie now
 * may leave them where it takes longer the next time.
 *
 *   a task goes to another device
 *   two tasks change places
 *   all tasks that write one datum, or that read it, go to another device: what is made or loaded is used there
 *   neighbours in the order of a device do
 *   a stretch of the order of a device comes earlier or later: what is held on it is held at another time
 */
#ifndef OD_SCHED_AUTO_IMPROVE_H
#define OD_SCHED_AUTO_IMPROVE_H

#include "sched/auto/schedule/schedule.h"

typedef struct od_improvement {
    const od_play_problem *problem; /* without CPU workers */
    const od_settings *settings;    /* but for the policy and its eviction rule */
    od_placeset devices;            /* those to which tasks may go */
    unsigned rounds;                /* so many in succession, on the average (rounds.h); 0: one */
    uint64_t random;                /* state of the generator, not 0 */
    unsigned nplays;                /* so far */
} od_improvement;

/* As these settings carry it out, with the seconds that it takes so. NULL: out of memory, or it cannot be played to its
 * end. */
od_schedule *od_improve_begin(od_improvement *i, const od_settings *settings, double *seconds);
/* What the schedule takes; infinite: not before the limit, or it cannot be played. */
double od_improve_play(od_improvement *i, const od_schedule *schedule, double limit);
/* Changes the schedule as long as problem->stop says nothing else, and most of the time something comes of it. Returns
 * the seconds that it takes now, `seconds` or less. */
double od_improve(od_improvement *i, od_schedule *schedule, double seconds);

#endif
