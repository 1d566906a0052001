/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See trial.h. */
#include "sched/auto/trial.h"

#include "sched/auto/schedule/improve.h"
#include "sched/auto/set_search.h"
#include "sched/auto/sets.h"
#include "sched/oracle/levels.h"
#include "sched/oracle/play.h"
#include "util/memory.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_over(void *trial)
{
    return od_trial_is_over(trial);
}

/* --- making and unmaking ------------------------------------------------------------------- */

od_trial *od_trial_create(od_engine *engine, uint64_t most, const od_settings *given, const od_candidate *now)
{
    od_trial *t = od_malloc(sizeof *t);
    if (t)
        memset(t, 0, offsetof(od_trial, hash)); /* arrays are long, and filled from their beginning on */
    if (!t || od_engine_copy_make(engine, most, &t->copy)) {
        free(t);
        return NULL;
    }
    const od_play_problem *p = &t->copy.problem;
    t->engine = engine;
    t->given = *given;
    t->work = (od_work){&t->given, p->ndevices, p->ntasks, p->topology, p->lost, p->nafter > 0};
    t->now = *now;
    t->least = od_play_least(p);
    return t;
}

void od_trial_destroy(od_trial *t)
{
    od_rounds_free(&t->rounds);
    od_engine_copy_free(&t->copy);
    od_findings_free(&t->findings);
    free(t->improved);
    free(t);
}

/* --- settings ------------------------------------------------------------------------------ */

static bool try_grid(od_trial *t)
{
    od_candidate candidate;
    const od_prediction *best = t->leader;
    for (unsigned i = 0; i < OD_CANDIDATES_GRID && !od_trial_is_enough(t); i++)
        if (od_candidates_of_grid(i, &best->candidate, &t->work, &candidate))
            od_trial_try(t, &candidate);
    return t->leader != best;
}

/* The best settings with one device more or less, or with another lookahead and another task buffer. */
static bool try_steps(od_trial *t)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    unsigned count = od_candidates_on_near_sets(candidates, &t->leader->candidate, od_candidates_devices(&t->work),
                                                &t->work, od_device_sets_near);
    bool better = od_trial_try_some(t, candidates, count);
    count = od_candidates_ahead(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
    return od_trial_try_some(t, candidates, count) || better;
}

/* From where an earlier trial had no more time. */
static void try_first(od_trial *t)
{
    od_candidate candidates[OD_CANDIDATES_MAX];
    unsigned count = od_candidates(candidates, OD_CANDIDATES_MAX, &t->work);
    unsigned first = t->position < count ? t->position : 0, i = first;
    for (; i < count && !od_trial_is_enough(t); i++)
        od_trial_try(t, &candidates[i]);
    t->listed = i == count;
    bool cut = t->over && i > first + 1; /* the last play ended in its middle */
    t->position = t->over && i < count ? i - cut : 0;
}

