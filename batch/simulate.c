/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The simulation; see simulate.h. */
#include "batch/simulate.h"

#include "util/container/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulation {
    const od_batch_log *log;
    od_batch_planner *planner;
    od_batch_outcome *outcomes;
    od_heap early, on_time; /* running jobs by their end: before their walltimes, and at them */
    uint32_t next;         /* of the log, to be submitted */
    bool whole;
} simulation;

static bool ends_before(const void *owner, uint32_t a, uint32_t b)
{
    const simulation *s = owner;
    double first = s->outcomes[a].end, second = s->outcomes[b].end;
    return first < second || (first <= second && a < b);
}

static double first_end(const simulation *s, const od_heap *heap)
{
    uint32_t first = od_heap_first(heap);
    return first == OD_HEAP_NONE ? HUGE_VAL : s->outcomes[first].end;
}

static double next_submission(const simulation *s)
{
    return s->next < s->log->count ? s->log->jobs[s->next].submit : HUGE_VAL;
}

/* What the plan does not know. */
static double next_surprise(const simulation *s)
{
    return fmin(next_submission(s), first_end(s, &s->early));
}

/* --- events ------------------------------------------------------------------------------- */

static bool end_jobs(simulation *s, od_heap *heap, double now)
{
    bool any = false;
    while (first_end(s, heap) <= now) {
        uint32_t job = od_heap_first(heap);
        od_heap_remove(heap, job);
        od_batch_planner_end(s->planner, &s->log->jobs[job], s->outcomes[job].node, now);
        any = true;
    }
    return any;
}

static od_status submit_jobs(simulation *s, double now)
{
    od_status status = OD_OK;
    while (!status && next_submission(s) <= now)
        status = od_batch_planner_submit(s->planner, &s->log->jobs[s->next++]);
    return status;
}

static od_status start_job(simulation *s, const od_batch_reservation *r, double now)
{
    const od_batch_job *job = r->job;
    od_batch_outcome *outcome = &s->outcomes[job->number];
    double limit = now + job->walltime;
    *outcome = (od_batch_outcome){.start = now, .node = r->node};
    od_status status = od_batch_planner_start(s->planner, r, now, &outcome->ready);
    outcome->end = fmin(outcome->ready + job->duration, limit);
    outcome->killed = outcome->ready + job->duration > limit;
    od_heap_push(outcome->end < limit ? &s->early : &s->on_time, job->number);
    return status;
}

/* The first start that the plan has for a job that waits. */
static double next_start(const simulation *s, const bool *started)
{
    uint32_t count;
    double first = HUGE_VAL;
    const od_batch_reservation *r = od_batch_planner_reservations(s->planner, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!started[r[i].job->number])
            first = fmin(first, r[i].start);
    return first;
}

static od_status start_jobs(simulation *s, bool *started, double now)
{
    uint32_t count;
    od_status status = OD_OK;
    const od_batch_reservation *r = od_batch_planner_reservations(s->planner, &count);
    for (uint32_t i = 0; i < count && !status; i++)
        if (r[i].start <= now && !started[r[i].job->number]) {
            started[r[i].job->number] = true;
            status = start_job(s, &r[i], now);
        }
    return status;
}

static od_status run(simulation *s, bool *started)
{
    od_status status = OD_OK;
    double planned = HUGE_VAL; /* the next start */
    while (!status) {
        double now = fmin(fmin(next_surprise(s), first_end(s, &s->on_time)), planned);
        if (isinf(now))
            return OD_OK;
        bool surprise = next_submission(s) <= now;
        end_jobs(s, &s->on_time, now);
        surprise |= end_jobs(s, &s->early, now);
        status = submit_jobs(s, now);
        if (!status && surprise)
            status = od_batch_planner_plan(s->planner, now, s->whole ? HUGE_VAL : next_surprise(s));
        status = status ? status : start_jobs(s, started, now);
        planned = next_start(s, started);
#ifdef OD_DEBUG_CHECKS
        assert(od_batch_planner_is_valid(s->planner));
#endif
    }
    return status;
}

static od_status make_room(simulation *s)
{
    od_heap_init(&s->early, ends_before, s);
    od_heap_init(&s->on_time, ends_before, s);
    od_status status = od_heap_reserve(&s->early, s->log->count);
    return status ? status : od_heap_reserve(&s->on_time, s->log->count);
}

od_status od_batch_simulate(const od_batch_log *log, const od_batch_cluster *cluster, const od_batch_settings *settings,
                            bool whole, od_batch_outcome *outcomes, od_batch_effort *effort)
{
    simulation s = {.log = log, .outcomes = outcomes, .whole = whole};
    bool *started = calloc((size_t)log->count + 1, sizeof *started);
    s.planner = od_batch_planner_create(cluster, log->files, settings);
    od_status status = make_room(&s);
    status = status || !started || !s.planner ? OD_ENOMEM : run(&s, started);
    if (s.planner)
        *effort = od_batch_planner_effort(s.planner);
    od_batch_planner_destroy(s.planner);
    od_heap_free(&s.early);
    od_heap_free(&s.on_time);
    free(started);
    return status;
}
