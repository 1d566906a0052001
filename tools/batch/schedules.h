/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `ompdarts batch` has simulated, and the ways in which it is written. */
#ifndef OD_TOOLS_BATCH_SCHEDULES_H
#define OD_TOOLS_BATCH_SCHEDULES_H

#include "batch/statistics.h"

#include <stdio.h>

enum { BATCH_MOST_SCHEDULES = 32, BATCH_NAME = 40 };

/* A policy, with backfilling or without, and what it made of the log. */
typedef struct batch_schedule {
    char name[BATCH_NAME]; /* "lea-bf" */
    od_batch_settings settings;
    od_batch_outcome *outcomes;
    od_batch_session *sessions;
    od_batch_sums sums;
    od_batch_improvement improvement; /* over the first schedule */
    od_batch_effort effort;
    double seconds; /* processor time of the simulation */
} batch_schedule;

typedef struct batch_study {
    od_batch_log log;
    od_batch_cluster cluster;
    od_batch_window window;
    batch_schedule schedules[BATCH_MOST_SCHEDULES];
    int count;
    uint32_t cores; /* of the cluster */
} batch_study;

void batch_print_table(const batch_study *study, FILE *out);
void batch_write_jobs(const batch_study *study, FILE *out);
void batch_write_sessions(const batch_study *study, FILE *out);
od_status batch_write_json(const batch_study *study, FILE *out);

/* Improvements over the first schedule as boxes, and as shares of sessions. */
void batch_draw_boxes(const batch_study *study, FILE *out);
void batch_draw_shares(const batch_study *study, FILE *out);
/* Cores in use and asked for over time. */
od_status batch_draw_use(const batch_study *study, const batch_schedule *schedule, FILE *out);

#endif
