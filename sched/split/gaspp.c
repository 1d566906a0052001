/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * gaspp: greedy, with splitting profiles (Morin et al., Scheduling recursive tasks, "Mid results: more greedy
 * approach").
 *
 * The driver asks for the least accelerated task first, of equals for the least urgent. It is split where a profile
 * fits the idle cores, ends before the task would on a device, and takes work off devices: the one that takes most. If
 * none does, and devices want work, the driver asks for the most accelerated task, which runs as it is. The cores of a
 * profile count as in use for as long as it takes, and what the task becomes runs where the profile says.
 */
#include "sched/split/gaspp.h"

#include "util/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESERVED = 64 };

typedef struct reserved {
    double until, cores;
} reserved;

struct od_gaspp {
    const od_split_view *view;
    od_split_profiles *profiles[OD_SPLIT_KINDS][OD_SPLIT_LEVELS]; /* NULL: not made yet */
    reserved reserved[RESERVED];
    unsigned nreserved;
};

od_gaspp *od_gaspp_create(const od_split_view *view)
{
    od_gaspp *g = od_calloc(1, sizeof *g);
    if (g)
        g->view = view;
    return g;
}

void od_gaspp_destroy(od_gaspp *g)
{
    for (unsigned t = 0; g && t < OD_SPLIT_KINDS; t++)
        for (unsigned l = 0; l < OD_SPLIT_LEVELS; l++)
            free(g->profiles[t][l]);
    free(g);
}

const od_split_profile *od_gaspp_best(const od_split_profiles *profiles, double cores, double limit_s, double device_s)
{
    const od_split_profile *best = NULL;
    for (unsigned i = 0; i < profiles->count; i++) {
        const od_split_profile *p = &profiles->item[i];
        if (p->cores > cores || p->makespan_s >= limit_s || p->device_s >= device_s)
            continue;
        if (!best || p->device_s < best->device_s ||
            (p->device_s <= best->device_s && p->makespan_s < best->makespan_s))
            best = p;
    }
    return best;
}

/* NULL: out of memory. */
static const od_split_profiles *profiles_of(od_gaspp *g, const od_split_task *task)
{
    od_split_profiles **p = &g->profiles[task->kind][task->level];
    if (*p && (*p)->count)
        return *p;
    if (!*p) /* nothing may have been known of it so far */
        *p = od_malloc(sizeof **p);
    if (*p && od_split_profiles_make(g->view, task->kind, task->level, *p)) {
        free(*p);
        *p = NULL;
    }
    return *p;
}

static double idle_cores(od_gaspp *g)
{
    double taken = 0;
    unsigned kept = 0;
    for (unsigned i = 0; i < g->nreserved; i++)
        if (g->reserved[i].until > g->view->now) {
            g->reserved[kept++] = g->reserved[i];
            taken += g->reserved[i].cores;
        }
    g->nreserved = kept;
    return fmin(g->view->cpus - taken, g->view->idle_cpus);
}

od_split_answer od_gaspp_decide(od_gaspp *g, od_split_task *task)
{
    const od_split_view *v = g->view;
    const od_split_profiles *profiles = profiles_of(g, task);
    double device = v->kind[task->kind].device_s[task->level];
    double limit = v->ndevices ? device + task->ahead_s / v->ndevices : (double)INFINITY;
    const od_split_profile *best =
        profiles && g->nreserved < RESERVED ? od_gaspp_best(profiles, idle_cores(g), limit, device) : NULL;
    if (!best)
        return v->wants_work ? OD_SPLIT_RUN : OD_SPLIT_LATER;
    g->reserved[g->nreserved++] = (reserved){v->now + best->makespan_s, best->cores};
    task->plan = best->plan;
    return OD_SPLIT_SPLIT;
}

/* --- the rule ------------------------------------------------------------------------- */

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level;
    *state = od_gaspp_create(view);
    if (*state)
        return OD_OK;
    snprintf(error, size, "out of memory");
    return OD_ENOMEM;
}

static void destroy(void *state)
{
    od_gaspp_destroy(state);
}

static bool holds(void *state)
{
    (void)state;
    return true;
}

static od_split_answer decide(void *state, od_split_task *task)
{
    return od_gaspp_decide(state, task);
}

static const od_split_ops gaspp = {.interface_version = OD_SPLIT_INTERFACE,
                                   .name = "gaspp",
                                   .description = "the least accelerated, as far as idle cores take work off devices",
                                   .create = create,
                                   .destroy = destroy,
                                   .holds = holds,
                                   .decide = decide};
OD_REGISTER_SPLIT(gaspp);
