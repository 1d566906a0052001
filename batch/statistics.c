/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sums, sessions, improvements, levels; see statistics.h. */
#include "batch/statistics.h"

#include <math.h>
#include <stdlib.h>

#define CHANGED 0.01

double od_batch_stretch(const od_batch_job *job, const od_batch_outcome *outcome, const od_batch_cluster *cluster)
{
    return od_batch_flow(job, outcome) / od_batch_reference(job, cluster);
}

double od_batch_load_wait(const od_batch_outcome *outcome)
{
    return fmin(outcome->ready, outcome->end) - outcome->start;
}

od_batch_sums od_batch_sum_up(const od_batch_log *log, const od_batch_cluster *cluster, const od_batch_window *window,
                              const od_batch_outcome *outcomes)
{
    od_batch_sums sums = {0};
    for (uint32_t i = 0; i < log->count; i++) {
        const od_batch_job *job = &log->jobs[i];
        const od_batch_outcome *outcome = &outcomes[i];
        if (!od_batch_counts(window, job))
            continue;
        double stretch = od_batch_stretch(job, outcome, cluster);
        sums.jobs++;
        sums.killed += outcome->killed;
        sums.stretch += stretch;
        sums.greatest_stretch = fmax(sums.greatest_stretch, stretch);
        sums.flow += od_batch_flow(job, outcome);
        sums.load_wait += od_batch_load_wait(outcome);
        sums.queue_wait += outcome->start - job->submit;
        sums.core_time += job->cores * (outcome->end - outcome->start);
        sums.end = fmax(sums.end, outcome->end);
    }
    if (sums.jobs) {
        sums.stretch /= (double)sums.jobs;
        sums.flow /= (double)sums.jobs;
    }
    return sums;
}

od_batch_session *od_batch_sessions(const od_batch_log *log, const od_batch_cluster *cluster,
                                    const od_batch_window *window, const od_batch_outcome *outcomes)
{
    od_batch_session *sessions = calloc((size_t)log->sessions + 1, sizeof *sessions);
    for (uint32_t i = 0; sessions && i < log->count; i++) {
        const od_batch_job *job = &log->jobs[i];
        od_batch_session *session = &sessions[job->session];
        if (!od_batch_counts(window, job))
            continue;
        if (!session->jobs++) {
            session->submit = job->submit;
            session->user = job->user;
        }
        session->stretch += od_batch_stretch(job, &outcomes[i], cluster);
        session->flow += od_batch_flow(job, &outcomes[i]);
    }
    return sessions;
}

static int ascending(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

double od_batch_quantile(const double *values, uint32_t count, double share)
{
    if (!count)
        return (double)NAN;
    double at = share * (count - 1);
    uint32_t below = (uint32_t)at, above = below + 1 < count ? below + 1 : below;
    return values[below] + (at - below) * (values[above] - values[below]);
}

static double mean_of(const double *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / count : (double)NAN;
}

od_status od_batch_improve(const od_batch_session *reference, const od_batch_session *sessions, uint32_t count,
                           od_batch_improvement *improvement)
{
    static const double shares[OD_BATCH_QUANTILES] = {0.125, 0.25, 0.5, 0.75, 0.875};
    *improvement = (od_batch_improvement){.ratios = malloc(((size_t)count + 1) * sizeof(double))};
    if (!improvement->ratios)
        return OD_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (!sessions[i].jobs)
            continue;
        double ratio = reference[i].stretch / sessions[i].stretch;
        improvement->sessions++;
        if (fabs(ratio - 1) > CHANGED)
            improvement->ratios[improvement->changed++] = ratio;
    }
    qsort(improvement->ratios, improvement->changed, sizeof(double), ascending);
    improvement->mean = mean_of(improvement->ratios, improvement->changed);
    for (int q = 0; q < OD_BATCH_QUANTILES; q++)
        improvement->quantile[q] = od_batch_quantile(improvement->ratios, improvement->changed, shares[q]);
    return OD_OK;
}

/* --- levels ------------------------------------------------------------------------------- */

static int by_time(const void *first, const void *second)
{
    const od_batch_level *a = first, *b = second;
    return (a->time > b->time) - (a->time < b->time);
}

/* What changes when the job is submitted, starts, has its file, ends. */
static void put_changes(od_batch_level *at, const od_batch_job *job, const od_batch_outcome *outcome, bool counts)
{
    double cores = job->cores, counted = counts ? cores : 0;
    double loaded = fmin(outcome->ready, outcome->end);
    at[0] = (od_batch_level){.time = job->submit, .queued = cores, .queued_counted = counted};
    at[1] = (od_batch_level){.time = outcome->start, .used = cores, .loading = cores, .queued = -cores,
                             .used_counted = counted, .queued_counted = -counted};
    at[2] = (od_batch_level){.time = loaded, .loading = -cores};
    at[3] = (od_batch_level){.time = outcome->end, .used = -cores, .used_counted = -counted};
}

static void add_change(od_batch_level *level, const od_batch_level *change)
{
    level->time = change->time;
    level->used += change->used;
    level->loading += change->loading;
    level->queued += change->queued;
    level->used_counted += change->used_counted;
    level->queued_counted += change->queued_counted;
}

/* Changes by time become levels; those of one time are one. */
static uint64_t accumulate(od_batch_level *levels, uint64_t count)
{
    od_batch_level level = {0};
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        add_change(&level, &levels[i]);
        if (i + 1 == count || levels[i + 1].time > level.time)
            levels[kept++] = level;
    }
    return kept;
}

od_batch_level *od_batch_levels(const od_batch_log *log, const od_batch_window *window,
                                const od_batch_outcome *outcomes, uint64_t *count)
{
    uint64_t all = (uint64_t)log->count * 4;
    od_batch_level *levels = malloc((all ? all : 1) * sizeof *levels);
    if (!levels)
        return NULL;
    for (uint32_t i = 0; i < log->count; i++)
        put_changes(&levels[(uint64_t)i * 4], &log->jobs[i], &outcomes[i], od_batch_counts(window, &log->jobs[i]));
    qsort(levels, all, sizeof *levels, by_time);
    *count = accumulate(levels, all);
    return levels;
}
