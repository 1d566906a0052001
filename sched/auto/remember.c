/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See remember.h. */
#include "sched/auto/remember.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- settings -------------------------------------------------------------------------------- */

bool od_candidate_write(const od_candidate *c, char *line, size_t size)
{
    const od_settings *s = &c->settings;
    if (od_schedule_of(s))
        return false;
    return snprintf(line, size, "%s %s %u %.0f %d %" PRIx64 " %d", c->policy, s->evict->name, s->buffer,
                    s->lookahead * 1e9, s->active, s->devices, s->devices_only) < (int)size;
}

static bool is_as_given(const od_settings *s, const od_settings *given)
{
    bool rule = given->evict == od_evict_find(given->policy.ops->default_evict) || s->evict == given->evict;
    bool lookahead = given->lookahead <= 0 || (s->lookahead >= given->lookahead && s->lookahead <= given->lookahead);
    bool active = given->active <= 0 || s->active == given->active;
    return rule && lookahead && active && s->devices_only >= given->devices_only;
}

bool od_candidate_read(const char *line, const od_settings *given, od_candidate *c)
{
    char policy[64], rule[64], error[256];
    unsigned buffer;
    uint64_t lookahead_ns, devices;
    int active, devices_only, end = 0;
    if (sscanf(line, "%63s %63s %u %" SCNu64 " %d %" SCNx64 " %d%n", policy, rule, &buffer, &lookahead_ns, &active,
               &devices, &devices_only, &end) != 7 ||
        line[end] || buffer < 1)
        return false;
    *c = (od_candidate){.settings = *given, .policy = od_candidates_policy(policy)};
    od_settings *s = &c->settings;
    s->evict = od_evict_find(rule);
    s->buffer = buffer;
    s->lookahead = (double)lookahead_ns * 1e-9;
    s->active = active;
    s->devices = devices;
    s->devices_only = devices_only != 0;
    if (!c->policy || !s->evict || !is_as_given(s, given) ||
        od_policy_choose(c->policy, &s->policy, error, sizeof error))
        return false;
    od_candidate_name(c);
    return true;
}

/* --- graphs ------------------------------------------------------------------------------------ */

static const char played[] = "played"; /* a row that counts how many of the candidates have been */

struct recalled {
    od_iteration *it;
    const od_settings *given;
    od_candidate untried;
    bool has_untried, has_best;
};

static void refute(od_iteration *it, const od_candidate *candidate, double seconds, uint64_t rounds)
{
    if (it->nrefuted < OD_ITERATIONS_REFUTED)
        it->refuted[it->nrefuted++] = (od_refuted){*candidate, seconds, rounds};
}

/* The fastest is the best, the others were tried in vain. */
static void found(void *arg, const od_recalled_row *row)
{
    struct recalled *r = arg;
    od_iteration *it = r->it;
    od_candidate c;
    if (strcmp(row->settings, played) == 0) {
        it->position = (unsigned)row->count;
        return;
    }
    if (!od_candidate_read(row->settings, r->given, &c))
        return;
    if (!row->count) {
        r->untried = c;
        r->has_untried = true;
        it->tasks = it->tasks ? it->tasks : row->tasks;
        return;
    }
    if (r->has_best && row->seconds >= it->seconds) {
        refute(it, &c, row->seconds, row->count);
        return;
    }
    if (r->has_best)
        refute(it, &it->best, it->seconds, it->rounds);
    it->best = c;
    it->seconds = row->seconds;
    it->tasks = row->tasks;
    it->rounds = row->count;
    r->has_best = true;
}

bool od_iteration_recall(od_engine *engine, const od_pattern *pattern, bool first, const od_settings *given,
                         od_iteration *it)
{
    od_recalled_graph graph = {pattern->shape_first, first};
    struct recalled r = {.it = it, .given = given};
    *it = (od_iteration){.first = pattern->first, .beginning = pattern->shape_first};
    od_engine_recall(engine, &graph, found, &r);
    if (!r.has_best && !r.has_untried)
        return false;
    if (!r.has_best)
        it->best = r.untried;
    else if (r.has_untried)
        it->next = r.untried;
    it->proposed = r.has_best && r.has_untried;
    it->plain = it->best;
    return true;
}

static void keep(const od_engine *engine, const od_recalled_graph *graph, const od_candidate *c, uint64_t tasks,
                 uint64_t count, double seconds)
{
    char line[256];
    if (od_candidate_write(c, line, sizeof line))
        od_engine_keep_row(engine, graph, &(od_recalled_row){line, tasks, count, seconds});
}

void od_iteration_keep(const od_engine *engine, const od_iteration *it, bool first)
{
    od_recalled_graph graph = {it->beginning, first};
    bool known = it->seconds > 0 && !od_schedule_of(&it->best.settings);
    uint64_t rounds = it->rounds ? it->rounds : 1;
    keep(engine, &graph, known ? &it->best : &it->plain, it->tasks, known ? rounds : 0, known ? it->seconds : 0);
    if (it->proposed && known)
        keep(engine, &graph, &it->next, it->tasks, 0, 0);
    od_engine_keep_row(engine, &graph, &(od_recalled_row){played, it->tasks, it->position, 0});
    for (unsigned i = 0; i < it->nrefuted; i++)
        keep(engine, &graph, &it->refuted[i].settings, it->tasks, it->refuted[i].rounds, it->refuted[i].seconds);
}
