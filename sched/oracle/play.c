/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The driver of an engine that plays known tasks; see play.h. */
#include "sched/oracle/play.h"

#include "sched/oracle/impl.h"
#include "sched/oracle/levels.h"
#include "sched/phase/active.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- the driver -------------------------------------------------------------------- */

static void start_transfer(void *driver, od_transfer *x)
{
    od_player *p = driver;
    if (x->from >= OD_SPILL && x->to >= OD_SPILL) { /* there are no regions */
        p->failed = true;
        return;
    }
    od_direction d = x->to >= OD_SPILL ? OD_FROM_DEVICE : x->from >= OD_SPILL ? OD_TO_DEVICE : OD_BETWEEN_DEVICES;
    unsigned k = (unsigned)(d == OD_FROM_DEVICE ? x->from : x->to);
    od_list_push_back(x->demanded ? &p->device[k].demanded[d] : &p->device[k].prefetches[d], &x->node);
    od_actors_wake(p, k, d);
}

static void start_task(void *driver, od_task *task, int place)
{
    od_player *p = driver;
    p->failed |= place == OD_HOST && !p->p->cpus;
    if (!p->failed)
        od_actors_start(p, place == OD_HOST ? p->p->ndevices : (unsigned)place, (uint32_t)(task - p->task));
}

static void complete_task(void *driver, od_task *task)
{
    od_player *p = driver;
    od_actors_complete(p, (uint32_t)(task - p->task));
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_request_destroy(request);
}

static uint64_t now_ns(void *driver)
{
    return ((const od_player *)driver)->now_ns;
}

/* A program creates its tasks faster than many of them are planned for: the plan counts once all are there. */
static bool start_background(void *driver, od_background *job, size_t tasks)
{
    od_player *p = driver;
    if (!p->creates || tasks < OD_BACKGROUND_FEW)
        return false;
    job->next = NULL;
    *p->last_job = job;
    p->last_job = &job->next;
    return true;
}

static void end_jobs(od_player *p)
{
    for (od_background *job; (job = p->first_job);) {
        p->first_job = job->next;
        job->run(job);
        od_engine_background_done(p->engine, job);
    }
}

static void fail(void *driver, const char *message)
{
    (void)message;
    ((od_player *)driver)->failed = true;
}

static const od_driver_ops driver_ops = {.start_transfer = start_transfer,
                                         .start_task = start_task,
                                         .complete_task = complete_task,
                                         .complete_request = complete_request,
                                         .now_ns = now_ns,
                                         .start_background = start_background,
                                         .fatal = fail};

/* --- what is there at the beginning --------------------------------------------------- */

static od_status make_engine(od_player *p, const od_settings *s, bool timed)
{
    const od_play_problem *problem = p->p;
    od_engine_config config = {.ndevices = problem->ndevices,
                               .memory = problem->memory,
                               .alignment = problem->alignment,
                               .buffer = s->buffer,
                               .ahead = s->policy.ahead,
                               .active = s->active,
                               .devices = s->devices,
                               .findings = problem->findings,
                               .slots = problem->slots,
                               .cpus = problem->cpus,
                               .devices_only = s->devices_only,
                               .peer = problem->peer,
                               .ranked = true,
                               .untimed = !timed,
                               .topology = problem->topology,
                               .policy = s->policy.ops,
                               .policy_values = s->policy.values,
                               .evict = s->evict,
                               .seed = problem->seed,
                               .driver_ops = &driver_ops,
                               .driver = p};
    return od_engine_create(&config, &p->engine);
}

/* Only what is on a device counts there. */
static od_placeset present(const od_datum *d, od_placeset valid)
{
    od_placeset there = OD_NO_PLACES;
    if (od_placeset_has(valid, OD_HOST) || od_placeset_has(valid, OD_SPILL))
        od_placeset_add(&there, OD_HOST);
    for (od_placeset_walk at = od_placeset_begin(od_placeset_devices(valid)); od_placeset_next(&at);)
        if (d->replica[at.place].state == OD_PRESENT)
            od_placeset_add(&there, at.place);
    return !od_placeset_is_empty(valid) && od_placeset_is_empty(there) ? od_placeset_of(OD_HOST) : there;
}

static void begin_loading(od_player *p)
{
    const uint32_t *d = p->p->resident;
    const bool *loading = p->p->loading;
    for (unsigned k = 0; k < p->p->ndevices; k++)
        for (uint32_t i = 0; i < p->p->nresident[k]; i++, d++)
            if (*loading++)
                od_engine_begin_loading(p->engine, p->datum[*d], k);
}

