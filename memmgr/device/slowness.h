/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many times longer tasks take on each device than what is predicted for them.
 *
 * A row for tasks of all kinds together, and one for each kind that is known to be unlike them on some device: a
 * device may be fast at one kernel and slow at another. Tasks name their row as their speed class.
 */
#ifndef OD_MEMMGR_DEVICE_SLOWNESS_H
#define OD_MEMMGR_DEVICE_SLOWNESS_H

#include "memmgr/data/datum.h"

enum { OD_SPEED_CLASSES = 64, OD_SPEED_GENERAL = 0 };

typedef struct od_slowness {
    uint64_t changes; /* so far, of what is below; whoever makes one counts it */
    unsigned classes; /* rows in use, at least one; tasks of other classes are as those of OD_SPEED_GENERAL */
    double times[OD_SPEED_CLASSES][OD_MAX_DEVICES];
} od_slowness;

/* All devices are as fast as predicted. */
void od_slowness_init(od_slowness *slowness);
/* The next class, on all devices as OD_SPEED_GENERAL is now, or OD_SPEED_GENERAL: there are no more. */
unsigned od_slowness_add(od_slowness *slowness);

static inline double od_slowness_of(const od_slowness *slowness, unsigned speed_class, unsigned k)
{
    return slowness->times[speed_class < slowness->classes ? speed_class : OD_SPEED_GENERAL][k];
}

/* Some of the first devices are better or worse at some class than at tasks of all kinds together. */
bool od_slowness_is_mixed(const od_slowness *slowness, unsigned ndevices);
/* Of the tasks that take the fewest times as long on device k. */
double od_slowness_least(const od_slowness *slowness, unsigned k);

#endif
