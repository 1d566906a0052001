/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How fast the devices are, learnt from what tasks take on them.
 *
 * Durations are predicted as on the fastest device. What the tasks of a device have taken, relative to that, is
 * averaged over its latest ones, for each speed class (memmgr/device/slowness.h) and for all together; how many times
 * the fastest device's average that is, is its slowness, which policies and plays multiply predictions with. A device
 * that has run few tasks of a class is taken to be beside the others what it is with all tasks together. Devices that
 * differ little are alike: there the differences are those of tasks, and of what else the machine does.
 */
#ifndef OD_SCHED_GRAPH_SPEEDS_H
#define OD_SCHED_GRAPH_SPEEDS_H

#include "memmgr/device/slowness.h"

#include <stdbool.h>
#include <stdint.h>

/* What tasks took, times what was predicted for the fastest device. */
typedef struct od_speed {
    uint32_t tasks; /* that count */
    double ratio;   /* the average over the latest of these */
    bool begun;     /* of a class: the first one has run, which does not count, as it loads code */
} od_speed;

typedef struct od_speeds {
    unsigned ndevices;
    od_slowness *slowness; /* what has been learnt: at least 1, the caller's */
    od_speed of[OD_SPEED_CLASSES][OD_MAX_DEVICES];
} od_speeds;

/* Nothing has been learnt. */
void od_speeds_init(od_speeds *speeds, unsigned ndevices, od_slowness *slowness);
/* A task of the class (od_slowness_add()) has taken so many seconds on device k, `predicted` on the fastest one. True:
 * the slowness of devices has changed. */
bool od_speeds_note(od_speeds *speeds, unsigned speed_class, unsigned k, double seconds, double predicted);

/* The slowness of device k at a class, to be kept for another run; 0: it has run too few tasks of it, or all others
 * have. */
double od_speeds_found(const od_speeds *speeds, unsigned speed_class, unsigned k);
/* What another run has found of a class of which no task has been noted on k yet. */
void od_speeds_recall(od_speeds *speeds, unsigned speed_class, unsigned k, double slowness);

#endif
