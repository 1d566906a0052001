/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See remember.h. */
#include "sched/auto/remember.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- settings -------------------------------------------------------------------------------- */

bool od_candidate_write(const od_candidate *c, char *line, size_t size)
{
    const od_settings *s = &c->settings;
    const char *policy = od_schedule_of(s) ? s->policy.ops->name : c->policy; /* that schedule has another name here */
    char devices[OD_PLACESET_TEXT];
    return snprintf(line, size, "%s %s %u %" PRIu64 " %d %s %d", policy, s->evict->name, s->buffer, s->policy.ahead,
                    s->active, od_placeset_write(s->devices, devices), s->devices_only) < (int)size;
}

static bool is_as_given(const od_settings *s, const od_settings *given)
{
    bool rule = od_candidates_may_set_rule(given) || s->evict == given->evict;
    bool ahead = !given->policy.ahead || s->policy.ahead == given->policy.ahead;
    bool active = given->active <= 0 || s->active == given->active;
    return rule && ahead && active && s->devices_only >= given->devices_only;
}

/* Sets policy and rule. False: there are none of these names. */
static bool take_policy(od_candidate *c, const char *policy, const char *rule, const od_schedule *schedule)
{
    char error[256];
    if (schedule) {
        c->settings = od_schedule_settings(schedule, &c->settings);
        c->policy = schedule->name;
        return strcmp(policy, c->settings.policy.ops->name) == 0 && strcmp(rule, c->settings.evict->name) == 0;
    }
    c->policy = od_candidates_policy(policy);
    c->settings.evict = od_evict_find(rule);
    return c->policy && c->settings.evict && !od_policy_choose(c->policy, &c->settings.policy, error, sizeof error);
}

_Static_assert(OD_PLACESET_TEXT <= 300, "od_candidate_read() has room for it");

bool od_candidate_read(const char *line, const od_schedule *schedule, const od_settings *given, od_candidate *c)
{
    char policy[64], rule[64], devices[300];
    unsigned buffer;
    uint64_t ahead;
    int active, devices_only, end = 0;
    if (sscanf(line, "%63s %63s %u %" SCNu64 " %d %299s %d%n", policy, rule, &buffer, &ahead, &active, devices,
               &devices_only, &end) != 7 ||
        line[end] || buffer < 1)
        return false;
    *c = (od_candidate){.settings = *given};
    od_settings *s = &c->settings;
    if (!take_policy(c, policy, rule, schedule))
        return false;
    s->policy.ahead = ahead;
    s->buffer = buffer;
    s->active = active;
    s->devices_only = devices_only != 0;
    if (!od_placeset_read(devices, &s->devices) || !is_as_given(s, given))
        return false;
    od_candidate_name(c);
    return true;
}

/* --- graphs ------------------------------------------------------------------------------------ */

static const char played[] = "played"; /* a row that counts how many of the candidates have been */
static const char draft[] = "draft";   /* a row of the schedule that is being improved */
static const char chosen[] = "chosen"; /* a row of what it took with settings that were chosen on the way */

struct recalled {
    od_iteration *it;
    const od_settings *given;
    od_candidate untried;
    bool has_untried, has_best;
    uint64_t plain_rounds;
    od_schedule **schedules;
    unsigned *nschedules;
};

static void refute(od_iteration *it, const od_candidate *candidate, double seconds, uint64_t rounds)
{
    if (it->nrefuted < OD_ITERATIONS_REFUTED)
        it->refuted[it->nrefuted++] = (od_refuted){*candidate, seconds, rounds};
}

/* The schedule of a row, if it has one. */
static const od_schedule *add_schedule(struct recalled *r, const char *text)
{
    od_schedule *s = text ? od_schedule_read(text) : NULL;
    if (!s)
        return NULL;
    snprintf(s->name, sizeof s->name, "schedule %u", ++*r->nschedules);
    s->next = *r->schedules;
    *r->schedules = s;
    return s;
}

/* Of those that follow no schedule the fastest count, the others were tried in vain. */
static void found_plain(struct recalled *r, const od_candidate *c, const od_recalled_row *row)
{
    od_iteration *it = r->it;
    if (it->plain_seconds > 0 && row->seconds >= it->plain_seconds) {
        refute(it, c, row->seconds, row->count);
        return;
    }
    if (it->plain_seconds > 0)
        refute(it, &it->plain, it->plain_seconds, r->plain_rounds);
    it->plain = *c;
    it->plain_seconds = row->seconds;
    r->plain_rounds = row->count;
}

