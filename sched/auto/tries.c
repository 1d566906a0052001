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

static bool was_tried(const od_trial *t, uint64_t hash, const od_candidate *candidate)
{
    for (unsigned i = 0; i < t->ntried; i++)
        if (t->hash[i] == hash && od_candidate_is_same(&t->tried[i].candidate, candidate))
            return true;
    return false;
}

/* Its play would be the same, and would end nowhere else. */
static bool says_all(const od_prediction *p, const od_candidate *candidate, double limit)
{
    uint64_t ahead = candidate->settings.policy.ahead;
    return p->same_ahead.least <= ahead && ahead < p->same_ahead.end &&
           od_candidate_is_alike(&p->candidate, candidate) && (!p->at_least || limit <= p->limit);
}

/* What is known of the candidate because it was played with another lookahead. False: nothing. */
static bool is_known(const od_trial *t, uint64_t hash, const od_candidate *candidate, double limit,
                     od_prediction *known)
{
    unsigned i = 0;
    while (i < t->ntried && !(t->hash[i] == hash && says_all(&t->tried[i], candidate, limit)))
        i++;
    if (i == t->ntried)
        return false;
    *known = t->tried[i];
    known->candidate = *candidate;
    known->again = 0;
    known->at_least = known->seconds > limit;
    known->limit = limit;
    return true;
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

static od_status predict(od_trial *t, const od_candidate *candidate, double limit, od_prediction *p)
{
    od_play_result result = {.seconds = (double)INFINITY};
    od_status status = od_trial_play(t, NULL, &candidate->settings, limit, &result);
    bool ended = isfinite(result.seconds);
    *p = (od_prediction){.candidate = *candidate,
                         .seconds = ended ? result.seconds : result.at_least,
                         .halfway = result.halfway,
                         .at_least = !ended,
                         .limit = ended || t->over ? 0 : limit,
                         .same_ahead = result.same_ahead};
    return status;
}

const od_prediction *od_trial_try(od_trial *t, const od_candidate *candidate)
{
    uint64_t hash = od_candidate_hash(candidate);
    double limit = fmax(t->slack, 1) * od_trial_least(t);
    od_prediction *p = &t->tried[t->ntried];
    if (t->ntried == OD_TRIAL_MOST || od_trial_is_over(t) || was_tried(t, hash, candidate))
        return NULL;
    if (!is_known(t, hash, candidate, limit, p) && predict(t, candidate, limit, p))
        return NULL;
    if (!p->at_least && p->seconds < od_trial_least(t))
        t->leader = p;
    t->hash[t->ntried++] = hash;
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
