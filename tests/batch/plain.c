/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A batch simulator that is as simple as can be, written from Algorithms 13 to 17 and section 6.4.3; see world.h. */
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum plain_state { ABSENT, WAITING, RUNNING, ENDED } plain_state;

/* A job's time on a node: what has been, what is, or what is planned. */
typedef struct plain_use {
    uint32_t node;
    double start, end, ready;
    bool there;
} plain_use;

typedef struct plain {
    const od_batch_log *log;
    const od_batch_cluster *cluster;
    const world_variant *variant;
    plain_state *state;
    plain_use *use;     /* by job: the actual one, or the plan's */
    double now;
} plain;

/* Uses that are known when the job `before` is planned: all that have begun, and plans of earlier jobs. */
static bool known(const plain *p, uint32_t i, uint32_t node)
{
    return p->use[i].there && p->use[i].node == node;
}

static bool holds_core(const plain *p, uint32_t i, uint32_t node)
{
    return known(p, i, node) && p->state[i] != ENDED;
}

/* How many cores are taken at the time, or at any later time where it is to be for good. */
static uint32_t taken(const plain *p, uint32_t node, double time)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->log->count; i++)
        if (holds_core(p, i, node) && p->use[i].start <= time && p->use[i].end > time)
            sum += p->log->jobs[i].cores;
    return sum;
}

static bool window_is_free(const plain *p, uint32_t node, uint32_t cores, double from, double to)
{
    uint32_t all = p->cluster->nodes[node].cores;
    if (taken(p, node, from) + cores > all)
        return false;
    for (uint32_t i = 0; i < p->log->count; i++)
        if (holds_core(p, i, node) && p->use[i].start > from && p->use[i].start < to &&
            taken(p, node, p->use[i].start) + cores > all)
            return false;
    return true;
}

static double earliest_window(const plain *p, uint32_t node, const od_batch_job *job)
{
    double best = HUGE_VAL;
    if (window_is_free(p, node, job->cores, p->now, p->now + job->walltime))
        return p->now;
    for (uint32_t i = 0; i < p->log->count; i++)
        if (holds_core(p, i, node) && p->use[i].end > p->now && p->use[i].end < best &&
            window_is_free(p, node, job->cores, p->use[i].end, p->use[i].end + job->walltime))
            best = p->use[i].end;
    return best;
}

/* Algorithm 13 remembers for each core when it is free for good: jobs take the cores that are free first. */
static double earliest_for_good(const plain *p, uint32_t node, const od_batch_job *job)
{
    double free_at[OD_BATCH_MOST_CORES];
    uint32_t cores = p->cluster->nodes[node].cores;
    for (uint32_t c = 0; c < cores; c++)
        free_at[c] = -HUGE_VAL;
    for (int planned = 0; planned <= 1;
         planned++) /* running jobs first, then plans in the order in which they were made */
        for (uint32_t i = 0; i < p->log->count; i++) {
            if (!holds_core(p, i, node) || (p->state[i] == WAITING) != planned)
                continue;
            for (uint32_t left = p->log->jobs[i].cores; left > 0; left--) {
                uint32_t first = 0;
                for (uint32_t c = 1; c < cores; c++)
                    first = free_at[c] < free_at[first] ? c : first;
                free_at[first] = p->use[i].end;
            }
        }
    for (double wanted = p->now;;) {
        uint32_t count = 0;
        double next = HUGE_VAL;
        for (uint32_t c = 0; c < cores; c++) {
            count += free_at[c] <= wanted;
            if (free_at[c] > wanted)
                next = fmin(next, free_at[c]);
        }
        if (count >= job->cores)
            return wanted;
        wanted = next;
    }
}

static double earliest(const plain *p, uint32_t node, const od_batch_job *job)
{
    if (job->cores > p->cluster->nodes[node].cores || job->size > p->cluster->nodes[node].memory)
        return HUGE_VAL;
    return p->variant->backfill ? earliest_window(p, node, job) : earliest_for_good(p, node, job);
}

/* The job's file is in memory at the time: it is in use, or was, and no job has started since. */
static bool remains(const plain *p, uint32_t i, uint32_t node, double time)
{
    double last = -HUGE_VAL;
    const plain_use *use = &p->use[i];
    if (!known(p, i, node) || use->start > time || (use->ready > use->end && use->end <= time))
        return false;
    for (uint32_t j = 0; j < p->log->count; j++)
        if (known(p, j, node) && p->use[j].start < time)
            last = fmax(last, p->use[j].start);
    return use->end > last;
}

static double ready_at(const plain *p, uint32_t node, const od_batch_job *job, double start)
{
    for (uint32_t i = 0; i < p->log->count; i++)
        if (p->log->jobs[i].file == job->file && remains(p, i, node, start))
            return fmax(start, p->use[i].ready);
    return start + job->size / p->cluster->nodes[node].bandwidth;
}

static double penalty(const plain *p, uint32_t node, const od_batch_job *job, double start)
{
    double sum = 0;
    const od_batch_node *n = &p->cluster->nodes[node];
    for (uint32_t f = 0; f < p->log->files; f++)
        for (uint32_t i = 0; i < p->log->count; i++)
            if (p->log->jobs[i].file == f && remains(p, i, node, start)) {
                sum += p->log->jobs[i].size;
                break;
            }
    return sum * job->size / n->memory / n->bandwidth;
}

static bool saturated(const plain *p)
{
    for (uint32_t k = 0; k < p->cluster->count; k++) {
        bool runs = false;
        for (uint32_t i = 0; i < p->log->count; i++)
            runs |=
                known(p, i, k) && ((p->state[i] == RUNNING) || (p->state[i] == WAITING && p->use[i].start <= p->now));
        if (!runs)
            return false;
    }
    return true;
}

