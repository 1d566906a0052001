/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A problem as the candidates need it: its graph, its roles, and what is left of it; see impl.h. */
#include "sched/phase/impl.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double od_phase_total_seconds(const od_phase_problem *p)
{
    double total = 0;
    for (uint32_t t = 0; t < p->ntasks; t++)
        total += p->seconds[t];
    return total;
}

/* --- the graph --------------------------------------------------------------------- */

static bool count_users(od_phase_graph *g)
{
    const od_phase_problem *p = g->p;
    uint32_t nuses = p->first_use[p->ntasks];
    g->first_user = od_calloc(p->nitems + (size_t)1, sizeof *g->first_user);
    if (!g->first_user)
        return false;
    for (uint32_t u = 0; u < nuses; u++)
        g->first_user[p->use[u] + 1]++;
    for (uint32_t i = 1; i < p->nitems + 1; i++)
        g->first_user[i] += g->first_user[i - 1];
    return true;
}

static bool measure_graph(od_phase_graph *g)
{
    const od_phase_problem *p = g->p;
    g->indegree = od_calloc(p->ntasks + (size_t)1, sizeof *g->indegree);
    g->level = od_malloc((p->ntasks + (size_t)1) * sizeof *g->level);
    g->root = od_malloc((p->ntasks + (size_t)1) * sizeof *g->root);
    if (!g->indegree || !g->level || !g->root)
        return false;
    for (uint32_t t = p->ntasks; t-- > 0;) {
        double below = 0;
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++) {
            g->indegree[p->successor[s]]++;
            below = fmax(below, g->level[p->successor[s]]);
        }
        g->level[t] = p->seconds[t] + below;
    }
    g->nroots = 0;
    for (uint32_t t = 0; t < p->ntasks; t++)
        if (!g->indegree[t])
            g->root[g->nroots++] = t;
    return true;
}

bool od_phase_make_graph(od_phase_graph *g)
{
    return count_users(g) && measure_graph(g);
}

bool od_phase_list_users(od_phase_graph *g)
{
    const od_phase_problem *p = g->p;
    uint32_t *end = od_malloc((p->nitems + (size_t)1) * sizeof *end);
    g->user = od_malloc((p->first_use[p->ntasks] + (size_t)1) * sizeof *g->user);
    if (end && g->user) {
        memcpy(end, g->first_user, p->nitems * sizeof *end);
        for (uint32_t t = 0; t < p->ntasks; t++)
            for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++)
                g->user[end[p->use[u]]++] = t;
    }
    bool ok = end && g->user;
    free(end);
    return ok;
}

void od_phase_free_graph(od_phase_graph *g)
{
    free(g->first_user);
    free(g->user);
    free(g->indegree);
    free(g->root);
    free(g->level);
}

/* --- roles --------------------------------------------------------------------------- */

static int most_seconds_first(const void *a, const void *b)
{
    const od_phase_role *x = a, *y = b;
    int order = (x->seconds < y->seconds) - (x->seconds > y->seconds);
    return order ? order : (x->role > y->role) - (x->role < y->role);
}

unsigned od_phase_list_roles(const od_phase_problem *p, od_phase_role *roles)
{
    enum { ALL = OD_PHASE_KINDS * OD_PHASE_POSITIONS };
    double seconds[ALL] = {0};
    od_phase_role all[ALL];
    unsigned count = 0, n = 0;
    bool any_writes = false;
    for (uint32_t t = 0; t < p->ntasks; t++) {
        for (uint32_t i = 0; i < OD_PHASE_POSITIONS && p->first_use[t] + i < p->first_use[t + 1]; i++) {
            any_writes |= p->writes[p->first_use[t] + i];
            seconds[p->kind[t] * OD_PHASE_POSITIONS + i] += p->seconds[t];
        }
    }
    for (unsigned i = 0; i < p->nkinds * OD_PHASE_POSITIONS; i++)
        if (seconds[i] > 0)
            all[count++] = (od_phase_role){(int)i, seconds[i]};
    qsort(all, count, sizeof *all, most_seconds_first);
    if (any_writes)
        roles[n++].role = OD_PHASE_WRITTEN;
    if (p->nkinds > 1) { /* else positions of the kind */
        roles[n++].role = OD_PHASE_LAST;
        roles[n++].role = OD_PHASE_FIRST;
    }
    for (unsigned i = 0; i < count && n < OD_PHASE_ROLES; i++)
        roles[n++] = all[i];
    return n;
}