static od_status make_data(od_player *p)
{
    const od_play_problem *problem = p->p;
    uintptr_t next = 1; /* no datum begins at 0 */
    od_status status = OD_OK;
    for (uint32_t d = 0; !status && d < problem->ndata; d++) {
        status = od_engine_datum(p->engine, next, problem->data[d].bytes, &p->datum[d]);
        if (!status) {
            p->datum[d]->keep = true;
            p->datum[d]->tie = problem->data[d].tie;
        }
        next += problem->data[d].bytes;
    }
    uint32_t at = 0;
    for (unsigned k = 0; !status && problem->nresident && k < problem->ndevices; k++)
        for (uint32_t i = 0; !status && i < problem->nresident[k]; i++)
            od_engine_begin_with(p->engine, p->datum[problem->resident[at++]], k);
    for (uint32_t d = 0; !status && d < problem->ndata; d++)
        p->datum[d]->valid = present(p->datum[d], problem->data[d].valid);
    if (!status && problem->loading)
        begin_loading(p);
    return status;
}

/* Of a device's work a CPU worker does at most so much in a second as of that task which devices accelerate least. */
static double most_at_once(const od_play_problem *problem)
{
    double most = 0, speed = 0;
    for (unsigned k = 0; k < problem->ndevices; k++)
        speed += od_placeset_has(problem->lost, k) ? 0 : 1 / od_slowness_least(&problem->topology->slowness, k);
    for (uint32_t t = 0; problem->cpus && t < problem->ntasks; t++)
        if (problem->tasks[t].host_seconds > 0)
            most = fmax(most, problem->tasks[t].seconds / problem->tasks[t].host_seconds);
    return speed * (problem->in_turn ? 1 : problem->slots) + most * problem->cpus;
}

double od_play_least(const od_play_problem *problem)
{
    double seconds = 0;
    for (uint32_t t = 0; t < problem->ntasks; t++)
        seconds += problem->tasks[t].seconds;
    return seconds / most_at_once(problem);
}

static void make_tasks(od_player *p)
{
    const od_play_problem *problem = p->p;
    p->most_at_once = most_at_once(problem);
    for (uint32_t a = 0; a < problem->naccesses; a++)
        p->access[a] = (od_access){.datum = p->datum[problem->accesses[a].datum], .mode = problem->accesses[a].mode};
    for (uint32_t t = 0; t < problem->ntasks; t++) {
        const od_play_task *task = &problem->tasks[t];
        p->task[t] = (od_task){.bound = task->bound,
                               .duration = task->seconds,
                               .host_seconds = task->host_seconds,
                               .kind = task->kind,
                               .speed_class = task->speed_class,
                               .naccess = task->naccess,
                               .access = &p->access[task->first_access]};
        p->waiting_for[t] = task->before;
        p->unbegun += task->seconds;
    }
}

/* Policies decide on the first ones before they know the others. A task that comes alone goes where the engine puts it,
 * and nothing is known of it where nothing has been foreseen: all others would have its number. */
static void create_tasks(od_player *p)
{
    p->creates = true;
    p->last_job = &p->first_job;
    if (!p->foresees)
        od_engine_hold(p->engine);
    for (uint32_t t = 0; t < p->p->ntasks; t++) {
        if (p->foresees)
            od_engine_foresee(p->engine, &p->task[t], od_actors_uses(&p->task[t]));
        if (p->waiting_for[t] == 0)
            od_actors_hand_over(p, t);
        if (t == 0 && !p->foresees)
            od_engine_resume(p->engine);
    }
    od_engine_await(p->engine, true);
    p->creates = false;
    end_jobs(p);
}

/* Before others are ready. */
static void begin_given(od_player *p)
{
    od_engine_hold(p->engine);
    for (uint32_t i = 0; i < p->p->ngiven; i++) {
        od_actors_begin_given(p, p->p->given[i]);
        p->waiting_for[p->p->given[i]] = UINT32_MAX;
    }
    od_engine_resume(p->engine);
}

static void begin(od_player *p)
{
    for (od_placeset_walk at = od_placeset_begin(p->p->lost); od_placeset_next(&at);)
        od_engine_device_lost(p->engine, at.place);
    if (p->p->arrives) {
        create_tasks(p);
        return;
    }
    for (uint32_t t = 0; p->foresees && t < p->p->ntasks; t++)
        if (p->p->tasks[t].bound != OD_HOST)
            od_engine_foresee(p->engine, &p->task[t], od_actors_uses(&p->task[t]));
    od_engine_await(p->engine, true); /* no more tasks are known */
    begin_given(p);
    for (uint32_t t = 0; t < p->p->ntasks; t++)
        if (p->p->tasks[t].bound == OD_HOST)
            od_actors_start(p, p->p->ndevices, t);
        else if (p->waiting_for[t] == 0)
            p->ready[p->nready++] = t;
}

/* --- making and unmaking --------------------------------------------------------------- */

/* Tasks are foreseen where some wait for others, or where it makes a difference to the first one's place that the
 * others are known: an engine that adopts settings knows them all (sched/engine/adopt.c). */
static bool foresees(const od_play_problem *problem, const od_settings *s)
{
    bool chooses = s->active == OD_ACTIVE_CHOSEN || s->policy.ops->chooses_active;
    return problem->nafter || (!problem->arrives && chooses && s->policy.ops->places_at_arrival);
}

