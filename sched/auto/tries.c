/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See tries.h. */
#include "sched/auto/tries.h"

#include "sched/oracle/play.h"

#include <math.h>
#include <stdlib.h>

bool od_trial_is_over(od_trial *t)
{
    t->over = t->over || atomic_load(t->hurry) || od_engine_processor_ns(t->engine, true) >= t->end_ns;
    return t->over;
}

double od_trial_least(const od_trial *t)
{
    return t->leader ? t->leader->seconds : (double)INFINITY;
}

static bool was_tried(const od_trial *t, const od_candidate *candidate)
{
    uint64_t hash = od_candidate_hash(candidate);
    for (unsigned i = 0; i < t->ntried; i++)
        if (t->hash[i] == hash && od_candidate_is_same(&t->tried[i].candidate, candidate))
            return true;
    return false;
}

od_status od_trial_play(od_trial *t, od_rounds *rounds, const od_settings *settings, double limit,
                        od_play_result *result)
{
    const od_schedule *schedule = od_schedule_of(settings);
    od_settings s = *settings;
    od_schedule *part = schedule ? od_schedule_for_problem(schedule, &t->copy.problem) : NULL;
    if (schedule && !part)
        return OD_ENOMEM;
    if (part)
        s = od_schedule_settings(part, settings);
    t->nplays++;
    od_status status =
        rounds ? od_rounds_play(rounds, &s, limit, result) : od_play(&t->copy.problem, &s, limit, result);
    free(part);
    return status;
}

const od_prediction *od_trial_try(od_trial *t, const od_candidate *candidate)
{
    od_play_result result = {.seconds = (double)INFINITY};
    od_prediction *p = &t->tried[t->ntried];
    if (t->ntried == OD_TRIAL_MOST || od_trial_is_over(t) || was_tried(t, candidate) ||
        od_trial_play(t, NULL, &candidate->settings, fmax(t->slack, 1) * od_trial_least(t), &result))
        return NULL;
    *p = (od_prediction){.candidate = *candidate,
                         .seconds = result.seconds,
                         .halfway = result.halfway,
                         .at_least = isinf(result.seconds)};
    if (p->at_least)
        p->seconds = result.at_least;
    else if (p->seconds < od_trial_least(t))
        t->leader = p;
    t->hash[t->ntried++] = od_candidate_hash(candidate);
    return p;
}

bool od_trial_is_enough(const od_trial *t)
{
    static const double nearly = 1.001;
    return t->over || od_trial_least(t) <= nearly * t->least;
}

bool od_trial_try_some(od_trial *t, const od_candidate *candidates, unsigned count)
{
    double before = od_trial_least(t);
    for (unsigned i = 0; i < count && !od_trial_is_enough(t); i++)
        od_trial_try(t, &candidates[i]);
    return od_trial_least(t) < before;
}

bool od_trial_has_room(const od_trial *t)
{
    enum { MOST = OD_TRIAL_MOST - 8 * OD_CANDIDATES_MAX, MANY = 8192, MOST_PLAYED = 8000000 };
    uint64_t played = (uint64_t)t->ntried * t->work.ntasks;
    return t->ntried < (played < MOST_PLAYED ? MOST : MANY) && !od_trial_is_enough(t);
}
