/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * auto: tries the future before it runs it.
 *
 * A run begins with darts. When clearly more is known than the last time, what is known (sched/engine/copy.h) is played
 * forward by the oracle (sched/oracle/play.h) under each of some dozen settings: policy, eviction rule, lookahead,
 * active devices (sched/auto/candidates.c). Those with which all would be done first are adopted, if they are better
 * than the present ones by more than a change is worth; tasks that wait change hands, nothing else moves. It happens in
 * the background, while devices go on. Where half of it took clearly longer or shorter than predicted, what is left is
 * played again.
 *
 * Not published.
 */
#include "sched/auto/candidates.h"
#include "sched/engine/copy.h"
#include "sched/oracle/levels.h"
#include "sched/oracle/play.h"
#include "util/log.h"
#include "util/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { FEWEST_TASKS = 16, MOST_TASKS = 200000 };

struct chooser {
    od_engine *e;
    od_settings given;   /* as the user wants them */
    od_settings current; /* as they are */
    od_settings next;    /* to be adopted as soon as that is possible */
    bool pending;
    bool under_way;
    bool stops;        /* it chooses no more: out of memory, or a device is lost */
    uint64_t known;    /* tasks when the last choice was begun */
    uint64_t done;     /* tasks that were done then */
    uint64_t begun_ns; /* when that was */
    double halfway;    /* seconds from then on, predicted, until half of them are; 0: it has been looked at */
    double spent;      /* seconds of background jobs */
    uint64_t created_ns;
};

/* A choice under way. */
struct choice {
    od_background job;
    struct chooser *c;
    od_engine_copy copy;
    od_settings given;
    od_work work;
    od_candidate now, best;
    unsigned most, tried;    /* plays */
    double seconds, halfway; /* of the best; infinite: none could be played */
    double current;          /* seconds of what is now */
};

/* --- playing ------------------------------------------------------------------------------- */

/* Returns its seconds, infinite where it is not better than the best. */
static double try_one(struct choice *choice, const od_candidate *candidate)
{
    od_play_result result = {.seconds = (double)INFINITY};
    choice->tried++;
    if (od_play(&choice->copy.problem, &candidate->settings, choice->seconds, &result) ||
        result.seconds >= choice->seconds)
        return (double)INFINITY;
    choice->seconds = result.seconds;
    choice->halfway = result.halfway;
    choice->best = *candidate;
    return result.seconds;
}

/* True: some are better than all before. */
static bool try_some(struct choice *choice, const od_candidate *candidates, unsigned count)
{
    double before = choice->seconds;
    for (unsigned i = 0; i < count && choice->tried < choice->most; i++)
        try_one(choice, &candidates[i]);
    return choice->seconds < before;
}

/* What is now, then the candidates, then what is near the best until nothing there is better. Needs nothing but the
 * choice. */
static void try_all(od_background *job)
{
    enum { ROUNDS = 3 };
    struct choice *choice = od_container_of(job, struct choice, job);
    int32_t *levels = od_play_levels(&choice->copy.problem); /* once for all plays; NULL: each works them out */
    od_candidate candidates[OD_CANDIDATES_MAX];
    choice->copy.problem.priority = levels;
    choice->seconds = (double)INFINITY;
    choice->current = try_one(choice, &choice->now);
    try_some(choice, candidates, od_candidates(candidates, OD_CANDIDATES_MAX, &choice->work));
    bool better = isfinite(choice->seconds);
    for (unsigned round = 0; better && round < ROUNDS && choice->tried < choice->most; round++) {
        unsigned count = od_candidates_near(candidates, OD_CANDIDATES_MAX, &choice->best, &choice->work);
        better = try_some(choice, candidates, count);
    }
    choice->copy.problem.priority = NULL;
    free(levels);
}

static void adopt(struct chooser *c)
{
    od_status status = od_engine_adopt(c->e, &c->next);
    c->pending = status == OD_EBUSY;
    if (!status)
        c->current = c->next;
}

/* What a change must bring: much, once devices follow another plan. */
static bool is_worth_it(const struct choice *choice)
{
    double factor = choice->c->done ? 0.98 : 0.9999;
    return choice->seconds < factor * choice->current;
}

static void end_choice(od_background *job, bool carried_out)
{
    struct choice *choice = od_container_of(job, struct choice, job);
    struct chooser *c = choice->c;
    c->under_way = false;
    c->spent += job->seconds;
    if (carried_out && isfinite(choice->seconds)) {
        c->halfway = choice->halfway;
        od_log(OD_LOG_INFO, "auto", "%u settings played for %u tasks: %s %.6f s, %s %.6f s", choice->tried,
               choice->work.ntasks, choice->now.name, choice->current, choice->best.name, choice->seconds);
    }
    if (carried_out && is_worth_it(choice)) {
        c->next = choice->best.settings;
        adopt(c);
    }
    od_engine_copy_free(&choice->copy);
    free(choice);
}

/* --- when ------------------------------------------------------------------------------------ */

static double mean_seconds(const od_play_problem *p)
{
    double sum = 0;
    for (uint32_t t = 0; t < p->ntasks; t++)
        sum += p->tasks[t].seconds;
    return p->ntasks ? sum / p->ntasks : 0;
}

/* In the background a choice takes a tenth of the work's time at most. */
static unsigned affordable(const struct choice *choice)
{
    static const double part = 0.1, per_task = 5e-6; /* seconds, to play it */
    double count = part * choice->work.mean_seconds / choice->work.ndevices / per_task;
    bool limited = od_engine_has_background(choice->c->e) && count < INT_MAX;
    return limited ? (unsigned)count : INT_MAX;
}