static od_status allocate(od_player *p, const od_settings *s)
{
    const od_play_problem *problem = p->p;
    size_t n = problem->ntasks + (size_t)1;
    p->task = od_malloc(n * sizeof *p->task);
    p->access = od_malloc((problem->naccesses + (size_t)1) * sizeof *p->access);
    p->datum = od_calloc(problem->ndata + (size_t)1, sizeof *p->datum);
    p->levels = problem->priority ? NULL : od_play_levels(problem);
    p->priority = problem->priority ? problem->priority : p->levels;
    p->foresees = foresees(problem, s);
    p->waiting_for = od_malloc(n * sizeof *p->waiting_for);
    p->next_started = od_malloc(n * sizeof *p->next_started);
    p->ready = od_malloc(n * sizeof *p->ready);
    bool all = p->task && p->access && p->datum && p->priority && p->waiting_for && p->next_started && p->ready;
    return all ? OD_OK : OD_ENOMEM;
}

static void release(od_player *p)
{
    od_engine_destroy(p->engine);
    od_actors_free(p);
    free(p->task);
    free(p->access);
    free(p->datum);
    free(p->levels);
    free(p->waiting_for);
    free(p->next_started);
    free(p->ready);
    free(p);
}

/* The engine would say so in the log. */
static bool fits(const od_play_problem *problem)
{
    for (uint32_t t = 0; t < problem->ntasks; t++) {
        const od_play_task *task = &problem->tasks[t];
        size_t bytes = 0;
        for (uint32_t i = 0; i < task->naccess; i++)
            bytes += problem->data[problem->accesses[task->first_access + i].datum].bytes;
        if (bytes > problem->memory)
            return false;
    }
    return true;
}

static int by_beginning(const void *a, const void *b)
{
    const od_play_began *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? -1 : 1) : (x->task > y->task) - (x->task < y->task);
}

static void note_beginnings(const od_player *p, od_play_began *began)
{
    for (uint32_t t = 0; t < p->p->ntasks; t++) {
        const od_task *task = &p->task[t];
        bool here = task->place >= 0 && task->place < (int)p->p->ndevices;
        began[t] = (od_play_began){t, here ? task->place : OD_HOST, task->start_ns};
    }
    qsort(began, p->p->ntasks, sizeof *began, by_beginning);
}

static int by_base(const void *a, const void *b)
{
    uintptr_t x = (*(od_datum *const *)a)->base, y = (*(od_datum *const *)b)->base;
    return (x > y) - (x < y);
}

/* What is still being loaded counts as there. */
static void note_left(const od_player *p, const od_play_left *left, od_datum **resident)
{
    uint32_t count = 0, ndata = p->p->ndata;
    for (uint32_t d = 0; d < ndata; d++)
        left->valid[d] = p->datum[d]->valid;
    for (unsigned k = 0; k < p->p->ndevices; k++) {
        left->nresident[k] = od_engine_residents(p->engine, k, resident, ndata);
        for (uint32_t i = 0; i < left->nresident[k]; i++) {
            od_datum **found = bsearch(&resident[i], p->datum, ndata, sizeof *p->datum, by_base);
            left->resident[count++] = (uint32_t)(found - p->datum);
            od_placeset_add(&left->valid[found - p->datum], k);
        }
    }
}

static od_status keep_left(const od_player *p, const od_play_left *left)
{
    od_datum **resident = od_malloc((p->p->ndata + (size_t)1) * sizeof *resident);
    if (!resident)
        return OD_ENOMEM;
    note_left(p, left, resident);
    free(resident);
    return OD_OK;
}

od_status od_play(const od_play_problem *problem, const od_settings *settings, double limit, od_play_result *result)
{
    if (!fits(problem))
        return OD_EINVAL;
    od_player *p = od_calloc(1, sizeof *p);
    if (!p)
        return OD_ENOMEM;
    p->p = problem;
    od_status status = allocate(p, settings);
    if (!status)
        status = od_actors_init(p);
    if (!status)
        status = make_engine(p, settings, result->device || result->all);
    if (!status)
        status = make_data(p);
    if (!status) {
        p->sent = result->sent;
        p->received = result->received;
        make_tasks(p);
        begin(p);
        result->seconds = od_actors_run(p, limit) ? p->end : (double)INFINITY;
        result->halfway = p->halfway;
        result->at_least = od_actors_least(p);
        result->same_ahead = od_engine_same_ahead(p->engine);
        status = p->failed || (p->done < problem->ntasks && !p->late) ? OD_EINVAL : OD_OK;
        if (result->began)
            note_beginnings(p, result->began);
        if (result->all)
            od_engine_stats_get(p->engine, result->all);
        for (unsigned k = 0; result->device && k < problem->ndevices; k++)
            od_engine_device_stats(p->engine, k, &result->device[k]);
        if (!status && result->left && isfinite(result->seconds))
            status = keep_left(p, result->left);
    }
    release(p);
    return status;
}
