/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The candidates for what one device does next, and the best of them; see hold.h. */
#include "sched/order/hold_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROLES = 24 };

struct plan {
    od_hold_graph g;
    od_hold_growth growth;
    bool *chosen, *held, *partner;
    uint32_t *unsat;
    od_hold_result best, tried;
};

/* --- the graph --------------------------------------------------------------------- */

static bool list_users(od_hold_graph *g)
{
    const od_hold_problem *p = g->p;
    uint32_t nuses = p->first_use[p->ntasks];
    g->first_user = calloc(p->nitems + 2, sizeof *g->first_user);
    g->user = malloc((nuses + 1) * sizeof *g->user);
    if (!g->first_user || !g->user)
        return false;
    for (uint32_t u = 0; u < nuses; u++)
        g->first_user[p->use[u] + 2]++;
    for (uint32_t i = 2; i < p->nitems + 2; i++)
        g->first_user[i] += g->first_user[i - 1];
    for (uint32_t t = 0; t < p->ntasks; t++)
        for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++)
            g->user[g->first_user[p->use[u] + 1]++] = t;
    return true;
}

static bool measure_graph(od_hold_graph *g)
{
    const od_hold_problem *p = g->p;
    g->indegree = calloc(p->ntasks + 1, sizeof *g->indegree);
    g->level = malloc((p->ntasks + 1) * sizeof *g->level);
    if (!g->indegree || !g->level)
        return false;
    for (uint32_t t = p->ntasks; t-- > 0;) {
        double below = 0;
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++) {
            g->indegree[p->successor[s]]++;
            below = fmax(below, g->level[p->successor[s]]);
        }
        g->level[t] = p->seconds[t] + below;
    }
    return true;
}

/* --- roles --------------------------------------------------------------------------- */

struct role {
    int role;
    double seconds; /* of the tasks that have it */
};

