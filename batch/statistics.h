/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a simulated log amounts to: sums, stretches of sessions, improvements over another schedule, use over time. */
#ifndef OD_BATCH_STATISTICS_H
#define OD_BATCH_STATISTICS_H

#include "batch/simulate.h"

/* Only jobs that were submitted in this span count; the others are the load around them. */
typedef struct od_batch_window {
    double from, to; /* s */
} od_batch_window;

static inline bool od_batch_counts(const od_batch_window *window, const od_batch_job *job)
{
    return job->submit >= window->from && job->submit < window->to;
}

/* A job's completion after its submission, and how often that is what it takes on an empty cluster. */
static inline double od_batch_flow(const od_batch_job *job, const od_batch_outcome *outcome)
{
    return outcome->end - job->submit;
}

double od_batch_stretch(const od_batch_job *job, const od_batch_outcome *outcome, const od_batch_cluster *cluster);

/* s between its start and its file, or its end where that comes first. */
double od_batch_load_wait(const od_batch_outcome *outcome);

typedef struct od_batch_sums {
    uint64_t jobs, killed;
    double stretch, greatest_stretch; /* mean over jobs */
    double flow;                      /* s, mean */
    double load_wait;                 /* s, of all jobs */
    double queue_wait;                /* s, of all jobs: from submission to start */
    double core_time;                 /* s, of all cores in use */
    double end;                       /* s, of the last job */
} od_batch_sums;

od_batch_sums od_batch_sum_up(const od_batch_log *log, const od_batch_cluster *cluster, const od_batch_window *window,
                              const od_batch_outcome *outcomes);

/* A session's sums; by its number. */
typedef struct od_batch_session {
    uint32_t jobs; /* 0: none that counts */
    double submit; /* s, of the first */
    double stretch, flow;
    uint32_t user;
} od_batch_session;

/* As many as the log has sessions; to be freed. NULL: out of memory. */
od_batch_session *od_batch_sessions(const od_batch_log *log, const od_batch_cluster *cluster,
                                    const od_batch_window *window, const od_batch_outcome *outcomes);

enum { OD_BATCH_WHISKER_LOW, OD_BATCH_QUARTILE_LOW, OD_BATCH_MEDIAN, OD_BATCH_QUARTILE_HIGH, OD_BATCH_WHISKER_HIGH,
       OD_BATCH_QUANTILES };

/* Stretches of sessions in the schedule to compare with, divided by theirs in this one; above 1 is better. Those that
 * differ by more than 1 % count. */
typedef struct od_batch_improvement {
    double *ratios; /* ascending; to be freed */
    uint32_t changed, sessions;
    double mean;                         /* NAN where none is changed, as below */
    double quantile[OD_BATCH_QUANTILES]; /* 12.5, 25, 50, 75, 87.5 % */
} od_batch_improvement;

od_status od_batch_improve(const od_batch_session *reference, const od_batch_session *sessions, uint32_t count,
                           od_batch_improvement *improvement);

/* The value below which that share of the ascending ones lies, between two of them in proportion. NAN: no values. */
double od_batch_quantile(const double *ascending, uint32_t count, double share);

/* From a time on, until the next: cores that compute or load, that load, and that jobs in the queue ask for. */
typedef struct od_batch_level {
    double time;
    double used, loading, queued;
    double used_counted, queued_counted; /* by the jobs in the window */
} od_batch_level;

/* Ascending, each time once; to be freed. NULL: out of memory, or no jobs. */
od_batch_level *od_batch_levels(const od_batch_log *log, const od_batch_window *window,
                                const od_batch_outcome *outcomes, uint64_t *count);

#endif