static void search(od_trial *t)
{
    enum { ROUNDS = 8 };
    od_candidate candidates[OD_CANDIDATES_MAX];
    if (!t->only_near || !t->leader)
        try_first(t);
    bool better = t->leader;
    for (unsigned round = 0; better && round < ROUNDS; round++) {
        unsigned count = od_candidates_near(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better = od_trial_try_some(t, candidates, count);
        count = od_candidates_alike(candidates, OD_CANDIDATES_MAX, &t->leader->candidate, &t->work);
        better |= od_trial_try_some(t, candidates, count);
        better = better || try_steps(t) || try_grid(t) || od_set_search(t);
    }
    if (t->leader && (!t->best || t->leader->seconds < t->best->seconds))
        t->best = t->leader;
}

/* --- a schedule ------------------------------------------------------------------------------- */

/* The draft, or what the best settings do, whichever is faster; in the problem's numbers. */
static od_schedule *first_schedule(od_trial *t, od_improvement *i, const od_settings *best, double *seconds)
{
    od_schedule *draft = t->draft ? od_schedule_for_problem(t->draft, &t->copy.problem) : NULL;
    const od_schedule *known = od_schedule_of(best);
    double drafted = draft ? od_improve_play(i, draft, (double)INFINITY) : (double)INFINITY;
    od_schedule *played = known ? NULL : od_improve_begin(i, best, seconds);
    if (played && *seconds < drafted) {
        free(draft);
        return played;
    }
    free(played);
    *seconds = drafted;
    return draft;
}

static void add_schedule(od_trial *t, const od_settings *others, double seconds)
{
    od_schedule *s = t->improved;
    snprintf(s->name, sizeof s->name, "schedule %u", t->schedules + 1);
    od_prediction *p = &t->tried[t->ntried];
    *p = (od_prediction){.candidate = {.settings = od_schedule_settings(s, others), .policy = s->name},
                         .seconds = seconds};
    od_candidate_name(&p->candidate);
    t->hash[t->ntried++] = od_candidate_hash(&p->candidate);
    if (!t->best || seconds < t->best->seconds)
        t->best = p;
}

/* Whoever fixes how many devices are active, or wants CPU workers, has no use for it. Larger graphs would need more
 * plays than there is time for, and their data have so many uses that it takes long to find the next one. */
static bool may_improve(const od_trial *t)
{
    enum { MOST_TASKS = 4000 };
    bool open = t->given.active <= 0 && od_candidates_may_set_rule(&t->given);
    return t->improves && open && t->best && !t->over && !t->copy.problem.cpus && t->work.ntasks <= MOST_TASKS &&
           t->ntried < OD_TRIAL_MOST;
}

static void improve(od_trial *t)
{
    if (!may_improve(t))
        return;
    od_settings others = t->best->candidate.settings;
    others.active = OD_MAX_DEVICES;
    others.devices = OD_NO_PLACES;
    od_improvement i = {.problem = &t->copy.problem,
                        .settings = &others,
                        .devices = od_candidates_devices(&t->work),
                        .rounds = t->plays_next ? 2 : 1,
                        .random = UINT64_C(0x9e3779b97f4a7c15) * (t->schedules + 1)};
    double before = 0;
    od_schedule *schedule = first_schedule(t, &i, &t->best->candidate.settings, &before);
    double seconds = schedule ? od_improve(&i, schedule, before) : before;
    if (schedule && (seconds < before || !t->draft))
        t->improved = od_schedule_for_graph(schedule, &t->copy.problem);
    free(schedule);
    t->nplays += i.nplays;
    if (t->improved)
        add_schedule(t, &others, seconds);
}

static void try_settings(od_trial *t)
{
    t->present = od_trial_try(t, &t->now);
    if (t->only_schedule) {
        t->best = t->leader;
        return;
    }
    if (t->now.settings.devices_only != t->given.devices_only) {
        t->best = t->leader;
        t->leader = NULL;
    }
    search(t);
    if (!t->copy.problem.cpus || t->given.devices_only)
        return;
    t->leader = t->best && t->best->candidate.settings.devices_only ? t->best : NULL;
    t->given.devices_only = true;
    t->nclimbed = 0;
    search(t);
}

/* --- what comes again ------------------------------------------------------------------------- */

/* From here on it is about the next time. */
static void begin_next(od_trial *t)
{
    od_play_result result = {.seconds = (double)INFINITY};
    if (od_rounds_init(&t->rounds, &t->copy.problem) ||
        od_trial_play(t, &t->rounds, &t->now.settings, (double)INFINITY, &result))
        return;
    t->copy.problem = t->rounds.problem;
    t->least = od_play_least(&t->copy.problem);
}

enum { SUCCESSION = 3, CONFIRMED = 10 }; /* rounds; settings, at most */

/* Seconds of a round on the average; infinite: more than the limit. */
static double play_again(od_trial *t, const od_settings *settings, double limit)
{
    od_rounds rounds;
    od_status status = od_rounds_init(&rounds, &t->copy.problem);
    double sum = 0;
    for (unsigned i = 0; !status && i < SUCCESSION && isfinite(sum); i++) {
        od_play_result result = {.seconds = (double)INFINITY};
        status = od_trial_play(t, &rounds, settings, SUCCESSION * limit - sum, &result);
        sum += result.seconds;
    }
    od_rounds_free(&rounds);
    return status ? (double)INFINITY : sum / SUCCESSION;
}

/* The best, the first time, of those that may be tried and have not been played again; NULL: there is none. */
static od_prediction *next_to_confirm(od_trial *t)
{
    od_prediction *next = NULL;
    for (od_prediction *p = t->tried; p < t->tried + t->ntried; p++)
        if (!p->at_least && p->again <= 0 && od_iteration_may_try(&t->iteration, &p->candidate) &&
            (!next || p->seconds < next->seconds))
            next = p;
    return next;
}

static void confirm(od_trial *t)
{
    od_prediction *p = NULL;
    t->present_again = t->present ? play_again(t, &t->now.settings, (double)INFINITY) : (double)INFINITY;
    for (unsigned i = 0; i < CONFIRMED && !od_trial_is_over(t) && (p = next_to_confirm(t)); i++) {
        p->again = play_again(t, &p->candidate.settings, t->next ? t->next->again : (double)INFINITY);
        if (!t->over && isfinite(p->again))
            t->next = p;
    }
}

/* They have been played once. */
static void take_best(od_trial *t)
{
    od_prediction *p = next_to_confirm(t);
    t->next = p;
    if (p)
        p->again = p->seconds;
    t->present_again = t->present ? t->present->seconds : (double)INFINITY;
}

static void try_all(od_trial *t)
{
    if (t->plays_next)
        begin_next(t);
    try_settings(t);
    improve(t);
}

/* Some of the time is left for playing again. */
static void try_and_confirm(od_trial *t, uint64_t begun_ns)
{
    uint64_t end_ns = t->end_ns;
    t->end_ns = begun_ns + (end_ns - begun_ns) / 2;
    try_all(t);
    t->end_ns = end_ns;
    bool over = t->over;
    t->over = false;
    confirm(t);
    t->over |= over;
}

void od_trial_run(od_trial *t, uint64_t most_ns, const atomic_bool *hurry)
{
    uint64_t begun_ns = od_engine_processor_ns(t->engine, true);
    int32_t *levels = od_play_levels(&t->copy.problem); /* once for all plays; NULL: each works them out */
    t->hurry = hurry;
    t->end_ns = most_ns < UINT64_MAX - begun_ns ? begun_ns + most_ns : UINT64_MAX;
    t->copy.problem.priority = levels;
    t->copy.problem.findings = &t->findings;
    t->copy.problem.stop = is_over;
    t->copy.problem.stop_data = t;
    if (t->confirms)
        try_and_confirm(t, begun_ns);
    else
        try_all(t);
    if (t->comes_again && !t->confirms)
        take_best(t);
    t->copy.problem.priority = NULL;
    t->copy.problem.findings = NULL;
    free(levels);
    t->cost_ns = od_engine_processor_ns(t->engine, true) - begun_ns;
}

/* The time was over before its play could show that it is no better than the best. */
static bool says_nothing(const od_trial *t, const od_prediction *p)
{
    return p->at_least && t->best && p->seconds < t->best->seconds;
}

const od_prediction *od_trial_second(const od_trial *t)
{
    const od_prediction *second = NULL;
    for (const od_prediction *p = t->tried; p < t->tried + t->ntried; p++)
        if (p != t->best && p != t->present && !says_nothing(t, p) && (!second || p->seconds < second->seconds))
            second = p;
    return second;
}

od_outlook od_prediction_outlook(const od_prediction *p)
{
    od_outlook o = {.name = ""};
    if (!p)
        return o;
    snprintf(o.name, sizeof o.name, "%s", p->candidate.name);
    o.seconds = p->seconds;
    o.at_least = p->at_least;
    return o;
}