static void found(void *arg, const od_recalled_row *row)
{
    struct recalled *r = arg;
    od_iteration *it = r->it;
    od_candidate c;
    if (strcmp(row->settings, played) == 0) {
        it->position = (unsigned)row->count;
        return;
    }
    if (strcmp(row->settings, chosen) == 0) {
        it->chosen_seconds = row->seconds;
        return;
    }
    const od_schedule *schedule = add_schedule(r, row->schedule);
    if (strcmp(row->settings, draft) == 0) {
        it->draft = schedule;
        return;
    }
    if (!od_candidate_read(row->settings, schedule, r->given, &c))
        return;
    if (!row->count) {
        r->untried = c;
        r->has_untried = true;
        it->tasks = it->tasks ? it->tasks : row->tasks;
        return;
    }
    if (!schedule)
        found_plain(r, &c, row);
    if (r->has_best && row->seconds >= it->seconds)
        return;
    it->best = c;
    it->seconds = row->seconds;
    it->tasks = row->tasks;
    it->rounds = row->count;
    r->has_best = true;
}

bool od_iteration_recall(od_engine *engine, const od_pattern *pattern, bool first, const od_settings *given,
                         const od_candidate *plain, od_schedule **schedules, unsigned *nschedules, od_iteration *it)
{
    od_recalled_graph graph = {pattern->shape_first, first};
    struct recalled r = {.it = it, .given = given, .schedules = schedules, .nschedules = nschedules};
    *it = (od_iteration){.first = pattern->first, .beginning = pattern->shape_first, .plain = *plain};
    od_engine_recall(engine, &graph, found, &r);
    if (!r.has_best && !r.has_untried)
        return false;
    if (!r.has_best)
        it->best = r.untried;
    else if (r.has_untried)
        it->next = r.untried;
    it->proposed = r.has_best && r.has_untried;
    it->tried_once = first; /* data are where they were at the beginning of other processes: once is enough */
    if (it->plain_seconds <= 0 && !od_schedule_of(&it->best.settings))
        it->plain = it->best;
    return true;
}

/* --- keeping them ------------------------------------------------------------------------------ */

struct keeping {
    const od_engine *engine;
    od_recalled_graph graph;
    uint64_t tasks;
};

/* What follows a schedule that is too large is not kept. */
static void keep(const struct keeping *k, const char *line, const od_schedule *schedule, uint64_t count, double seconds)
{
    char *text = schedule ? od_schedule_write(schedule) : NULL;
    if (!schedule || text)
        od_engine_keep_row(k->engine, &k->graph, &(od_recalled_row){line, text, k->tasks, count, seconds});
    free(text);
}

static void keep_settings(const struct keeping *k, const od_candidate *c, uint64_t count, double seconds)
{
    char line[256];
    if (od_candidate_write(c, line, sizeof line))
        keep(k, line, od_schedule_of(&c->settings), count, seconds);
}

/* There is one row of those that follow a schedule: the best, or else what is to be tried. */
void od_iteration_keep(const od_engine *engine, const od_iteration *it, bool first)
{
    const od_schedule *best = od_schedule_of(&it->best.settings), *next = od_schedule_of(&it->next.settings);
    struct keeping k = {engine, {it->beginning, first}, it->tasks};
    bool known = it->seconds > 0, tries = known && it->proposed && !(best && next);
    if (known)
        keep_settings(&k, &it->best, it->rounds ? it->rounds : 1, it->seconds);
    else if (!best)
        keep_settings(&k, &it->best, 0, 0);
    if (best && it->plain_seconds > 0)
        keep_settings(&k, &it->plain, 1, it->plain_seconds);
    if (tries)
        keep_settings(&k, &it->next, 0, 0);
    if (it->draft && it->draft != best && !(tries && it->draft == next))
        keep(&k, draft, it->draft, 0, 0);
    keep(&k, played, NULL, it->position, 0);
    if (it->chosen_seconds > 0)
        keep(&k, chosen, NULL, 1, it->chosen_seconds);
    for (const od_refuted *r = it->refuted; r < it->refuted + it->nrefuted; r++)
        if (!od_schedule_of(&r->settings.settings))
            keep_settings(&k, &r->settings, r->rounds, r->seconds);
}
