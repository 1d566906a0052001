/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Rules for what a log does not say; see complete.h. */
#include "batch/log/complete.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef od_batch_job **job_order; /* pointers to all jobs, grouped by a comparison */

od_batch_rules od_batch_usual_rules(void)
{
    return (od_batch_rules){.file_span = 800, .session_span = 300, .walltime_factor = 1.5};
}

double od_batch_usual_walltime(double seconds)
{
    static const double usual[] = {300,   900,   1800,   3600,   7200,   14400,  28800,  43200,
                                   86400, 172800, 259200, 432000, 604800, 864000};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (seconds <= usual[i])
            return usual[i];
    return ceil(seconds / 86400) * 86400;
}

/* --- jobs for several nodes -------------------------------------------------------- */

static uint32_t most_cores(const od_batch_cluster *cluster)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < cluster->count; k++)
        most = cluster->nodes[k].cores > most ? cluster->nodes[k].cores : most;
    return most;
}

static od_status split_jobs(od_batch_log *log, uint32_t most)
{
    uint32_t count = log->count;
    for (uint32_t i = 0; i < count; i++)
        while (log->jobs[i].cores > most) {
            od_batch_job *piece = od_batch_log_add(log);
            if (!piece)
                return OD_ENOMEM;
            uint32_t number = piece->number;
            *piece = log->jobs[i];
            piece->number = number;
            piece->cores = most;
            log->jobs[i].cores -= most;
        }
    return OD_OK;
}

/* --- order ------------------------------------------------------------------------ */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_submission(const void *first, const void *second)
{
    const od_batch_job *a = first, *b = second;
    int order = compare_numbers(a->submit, b->submit);
    return order ? order : compare_numbers(a->number, b->number);
}

static int by_number(const od_batch_job *a, const od_batch_job *b)
{
    return compare_numbers(a->number, b->number);
}

static int by_user(const void *first, const void *second)
{
    const od_batch_job *a = *(od_batch_job *const *)first, *b = *(od_batch_job *const *)second;
    int order = compare_numbers(a->user, b->user);
    return order ? order : by_number(a, b);
}

static double given_size(const od_batch_job *job)
{
    return isnan(job->size) ? -1 : job->size;
}

/* Whose files may be the same: of a user, with the same cores and size. */
static int by_kind(const od_batch_job *a, const od_batch_job *b)
{
    int order = compare_numbers(a->user, b->user);
    order = order ? order : compare_numbers(a->cores, b->cores);
    return order ? order : compare_numbers(given_size(a), given_size(b));
}

static int by_kind_and_number(const void *first, const void *second)
{
    const od_batch_job *a = *(od_batch_job *const *)first, *b = *(od_batch_job *const *)second;
    int order = by_kind(a, b);
    return order ? order : by_number(a, b);
}

static int by_session_and_cores(const void *first, const void *second)
{
    const od_batch_job *a = *(od_batch_job *const *)first, *b = *(od_batch_job *const *)second;
    int order = compare_numbers(a->session, b->session);
    order = order ? order : compare_numbers(a->cores, b->cores);
    return order ? order : by_number(a, b);
}

static void sort_log(od_batch_log *log)
{
    if (log->count)
        qsort(log->jobs, log->count, sizeof *log->jobs, by_submission);
    for (uint32_t i = 0; i < log->count; i++)
        log->jobs[i].number = i;
}

static void group(const od_batch_log *log, job_order order, int (*compare)(const void *, const void *))
{
    for (uint32_t i = 0; i < log->count; i++)
        order[i] = &log->jobs[i];
    if (log->count)
        qsort(order, log->count, sizeof(od_batch_job *), compare);
}

/* --- sessions and files --------------------------------------------------------------- */

static void fill_sessions(od_batch_log *log, job_order order, double span)
{
    const od_batch_job *first = NULL;
    group(log, order, by_user);
    for (uint32_t i = 0; i < log->count; i++) {
        od_batch_job *job = order[i];
        if (job->session != OD_BATCH_NONE)
            continue;
        bool same = first && first->user == job->user && job->submit - first->submit <= span;
        job->session = same ? first->session : log->sessions++;
        first = same ? first : job;
    }
}

static void fill_files(od_batch_log *log, job_order order, double span)
{
    const od_batch_job *first = NULL;
    group(log, order, by_kind_and_number);
    for (uint32_t i = 0; i < log->count; i++) {
        od_batch_job *job = order[i];
        if (job->file != OD_BATCH_NONE)
            continue;
        bool same = first && !by_kind(first, job) && job->submit - first->submit <= span;
        job->file = same ? first->file : log->files++;
        first = same ? first : job;
    }
}

/* GB. The first node counts, as clusters are written with what they have most of; all its cores get all its memory. */
static double usual_size(const od_batch_job *job, const od_batch_cluster *cluster)
{
    const od_batch_node *node = &cluster->nodes[0];
    return node->memory * ((double)job->cores / node->cores);
}

