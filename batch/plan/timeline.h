/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is known of one node over time: which files are in use when, and which cores are free when.
 *
 * A *use* is a job's time on the node, from its start to its end or, where that is not known, to its walltime. A file
 * is in memory at a time if a job uses it then, or has used it and no other job has started since (section 6.3). Cores
 * are alike, so that numbers suffice: free for good (`available`, without backfilling) or in windows (`steps`, with
 * it).
 */
#ifndef OD_BATCH_PLAN_TIMELINE_H
#define OD_BATCH_PLAN_TIMELINE_H

#include "util/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct od_batch_use {
    double start, end; /* s */
    double ready;      /* s: the file is in memory */
    double latest;     /* s: the last end among this use and those before it */
    uint32_t file, job;
    uint32_t cores; /* 0: the job has ended */
} od_batch_use;

typedef struct od_batch_step {
    double time;   /* s: from then on, until the next step */
    uint32_t free; /* cores */
} od_batch_step;

typedef struct od_batch_timeline {
    od_batch_use *uses; /* by start, in order of arrival where equal */
    uint32_t count, room;
    double *available; /* by core, ascending: the time from which one more is free for good */
    uint32_t cores;
    od_batch_step *steps; /* the first is at minus infinity */
    uint32_t nsteps, steps_room;
    bool backfill; /* `steps` are kept, else `available` */
} od_batch_timeline;

od_status od_batch_timeline_init(od_batch_timeline *line, uint32_t cores, bool backfill);
void od_batch_timeline_free(od_batch_timeline *line);
od_status od_batch_timeline_copy(od_batch_timeline *to, const od_batch_timeline *from);

/* Adds a use; its cores are free then. `latest` is filled in. */
od_status od_batch_timeline_add(od_batch_timeline *line, od_batch_use use);

/* The job has ended. */
void od_batch_timeline_end(od_batch_timeline *line, uint32_t job, double now);

/* Forgets what has no effect from `now` on. */
void od_batch_timeline_prune(od_batch_timeline *line, double now);

/* The first time, not before `now`, from which so many cores are free: for good, or for `length` with backfilling. */
double od_batch_timeline_earliest(const od_batch_timeline *line, uint32_t cores, double length, double now);

/* The most cores that are free at once at a time from `now` until `until`. */
uint32_t od_batch_timeline_most_free(const od_batch_timeline *line, double now, double until);

/* A use that has the file in memory at that time, or NULL. `ever`: some use of the timeline has the file. */
const od_batch_use *od_batch_timeline_find(const od_batch_timeline *line, uint32_t file, double time, bool *ever);

/* Calls `visit` for each use whose file is in memory at that time; several may have the same file. */
void od_batch_timeline_resident(const od_batch_timeline *line, double time,
                                void (*visit)(void *argument, uint32_t file), void *argument);

/* Everything fits: order, cores, sums. */
bool od_batch_timeline_is_valid(const od_batch_timeline *line);

#endif