unsigned od_phase_usual_roles(const od_phase_problem *p, int given, od_phase_role *roles)
{
    bool writes = false;
    unsigned n = 0;
    for (uint32_t u = 0; u < p->first_use[p->ntasks]; u++)
        writes |= p->writes[u];
    roles[n++].role = writes ? OD_PHASE_WRITTEN : OD_PHASE_LAST;
    if (!writes)
        roles[n++].role = OD_PHASE_FIRST;
    if (given != OD_PHASE_NOTHING)
        roles[n++].role = given;
    return n;
}

uint32_t od_phase_item_of(const od_phase_problem *p, uint32_t task, int role)
{
    uint32_t first = p->first_use[task], end = p->first_use[task + 1];
    if (first == end)
        return OD_NO_ITEM;
    if (role == OD_PHASE_FIRST)
        return p->use[first];
    if (role == OD_PHASE_LAST)
        return p->use[end - 1];
    if (role == OD_PHASE_WRITTEN) {
        while (end > first && !p->writes[end - 1])
            end--;
        return end > first ? p->use[end - 1] : OD_NO_ITEM;
    }
    uint32_t position = (uint32_t)role % OD_PHASE_POSITIONS;
    return (int)p->kind[task] == role / OD_PHASE_POSITIONS && position < end - first ? p->use[first + position]
                                                                                     : OD_NO_ITEM;
}

static bool are_same(const od_phase_problem *p, int a, int b)
{
    uint32_t t = 0;
    while (t < p->ntasks && od_phase_item_of(p, t, a) == od_phase_item_of(p, t, b))
        t++;
    return t == p->ntasks;
}

unsigned od_phase_drop_same_roles(const od_phase_problem *p, od_phase_role *roles, unsigned n)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned j = 0;
        while (j < kept && !are_same(p, roles[j].role, roles[i].role))
            j++;
        if (j == kept)
            roles[kept++] = roles[i];
    }
    return kept;
}

/* --- what is left ----------------------------------------------------------------------- */

bool od_phase_make_rest(od_phase_rest *r, const od_phase_problem *whole, const bool *gone)
{
    uint32_t nt = whole->ntasks + 1, nu = whole->first_use[whole->ntasks] + 1;
    uint32_t ns = whole->first_successor[whole->ntasks] + 1, uses = 0, edges = 0;
    *r = (od_phase_rest){.p = *whole,
                         .seconds = od_malloc(nt * sizeof *r->seconds),
                         .kind = od_malloc(nt * sizeof *r->kind),
                         .first_use = od_malloc((nt + 1) * sizeof *r->first_use),
                         .use = od_malloc(nu * sizeof *r->use),
                         .first_successor = od_malloc((nt + 1) * sizeof *r->first_successor),
                         .successor = od_malloc(ns * sizeof *r->successor),
                         .number = od_malloc(nt * sizeof *r->number),
                         .writes = od_malloc(nu),
                         .origin = od_malloc(nt * sizeof *r->origin)};
    if (!r->seconds || !r->kind || !r->first_use || !r->use || !r->first_successor || !r->successor || !r->number ||
        !r->writes || !r->origin)
        return false;
    r->p.ntasks = 0;
    for (uint32_t t = 0; t < whole->ntasks; t++) {
        if (gone[t])
            continue;
        uint32_t at = r->p.ntasks++;
        r->number[t] = at;
        r->origin[at] = t;
        r->seconds[at] = whole->seconds[t];
        r->kind[at] = whole->kind[t];
        r->first_use[at] = uses;
        for (uint32_t u = whole->first_use[t]; u < whole->first_use[t + 1]; u++, uses++) {
            r->use[uses] = whole->use[u];
            r->writes[uses] = whole->writes[u];
        }
    }
    r->first_use[r->p.ntasks] = uses;
    for (uint32_t at = 0; at < r->p.ntasks; at++) {
        uint32_t t = r->origin[at];
        r->first_successor[at] = edges;
        for (uint32_t s = whole->first_successor[t]; s < whole->first_successor[t + 1]; s++)
            if (!gone[whole->successor[s]])
                r->successor[edges++] = r->number[whole->successor[s]];
    }
    r->first_successor[r->p.ntasks] = edges;
    r->p.seconds = r->seconds;
    r->p.kind = r->kind;
    r->p.first_use = r->first_use;
    r->p.use = r->use;
    r->p.writes = r->writes;
    r->p.first_successor = r->first_successor;
    r->p.successor = r->successor;
    return true;
}

void od_phase_free_rest(od_phase_rest *r)
{
    free(r->seconds);
    free(r->kind);
    free(r->first_use);
    free(r->use);
    free(r->first_successor);
    free(r->successor);
    free(r->number);
    free(r->writes);
    free(r->origin);
}
