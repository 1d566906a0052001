/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From what a log says to what a simulation needs: order, and rules for what is not in it. */
#ifndef OD_BATCH_LOG_COMPLETE_H
#define OD_BATCH_LOG_COMPLETE_H

#include "batch/log/log.h"

typedef struct od_batch_rules {
    double file_span;    /* s: jobs of a user with the same cores share a file if the first is not longer ago */
    double session_span; /* s: likewise for a user's session */
    bool split; /* jobs with more cores than any node become several, of a node each but for the last (section 6.5.3) */
    double walltime_factor; /* times the longest job of a session with the same cores, then rounded up */
} od_batch_rules;

/* Those of section 6.5.3, and our own for walltimes. */
od_batch_rules od_batch_usual_rules(void);

/*
 * Divides jobs where the rules say so, sorts by submission, numbers the jobs, and fills in what is not given:
 *
 * - files and sessions by the spans of the rules; jobs with different sizes do not share a file;
 * - the size of a file: that of another job that reads it, else as much of the first node's memory as the job with the
 *   most cores has of its cores;
 * - of a job that was killed while loading (duration not positive: what is left when the load is subtracted): its
 *   walltime is load + duration, and it never ends by itself. Where walltimes are given, a duration of 0 is just that;
 * - walltimes of the others: the jobs of a session that ask for the same cores ask for the same time.
 *
 * OD_EINVAL, with one sentence and the line in `error`: a job fits no node, or a file is given two sizes.
 */
od_status od_batch_log_complete(od_batch_log *log, const od_batch_cluster *cluster, const od_batch_rules *rules,
                                char *error, size_t size);

/* The least usual walltime that is not below `seconds`. */
double od_batch_usual_walltime(double seconds);

#endif