static int most_seconds_first(const void *a, const void *b)
{
    const struct role *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Argument positions of kinds, those with most work first, and those common to all kinds. Returns how many. */
static unsigned list_roles(const od_hold_problem *p, struct role *roles)
{
    enum { MOST_KINDS = 64, POSITIONS = 16 };
    double seconds[MOST_KINDS * POSITIONS] = {0};
    struct role all[MOST_KINDS * POSITIONS];
    unsigned count = 0, n = 0;
    bool any_writes = false;
    for (uint32_t t = 0; t < p->ntasks; t++) {
        for (uint32_t i = 0; i < POSITIONS && p->first_use[t] + i < p->first_use[t + 1]; i++) {
            any_writes |= p->writes[p->first_use[t] + i];
            if (p->kind[t] < MOST_KINDS)
                seconds[p->kind[t] * POSITIONS + i] += p->seconds[t];
        }
    }
    for (unsigned i = 0; i < MOST_KINDS * POSITIONS; i++)
        if (seconds[i] > 0)
            all[count++] = (struct role){(int)i, seconds[i]};
    qsort(all, count, sizeof *all, most_seconds_first);
    if (any_writes)
        roles[n++].role = OD_HOLD_WRITTEN;
    roles[n++].role = OD_HOLD_LAST;
    roles[n++].role = OD_HOLD_FIRST;
    for (unsigned i = 0; i < count && n < MOST_ROLES; i++)
        roles[n++] = all[i];
    return n;
}

/* --- candidates ------------------------------------------------------------------------ */

static bool is_covered(const struct plan *w, uint32_t task)
{
    const od_hold_problem *p = w->g.p;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (!w->held[p->use[u]] && !w->partner[p->use[u]])
            return false;
    return true;
}

/* The tasks of the first `n` items that were grown, and all others that use nothing beyond what these use. */
static void choose(struct plan *w, uint32_t n)
{
    const od_hold_problem *p = w->g.p;
    memset(w->held, 0, p->nitems + 1);
    memset(w->partner, 0, p->nitems + 1);
    for (uint32_t i = 0; i < n; i++)
        w->held[w->growth.item[i]] = true;
    memcpy(w->unsat, w->g.indegree, (p->ntasks + 1) * sizeof *w->unsat);
    for (uint32_t t = 0; t < p->ntasks; t++) {
        w->chosen[t] = w->growth.joined[t] > 0 && w->growth.joined[t] <= n;
        for (uint32_t u = p->first_use[t]; w->chosen[t] && u < p->first_use[t + 1]; u++)
            w->partner[p->use[u]] = true;
    }
    for (uint32_t t = 0; t < p->ntasks; t++) {
        w->chosen[t] = w->chosen[t] || (!w->unsat[t] && is_covered(w, t));
        for (uint32_t s = p->first_successor[t]; w->chosen[t] && s < p->first_successor[t + 1]; s++)
            w->unsat[p->successor[s]]--;
    }
}

static double worth(const od_hold_result *result)
{
    if (result->ntasks == 0)
        return -1;
    return result->loads > 0 ? result->seconds / result->loads : (double)INFINITY;
}

static od_status try_candidate(struct plan *w, int role)
{
    od_status status = od_hold_stream(&w->g, w->chosen, w->held, &w->tried);
    if (status || worth(&w->tried) <= worth(&w->best))
        return status;
    od_hold_result kept = w->best;
    w->best = w->tried;
    w->best.role = role;
    w->tried = kept;
    return OD_OK;
}

/* Of the beginnings of H that take so many bytes at most the best one, at least half as large as the largest. */
static uint32_t items_within(const od_hold_growth *growth, double bytes)
{
    uint32_t n = growth->nitems;
    while (n > 1 && growth->bytes[n - 1] > bytes)
        n--;
    uint32_t best = n;
    for (uint32_t i = n; i > 1 && growth->bytes[i - 1] >= bytes / 2; i--)
        if (growth->seconds[i - 1] * growth->loads[best - 1] > growth->seconds[best - 1] * growth->loads[i - 1])
            best = i;
    return best;
}

static od_status try_role(struct plan *w, int role)
{
    static const double slacks[] = {0.04, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5};
    const od_hold_problem *p = w->g.p;
    uint32_t last = 0;
    od_status status = od_hold_grow(&w->g, role, p->memory * (1 - slacks[0]), &w->growth);
    for (size_t i = 0; !status && w->growth.nitems && i < sizeof slacks / sizeof *slacks; i++) {
        uint32_t n = items_within(&w->growth, p->memory * (1 - slacks[i]));
        if (n == last)
            continue;
        last = n;
        choose(w, n);
        status = try_candidate(w, role);
    }
    return status;
}

static od_status try_nothing(struct plan *w)
{
    const od_hold_problem *p = w->g.p;
    memset(w->held, 0, p->nitems + 1);
    memset(w->chosen, 1, p->ntasks + 1);
    return try_candidate(w, OD_HOLD_NOTHING);
}

static od_status try_all(struct plan *w)
{
    struct role roles[MOST_ROLES + 4];
    unsigned n = list_roles(w->g.p, roles);
    od_status status = OD_OK;
    for (unsigned i = 0; !status && i < n; i++)
        status = try_role(w, roles[i].role);
    if (!status && w->best.ntasks == 0)
        status = try_nothing(w);
    return status;
}

static bool allocate(struct plan *w)
{
    const od_hold_problem *p = w->g.p;
    uint32_t nt = p->ntasks + 1, ni = p->nitems + 1;
    w->growth.item = malloc(ni * sizeof *w->growth.item);
    w->growth.bytes = malloc(ni * sizeof *w->growth.bytes);
    w->growth.seconds = malloc(ni * sizeof *w->growth.seconds);
    w->growth.loads = malloc(ni * sizeof *w->growth.loads);
    w->growth.joined = malloc(nt * sizeof *w->growth.joined);
    w->chosen = malloc(nt);
    w->unsat = malloc(nt * sizeof *w->unsat);
    w->held = malloc(ni);
    w->partner = malloc(ni);
    w->best.order = malloc(nt * sizeof *w->best.order);
    w->tried.order = malloc(nt * sizeof *w->tried.order);
    return w->growth.item && w->growth.bytes && w->growth.seconds && w->growth.loads && w->growth.joined &&
           w->chosen && w->unsat && w->held && w->partner && w->best.order && w->tried.order &&
           list_users(&w->g) && measure_graph(&w->g);
}

static void release(struct plan *w)
{
    free(w->g.first_user);
    free(w->g.user);
    free(w->g.indegree);
    free(w->g.level);
    free(w->growth.item);
    free(w->growth.bytes);
    free(w->growth.seconds);
    free(w->growth.loads);
    free(w->growth.joined);
    free(w->chosen);
    free(w->unsat);
    free(w->held);
    free(w->partner);
    free(w->best.order);
    free(w->tried.order);
}

od_status od_hold_plan(const od_hold_problem *problem, od_hold_result *result)
{
    struct plan w = {.g = {.p = problem}};
    od_status status = allocate(&w) ? try_all(&w) : OD_ENOMEM;
    if (!status) {
        uint32_t *order = result->order;
        memcpy(order, w.best.order, w.best.ntasks * sizeof *order);
        *result = w.best;
        result->order = order;
    }
    release(&w);
    return status;
}