/* The sum of 1 / walltime of the jobs that those before them leave no cores, for each core. */
static double congestion(const plain *p)
{
    double sum = 0, cores = 0, asked = 0;
    for (uint32_t k = 0; k < p->cluster->count; k++)
        cores += p->cluster->nodes[k].cores;
    for (uint32_t i = 0; i < p->log->count; i++)
        asked += p->state[i] == RUNNING ? p->log->jobs[i].cores : 0;
    for (uint32_t i = 0; i < p->log->count; i++)
        if (p->state[i] == WAITING) {
            asked += p->log->jobs[i].cores;
            sum += asked > cores ? 1 / p->log->jobs[i].walltime : 0;
        }
    return sum / cores;
}

static double score(const plain *p, uint32_t node, const od_batch_job *job)
{
    double t = earliest(p, node, job), walltime;
    if (isinf(t))
        return t;
    double file_at = ready_at(p, node, job, t);
    double eft = file_at, lea = t + 500 * (file_at - t) + penalty(p, node, job, t);
    switch (p->variant->policy[2]) {
    case 'f': return t; /* fcfs */
    case 't': return eft;
    case 'a': return lea;
    case 'o': return t <= p->now ? eft : lea;
    case 'i': /* price */
        walltime = p->variant->backfill ? job->walltime : od_batch_usual_walltime(job->walltime);
        return t + (file_at - t) * (1 + 100 * congestion(p) * job->cores * walltime) + penalty(p, node, job, t);
    default: return saturated(p) ? lea : eft;
    }
}

static void plan(plain *p)
{
    for (uint32_t i = 0; i < p->log->count; i++)
        p->use[i].there = p->state[i] == RUNNING || p->state[i] == ENDED;
    for (uint32_t i = 0; i < p->log->count; i++) {
        const od_batch_job *job = &p->log->jobs[i];
        if (p->state[i] != WAITING)
            continue;
        uint32_t best = 0;
        double lowest = score(p, 0, job);
        for (uint32_t k = 1; k < p->cluster->count; k++) {
            double s = score(p, k, job);
            best = s < lowest ? k : best;
            lowest = fmin(s, lowest);
        }
        double start = earliest(p, best, job);
        p->use[i] = (plain_use){best, start, start + job->walltime, ready_at(p, best, job, start), true};
    }
}

/* What the scheduler sees of a job that runs ends at its walltime, what is true is in the outcomes. */
static void start_and_end(plain *p, od_batch_outcome *outcomes, bool *surprise)
{
    for (uint32_t i = 0; i < p->log->count; i++)
        if (p->state[i] == RUNNING && outcomes[i].end <= p->now) {
            *surprise |= outcomes[i].end < p->use[i].end;
            p->state[i] = ENDED;
            p->use[i].end = outcomes[i].end;
        }
    for (uint32_t i = 0; i < p->log->count; i++)
        if (p->state[i] == ABSENT && p->log->jobs[i].submit <= p->now) {
            p->state[i] = WAITING;
            p->use[i].there = false;
            *surprise = true;
        }
}

/* Files are where jobs that have begun have brought them: plans do not count. */
static double truly_ready(plain *p, uint32_t job)
{
    bool *there = calloc(p->log->count, sizeof *there);
    assert_non_null(there);
    for (uint32_t i = 0; i < p->log->count; i++) {
        there[i] = p->use[i].there;
        p->use[i].there = p->state[i] == RUNNING || p->state[i] == ENDED;
    }
    double ready = ready_at(p, p->use[job].node, &p->log->jobs[job], p->now);
    for (uint32_t i = 0; i < p->log->count; i++)
        p->use[i].there = there[i];
    free(there);
    return ready;
}

static void start_jobs(plain *p, od_batch_outcome *outcomes)
{
    for (uint32_t i = 0; i < p->log->count; i++) {
        const od_batch_job *job = &p->log->jobs[i];
        if (p->state[i] != WAITING || !p->use[i].there || p->use[i].start > p->now)
            continue;
        double ready = truly_ready(p, i), limit = p->now + job->walltime;
        p->state[i] = RUNNING;
        p->use[i].ready = ready;
        outcomes[i] = (od_batch_outcome){p->now, ready, fmin(ready + job->duration, limit), p->use[i].node, false};
        outcomes[i].killed = ready + job->duration > limit;
    }
}

static double next_event(const plain *p, const od_batch_outcome *outcomes)
{
    double next = HUGE_VAL;
    for (uint32_t i = 0; i < p->log->count; i++) {
        if (p->state[i] == ABSENT)
            next = fmin(next, p->log->jobs[i].submit);
        if (p->state[i] == RUNNING)
            next = fmin(next, outcomes[i].end);
        if (p->state[i] == WAITING && p->use[i].there)
            next = fmin(next, p->use[i].start);
    }
    return next;
}

od_batch_outcome *plain_simulate(const od_batch_log *log, const od_batch_cluster *cluster, const world_variant *variant)
{
    plain p = {.log = log, .cluster = cluster, .variant = variant};
    od_batch_outcome *outcomes = calloc((size_t)log->count + 1, sizeof *outcomes);
    p.state = calloc((size_t)log->count + 1, sizeof *p.state);
    p.use = calloc((size_t)log->count + 1, sizeof *p.use);
    assert_true(outcomes && p.state && p.use);
    while (!isinf(p.now = next_event(&p, outcomes))) {
        bool surprise = false;
        start_and_end(&p, outcomes, &surprise);
        if (surprise)
            plan(&p);
        start_jobs(&p, outcomes);
    }
    free(p.state);
    free(p.use);
    return outcomes;
}
