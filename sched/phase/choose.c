/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which tasks a candidate has; see impl.h. */
#include "sched/phase/impl.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

bool od_phase_make_choice(const od_phase_problem *p, od_phase_choice *c)
{
    uint32_t nt = p->ntasks + 1, ni = p->nitems + 1;
    *c = (od_phase_choice){.task = od_malloc(nt * sizeof *c->task),
                           .chosen = od_calloc(nt, 1),
                           .held = od_malloc(ni),
                           .partner = od_malloc(ni),
                           .used = od_malloc(ni),
                           .written = od_malloc(ni),
                           .unsat = od_calloc(nt, sizeof *c->unsat)};
    return c->task && c->chosen && c->held && c->partner && c->used && c->written && c->unsat;
}

void od_phase_free_choice(od_phase_choice *c)
{
    free(c->task);
    free(c->chosen);
    free(c->held);
    free(c->partner);
    free(c->used);
    free(c->written);
    free(c->unsat);
}

static void clear(const od_phase_problem *p, od_phase_choice *c)
{
    for (uint32_t i = 0; i < c->ntasks; i++)
        c->chosen[c->task[i]] = false;
    memset(c->held, 0, p->nitems + 1);
    memset(c->partner, 0, p->nitems + 1);
    memset(c->used, 0, p->nitems + 1);
    memset(c->written, 0, p->nitems + 1);
    c->ntasks = 0;
    c->seconds = c->transfers = 0;
}

static bool is_covered(const od_phase_problem *p, const od_phase_choice *c, uint32_t task)
{
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (!c->held[p->use[u]] && !c->partner[p->use[u]])
            return false;
    return true;
}

/* Adds the task, and to what is needed at least. */
static void add(const od_phase_problem *p, od_phase_choice *c, uint32_t task)
{
    c->task[c->ntasks++] = task;
    c->chosen[task] = true;
    c->seconds += p->seconds[task];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        if (!c->used[item])
            c->transfers += od_phase_cost(p, item);
        if (p->writes[u] && !c->written[item])
            c->transfers += p->load[item];
        c->used[item] = true;
        c->written[item] |= p->writes[u];
    }
    for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++)
        c->unsat[p->successor[s]]--;
}

void od_phase_choose(const od_phase_graph *g, const od_phase_growth *growth, uint32_t n, od_phase_choice *c)
{
    const od_phase_problem *p = g->p;
    uint32_t ntasks = growth->task ? growth->ntasks : p->ntasks;
    clear(p, c);
    for (uint32_t i = 0; i < n; i++)
        c->held[growth->item[i]] = true;
    for (uint32_t i = 0; i < ntasks; i++) {
        uint32_t t = growth->task ? growth->task[i] : i;
        bool joined = growth->joined[t] > 0 && growth->joined[t] <= n;
        c->unsat[t] = g->indegree[t];
        for (uint32_t u = p->first_use[t]; joined && u < p->first_use[t + 1]; u++)
            c->partner[p->use[u]] = true;
    }
    for (uint32_t i = 0; i < ntasks; i++) {
        uint32_t t = growth->task ? growth->task[i] : i;
        bool joined = growth->joined[t] > 0 && growth->joined[t] <= n;
        if (joined || (!c->unsat[t] && is_covered(p, c, t)))
            add(p, c, t);
    }
}

void od_phase_choose_all(const od_phase_problem *p, od_phase_choice *c)
{
    clear(p, c);
    for (uint32_t t = 0; t < p->ntasks; t++)
        add(p, c, t);
}

uint64_t od_phase_hash_choice(const od_phase_problem *p, const od_phase_choice *c)
{
    uint64_t hash = c->ntasks;
    for (uint32_t i = 0; i < c->ntasks; i++)
        hash = (hash ^ hash >> 32 ^ c->task[i]) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < p->nitems; i++)
        if (c->held[i])
            hash = (hash ^ hash >> 32 ^ i) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash;
}

/* Puts the tasks of H, and all others that use nothing beyond what these use, into c->task, in no order. */
static void find_all(const od_phase_graph *g, const od_phase_growth *growth, od_phase_choice *c)
{
    const od_phase_problem *p = g->p;
    clear(p, c);
    for (uint32_t i = 0; i < growth->nitems; i++)
        c->held[growth->item[i]] = true;
    for (uint32_t i = 0; i < growth->nmembers; i++)
        for (uint32_t u = p->first_use[growth->member[i]]; u < p->first_use[growth->member[i] + 1]; u++)
            c->partner[p->use[u]] = true;
    memcpy(c->unsat, g->indegree, p->ntasks * sizeof *c->unsat);
    memcpy(c->task, growth->member, growth->nmembers * sizeof *c->task);
    c->ntasks = growth->nmembers;
    for (uint32_t i = 0; i < g->nroots; i++)
        if (!growth->joined[g->root[i]] && is_covered(p, c, g->root[i]))
            c->task[c->ntasks++] = g->root[i];
    for (uint32_t i = 0; i < c->ntasks; i++) {
        uint32_t t = c->task[i];
        c->chosen[t] = true;
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++) {
            uint32_t after = p->successor[s];
            if (--c->unsat[after] == 0 && !growth->joined[after] && is_covered(p, c, after))
                c->task[c->ntasks++] = after;
        }
    }
}

/* What a beginning of H covers all of it covers. */
void od_phase_look_around(const od_phase_graph *g, od_phase_growth *growth, od_phase_choice *c)
{
    free(growth->task);
    find_all(g, growth, c);
    growth->ntasks = 0;
    growth->possible = 0;
    growth->task = od_malloc((c->ntasks + (size_t)1) * sizeof *growth->task);
    const bool *end = c->chosen + g->p->ntasks;
    for (const bool *at = c->chosen; growth->task && (at = memchr(at, true, (size_t)(end - at))); at++) {
        growth->task[growth->ntasks++] = (uint32_t)(at - c->chosen);
        growth->possible += g->p->seconds[at - c->chosen];
    }
}
