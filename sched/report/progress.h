/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How far a run is, as one line for people: made from two looks at the engine's statistics.
 */
#ifndef OD_SCHED_REPORT_PROGRESS_H
#define OD_SCHED_REPORT_PROGRESS_H

#include "sched/engine/engine.h"

/* A look at a run. */
typedef struct od_progress {
    uint64_t ns; /* since the start of the run */
    od_engine_stats engine;
    unsigned ndevices;
    od_device_stats device[OD_MAX_DEVICES];
} od_progress;

void od_progress_look(od_progress *progress, od_engine *engine, unsigned ndevices, uint64_t ns);

/* Seconds until all known tasks are done, at the speed since `before`; negative where the program still creates
 * tasks, or where nothing has been done meanwhile. */
double od_progress_seconds_left(const od_progress *now, const od_progress *before);

/* "1.2k done, 56 ready, 789 waiting | 1.5k tasks/s | busy 98% 95% | memory 400M 380M of 500M | moved 12.3G, 345
 * evictions | 12 s left": tasks, then rates since `before`. At most `width` characters; what does not fit is left
 * out, the last parts first. With devices of several ranks, "busy by rank 98% 95%" is the mean over the devices of
 * each, and so is memory. More than four values are shown as ranges. Returns the length; `line` has room for
 * width + 1. */
size_t od_progress_line(char *line, size_t width, const od_progress *now, const od_progress *before);

#endif
