/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A log simulated on a cluster (Gonthier's thesis, section 6.5.4): the schedule is made anew at each submission and
 * each end that comes before its walltime. The same input gives the same output.
 */
#ifndef OD_BATCH_SIMULATE_H
#define OD_BATCH_SIMULATE_H

#include "batch/plan/planner.h"

/* What became of a job; by its number. */
typedef struct od_batch_outcome {
    double start, ready, end; /* s; `ready`: its file was there, perhaps later than its end */
    uint32_t node;
    bool killed;
} od_batch_outcome;

/* `whole`: each plan comprises all jobs that wait, instead of those that may start before the next event. The
 * outcomes, as many as jobs, are filled in. */
od_status od_batch_simulate(const od_batch_log *log, const od_batch_cluster *cluster, const od_batch_settings *settings,
                            bool whole, od_batch_outcome *outcomes, od_batch_effort *effort);

#endif