static struct choice *make_choice(struct chooser *c)
{
    struct choice *choice = od_calloc(1, sizeof *choice);
    if (!choice || od_engine_copy_make(c->e, &choice->copy)) {
        free(choice);
        return NULL;
    }
    const od_play_problem *p = &choice->copy.problem;
    choice->c = c;
    choice->job = (od_background){.run = try_all, .done = end_choice};
    choice->given = c->given;
    choice->work = (od_work){&choice->given, p->ndevices, p->ntasks, mean_seconds(p)};
    choice->now = (od_candidate){c->current, "present", "present"};
    choice->most = affordable(choice);
    return choice;
}

static void begin_choice(struct chooser *c)
{
    struct choice *choice = make_choice(c);
    c->stops = !choice;
    if (!choice)
        return;
    c->under_way = true;
    od_engine_in_background(c->e, &choice->job, choice->work.ntasks);
}

/* Half of what was known has taken clearly longer or shorter than predicted. */
static bool was_wrong(struct chooser *c, uint64_t done, uint64_t now_ns)
{
    static const double clearly = 0.15;
    if (c->halfway <= 0 || done - c->done < c->known / 2)
        return false;
    double seconds = (double)(now_ns - c->begun_ns) * 1e-9, ratio = seconds / c->halfway;
    od_log(OD_LOG_INFO, "auto", "half of %llu tasks took %.6f s, predicted were %.6f s%s", (unsigned long long)c->known,
           seconds, c->halfway, fabs(ratio - 1) > clearly ? "; the rest is played again" : "");
    c->halfway = 0;
    return fabs(ratio - 1) > clearly;
}

static bool may_afford(const struct chooser *c, uint64_t now_ns)
{
    static const double part = 0.05; /* of the time, on one processor */
    return c->spent <= part * (double)(now_ns - c->created_ns) * 1e-9;
}

static void consider(void *chooser)
{
    struct chooser *c = chooser;
    od_engine_stats stats;
    if (c->pending)
        adopt(c);
    if (c->pending || c->under_way || c->stops)
        return;
    od_engine_stats_get(c->e, &stats);
    uint64_t known = stats.waiting + stats.unfinished, now = od_engine_clock(c->e);
    if (known < c->known / 4)
        c->known = known; /* another batch may come */
    bool wrong = was_wrong(c, stats.tasks, now);
    if (known < FEWEST_TASKS || known > MOST_TASKS || (known < 2 * c->known && !wrong) || !may_afford(c, now))
        return;
    c->known = known;
    c->done = stats.tasks;
    c->begun_ns = now;
    c->halfway = 0;
    begin_choice(c);
}

static void *create_chooser(void *engine)
{
    char error[256];
    struct chooser *c = od_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->e = engine;
    od_engine_settings(c->e, &c->given);
    c->current = c->given;
    c->created_ns = od_engine_clock(c->e);
    od_policy_choose("darts", &c->current.policy, error, sizeof error);
    return c;
}

static const od_chooser_ops chooser = {create_chooser, free, consider};

/* --- what a run begins with ---------------------------------------------------------------- */

struct beginning {
    const od_policy_ops *ops;
    void *state;
};

static od_status auto_create(const od_policy_env *env, void **state)
{
    od_policy_env inner = *env;
    struct beginning *b = od_calloc(1, sizeof *b);
    if (!b)
        return OD_ENOMEM;
    inner.values = NULL;
    b->ops = od_policy_find("darts");
    od_status status = od_policy_create(b->ops, &inner, &b->state);
    if (status)
        free(b);
    else
        *state = b;
    return status;
}

static void auto_destroy(void *state)
{
    struct beginning *b = state;
    b->ops->destroy(b->state);
    free(b);
}

static od_status auto_ready(void *state, od_task *task)
{
    const struct beginning *b = state;
    return b->ops->ready(b->state, task);
}

static od_task *auto_pop(void *state, unsigned k)
{
    const struct beginning *b = state;
    return b->ops->pop(b->state, k);
}

static void auto_incoming(void *state, od_datum *datum, unsigned k)
{
    const struct beginning *b = state;
    b->ops->incoming(b->state, datum, k);
}

static void auto_evicted(void *state, od_datum *datum, unsigned k)
{
    const struct beginning *b = state;
    b->ops->evicted(b->state, datum, k);
}

static void auto_started(void *state, od_task *task, unsigned k)
{
    const struct beginning *b = state;
    b->ops->started(b->state, task, k);
}

static void auto_done(void *state, od_task *task, unsigned k)
{
    const struct beginning *b = state;
    b->ops->done(b->state, task, k);
}

static void auto_forget(void *state, od_datum *datum)
{
    const struct beginning *b = state;
    b->ops->forget(b->state, datum);
}

static uint32_t auto_future_uses(void *state, const od_datum *datum)
{
    const struct beginning *b = state;
    return b->ops->future_uses(b->state, datum);
}

static bool auto_is_valid(void *state)
{
    const struct beginning *b = state;
    return b->ops->is_valid(b->state);
}

static const od_policy_ops auto_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "auto",
    .description = "plays what is known forward under the other policies and settings, and takes the best",
    .default_evict = "luf",
    .create = auto_create,
    .destroy = auto_destroy,
    .ready = auto_ready,
    .pop = auto_pop,
    .incoming = auto_incoming,
    .evicted = auto_evicted,
    .started = auto_started,
    .done = auto_done,
    .forget = auto_forget,
    .future_uses = auto_future_uses,
    .chooser = &chooser,
    .is_valid = auto_is_valid,
};

OD_REGISTER_POLICY(auto_ops)