/* For each file the job that tells its size: one with which it is given, else one with the most cores. */
static od_status find_sizes(const od_batch_log *log, const od_batch_job **from, char *error, size_t size)
{
    for (uint32_t i = 0; i < log->count; i++) {
        const od_batch_job *job = &log->jobs[i], **known = &from[job->file];
        if (!*known || (isnan((*known)->size) && (!isnan(job->size) || job->cores > (*known)->cores)))
            *known = job;
        if (isnan(job->size) || (job->size <= (*known)->size && job->size >= (*known)->size))
            continue;
        snprintf(error, size, "line %" PRIu64 ": its file has %g GB here and %g GB in line %" PRIu64, job->line,
                 job->size, (*known)->size, (*known)->line);
        return OD_EINVAL;
    }
    return OD_OK;
}

static od_status fill_sizes(od_batch_log *log, const od_batch_cluster *cluster, char *error, size_t size)
{
    const od_batch_job **from = calloc(log->files + 1, sizeof *from);
    od_status status = from ? find_sizes(log, from, error, size) : OD_ENOMEM;
    for (uint32_t i = 0; i < log->count && !status; i++) {
        od_batch_job *job = &log->jobs[i];
        const od_batch_job *other = from[job->file];
        if (isnan(job->size))
            job->size = isnan(other->size) ? usual_size(other, cluster) : other->size;
    }
    free(from);
    return status;
}

/* --- walltimes --------------------------------------------------------------------------- */

/* What a job that has no duration is to the simulation. False: it would take no time at all. */
static bool settle(od_batch_job *job, double load)
{
    if (isnan(job->walltime))
        job->walltime = load + job->duration;
    else if (job->duration >= 0)
        return load > 0;
    job->duration = HUGE_VAL;
    return job->walltime > 0;
}

static bool settle_killed(od_batch_log *log, const od_batch_cluster *cluster, char *error, size_t size)
{
    for (uint32_t i = 0; i < log->count; i++) {
        od_batch_job *job = &log->jobs[i];
        double load = od_batch_shortest_load(job->size, cluster), duration = job->duration;
        if (duration > 0 || settle(job, load))
            continue;
        snprintf(error, size,
                 "line %" PRIu64 ": the job ends as it begins or before: a duration of %g s after a load of %g s",
                 job->line, duration, load);
        return false;
    }
    return true;
}

static void fill_walltimes(od_batch_log *log, const od_batch_cluster *cluster, job_order order, double factor)
{
    group(log, order, by_session_and_cores);
    for (uint32_t begin = 0, end; begin < log->count; begin = end) {
        double longest = 0;
        for (end = begin; end < log->count && order[end]->session == order[begin]->session &&
                          order[end]->cores == order[begin]->cores; end++)
            if (isnan(order[end]->walltime))
                longest = fmax(longest, od_batch_shortest_load(order[end]->size, cluster) + order[end]->duration);
        for (uint32_t i = begin; i < end; i++)
            if (isnan(order[i]->walltime))
                order[i]->walltime = od_batch_usual_walltime(longest * factor);
    }
}

/* --- all together -------------------------------------------------------------------------- */

static bool fits(const od_batch_job *job, const od_batch_cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->count; k++)
        if (job->cores <= cluster->nodes[k].cores && job->size <= cluster->nodes[k].memory)
            return true;
    return false;
}

static bool all_fit(const od_batch_log *log, const od_batch_cluster *cluster, char *error, size_t size)
{
    for (uint32_t i = 0; i < log->count; i++) {
        const od_batch_job *job = &log->jobs[i];
        if (fits(job, cluster))
            continue;
        snprintf(error, size, "line %" PRIu64 ": no node has %" PRIu32 " cores and room for a file of %g GB", job->line,
                 job->cores, job->size);
        return false;
    }
    return true;
}

od_status od_batch_log_complete(od_batch_log *log, const od_batch_cluster *cluster, const od_batch_rules *rules,
                                char *error, size_t size)
{
    if (rules->split && split_jobs(log, most_cores(cluster)))
        return OD_ENOMEM;
    job_order order = malloc((log->count ? log->count : 1) * sizeof *order);
    if (!order)
        return OD_ENOMEM;
    log->files = log->file_names.count;
    log->sessions = log->session_names.count;
    sort_log(log);
    fill_sessions(log, order, rules->session_span);
    fill_files(log, order, rules->file_span);
    od_status status = fill_sizes(log, cluster, error, size);
    if (!status && !(all_fit(log, cluster, error, size) && settle_killed(log, cluster, error, size)))
        status = OD_EINVAL;
    if (!status)
        fill_walltimes(log, cluster, order, rules->walltime_factor);
    free(order);
    return status;
}
