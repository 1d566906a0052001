/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How fast the devices are, learnt from what tasks take on them.
 *
 * Durations are predicted as on the fastest device. What the tasks of a device have taken, relative to that, is
 * averaged over its latest ones, of all kinds; how many times the fastest device's average that is, is its slowness,
 * which policies and plays multiply predictions with. Devices that differ little are alike: there the differences are
 * those of tasks, and of what else the machine does.
 */
#ifndef OD_SCHED_GRAPH_SPEEDS_H
#define OD_SCHED_GRAPH_SPEEDS_H

#include "memmgr/data/datum.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct od_speeds {
    unsigned ndevices;
    uint32_t tasks[OD_MAX_DEVICES];  /* that have been noted */
    double ratio[OD_MAX_DEVICES];    /* what they took, times what was predicted for the fastest device */
    double slowness[OD_MAX_DEVICES]; /* at least 1 */
} od_speeds;

void od_speeds_init(od_speeds *speeds, unsigned ndevices);
/* A task has taken so many seconds on device k, `predicted` on the fastest one. True: the slowness of devices has
 * changed. */
bool od_speeds_note(od_speeds *speeds, unsigned k, double seconds, double predicted);

#endif
