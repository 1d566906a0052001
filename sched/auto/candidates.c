/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See candidates.h. */
#include "sched/auto/candidates.h"

#include "sched/phase/active.h"

#include <stdio.h>

enum { ALL = OD_MAX_DEVICES, SLOW = 2000 }; /* tasks that slow policies can plan for */

/* Roughly in the order of how often they are the best of random cases: where time is short the first ones are tried. */
static const struct kind {
    const char *policy, *rule;
    double ahead; /* lookahead, mean durations of a kernel */
    int active;
    bool slow;
} kinds[] = {
    {"darts", "luf", 0, 0, false},
    {"stationary", "belady", 0, 0, false},
    {"dmdas:bus", "luf", 0, 0, false},
    {"darts", "luf", 12, 0, false},
    {"stationary", "belady", 3, ALL, false},
    {"dmdas:bus", "luf", 12, 0, false},
    {"dmdas", "luf", 12, 0, false},
    {"darts", "luf", 3, 0, false},
    {"lws", "luf", 12, 0, false},
    {"dmdas:bus=3", "luf", 0, 0, false},
    {"stationary", "belady", 0, ALL, false},
    {"stationary", "belady", 12, 0, false},
    {"dmdar", "luf", 12, 0, false},
    {"ap", "luf", 3, 0, false},
    {"darts", "luf", 0, OD_ACTIVE_CHOSEN, false},
    {"dmdas:bus", "luf", 0, OD_ACTIVE_CHOSEN, false},
    {"stationary", "belady", 12, ALL, false},
    {"dmdas", "lru", 0, 0, false},
    {"dmdas", "luf", 0, 0, false},
    {"dmdar", "luf", 0, 0, false},
    {"dmdar:bus", "luf", 0, 0, false},
    {"lws", "lru", 0, 0, false},
    {"lws", "luf", 0, 0, false},
    {"mhfp", "belady", 0, 0, true},
    {"mhfp", "belady", 0, OD_ACTIVE_CHOSEN, true},
    {"hfp", "belady", 0, 0, true},
    {"eager", "lru", 0, 0, false},
};

/* What the user has left open. */
static bool leaves_rule(const od_settings *given)
{
    return given->evict == od_evict_find(given->policy.ops->default_evict);
}

void od_candidate_name(od_candidate *c)
{
    snprintf(c->name, sizeof c->name, "%s+%s, buffer %u, lookahead %.3g s, active %d", c->policy,
             c->settings.evict->name, c->settings.buffer, c->settings.lookahead, c->settings.active);
}

/* False: this one is not to be tried. */
static bool complete(const struct kind *kind, const od_work *work, od_candidate *c)
{
    char error[256];
    const od_settings *given = work->given;
    c->settings = *given;
    c->policy = kind->policy;
    if ((kind->slow && work->ntasks > SLOW) || (work->ndevices == 1 && kind->active) ||
        (given->active > 0 && kind->active) || (given->lookahead > 0 && kind->ahead > 0) ||
        od_policy_choose(kind->policy, &c->settings.policy, error, sizeof error))
        return false;
    if (leaves_rule(given))
        c->settings.evict = od_evict_find(kind->rule);
    if (given->lookahead <= 0)
        c->settings.lookahead = kind->ahead * work->mean_seconds;
    if (given->active <= 0)
        c->settings.active = kind->active;
    od_candidate_name(c);
    return c->settings.evict != NULL;
}

unsigned od_candidates(od_candidate *candidates, unsigned most, const od_work *work)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && count < most; i++)
        count += complete(&kinds[i], work, &candidates[count]);
    return count;
}

/* One that differs in one thing. */
static void add(od_candidate *candidates, unsigned most, unsigned *count, const od_candidate *c)
{
    if (*count == most)
        return;
    candidates[*count] = *c;
    od_candidate_name(&candidates[(*count)++]);
}

unsigned od_candidates_near(od_candidate *candidates, unsigned most, const od_candidate *best, const od_work *work)
{
    static const double ahead[] = {0, 1, 2, 4, 6, 9, 16, 24, 40, 64};
    static const unsigned buffers[] = {1, 2, 4, 5, 8};
    const od_settings *s = &best->settings;
    unsigned count = 0, n = work->ndevices;
    for (unsigned k = n; n > 1 && work->given->active <= 0 && k > 0; k -= 1 + (k - 1) / 4) {
        od_candidate c = *best;
        c.settings.active = k == n ? ALL : (int)k;
        if (c.settings.active != s->active)
            add(candidates, most, &count, &c);
    }
    for (size_t i = 0; work->given->lookahead <= 0 && i < sizeof ahead / sizeof *ahead; i++) {
        od_candidate c = *best;
        c.settings.lookahead = ahead[i] * work->mean_seconds;
        add(candidates, most, &count, &c);
    }
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        od_candidate c = *best;
        c.settings.buffer = buffers[i];
        if (buffers[i] != s->buffer)
            add(candidates, most, &count, &c);
    }
    return count;
}
