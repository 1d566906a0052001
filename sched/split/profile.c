/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See profile.h. */
#include "sched/split/profile.h"

#include "util/container/heap.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

static bool dominates(const od_split_profile *a, const od_split_profile *b)
{
    return a->makespan_s <= b->makespan_s && a->device_s <= b->device_s && a->cores <= b->cores;
}

void od_split_profiles_add(od_split_profiles *p, od_split_profile profile)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < p->count; i++)
        if (dominates(&p->item[i], &profile))
            return;
    for (unsigned i = 0; i < p->count; i++)
        if (!dominates(&profile, &p->item[i]))
            p->item[kept++] = p->item[i];
    p->count = kept;
    if (p->count < OD_SPLIT_PROFILES)
        p->item[p->count++] = profile;
}

/* --- a list schedule ----------------------------------------------------------------- */

enum { DEVICE, CORES, UNITS };

/* The work of one placement; arrays by task. */
typedef struct schedule {
    const od_split_graph *g;
    const double *seconds[UNITS]; /* by kind */
    uint32_t on_device;           /* bit t: kind t */
    unsigned cores;
    double *level;                 /* the longest path from its beginning */
    double *end;                   /* seconds */
    uint32_t *missing;             /* predecessors that have not ended */
    uint32_t *first_after, *after; /* successors */
    od_heap ready[UNITS], running;
} schedule;

static int unit_of(const schedule *s, uint32_t task)
{
    return s->on_device >> s->g->kind[task] & 1 ? DEVICE : CORES;
}

static double seconds_of(const schedule *s, uint32_t task)
{
    return s->seconds[unit_of(s, task)][s->g->kind[task]];
}

static bool is_more_urgent(const void *owner, uint32_t a, uint32_t b)
{
    const schedule *s = owner;
    return s->level[a] > s->level[b] || (s->level[a] >= s->level[b] && a < b);
}

static bool ends_before(const void *owner, uint32_t a, uint32_t b)
{
    const schedule *s = owner;
    return s->end[a] < s->end[b] || (s->end[a] <= s->end[b] && a < b);
}

static void find_levels(schedule *s)
{
    const od_split_graph *g = s->g;
    for (uint32_t t = 0; t < g->ntasks; t++)
        s->level[t] = 0;
    for (uint32_t t = g->ntasks; t-- > 0;) {
        s->level[t] += seconds_of(s, t);
        for (uint32_t i = g->first_before[t]; i < g->first_before[t + 1]; i++)
            s->level[g->before[i]] = fmax(s->level[g->before[i]], s->level[t]);
    }
}

static void link_successors(schedule *s)
{
    const od_split_graph *g = s->g;
    uint32_t edges = g->first_before[g->ntasks];
    for (uint32_t i = 0; i < edges; i++)
        s->first_after[g->before[i] + 2]++;
    for (uint32_t t = 0; t < g->ntasks; t++)
        s->first_after[t + 2] += s->first_after[t + 1];
    for (uint32_t t = 0; t < g->ntasks; t++)
        for (uint32_t i = g->first_before[t]; i < g->first_before[t + 1]; i++)
            s->after[s->first_after[g->before[i] + 1]++] = t;
}

static void start_ready(schedule *s, double now, unsigned *idle)
{
    for (int u = 0; u < UNITS; u++)
        while (idle[u] && s->ready[u].count) {
            uint32_t t = od_heap_first(&s->ready[u]);
            od_heap_remove(&s->ready[u], t);
            s->end[t] = now + seconds_of(s, t);
            od_heap_push(&s->running, t);
            idle[u]--;
        }
}

static od_split_profile play(schedule *s)
{
    const od_split_graph *g = s->g;
    unsigned idle[UNITS] = {1, s->cores};
    double now = 0, busy[UNITS] = {0};
    find_levels(s);
    for (uint32_t t = 0; t < g->ntasks; t++) {
        busy[unit_of(s, t)] += seconds_of(s, t);
        if ((s->missing[t] = g->first_before[t + 1] - g->first_before[t]) == 0)
            od_heap_push(&s->ready[unit_of(s, t)], t);
    }
    for (start_ready(s, now, idle); s->running.count; start_ready(s, now, idle)) {
        uint32_t t = od_heap_first(&s->running);
        od_heap_remove(&s->running, t);
        now = s->end[t];
        idle[unit_of(s, t)]++;
        for (uint32_t i = s->first_after[t]; i < s->first_after[t + 1]; i++)
            if (--s->missing[s->after[i]] == 0)
                od_heap_push(&s->ready[unit_of(s, s->after[i])], s->after[i]);
    }
    return (od_split_profile){.makespan_s = now, .device_s = busy[DEVICE], .cores = now > 0 ? busy[CORES] / now : 0};
}

static bool allocate(schedule *s)
{
    uint32_t n = s->g->ntasks;
    s->level = od_malloc(n * sizeof *s->level);
    s->end = od_malloc(n * sizeof *s->end);
    s->missing = od_malloc(n * sizeof *s->missing);
    s->first_after = od_calloc(n + (size_t)2, sizeof *s->first_after);
    s->after = od_malloc((s->g->first_before[n] + (size_t)1) * sizeof *s->after);
    od_heap_init(&s->ready[DEVICE], is_more_urgent, s);
    od_heap_init(&s->ready[CORES], is_more_urgent, s);
    od_heap_init(&s->running, ends_before, s);
    return s->level && s->end && s->missing && s->first_after && s->after && !od_heap_reserve(&s->ready[DEVICE], n) &&
           !od_heap_reserve(&s->ready[CORES], n) && !od_heap_reserve(&s->running, n);
}

static void release(schedule *s)
{
    free(s->level);
    free(s->end);
    free(s->missing);
    free(s->first_after);
    free(s->after);
    od_heap_free(&s->ready[DEVICE]);
    od_heap_free(&s->ready[CORES]);
    od_heap_free(&s->running);
}

/* --- all placements --------------------------------------------------------------------- */

/* Kinds in the graph, and those of them that both units, or only devices, can run. */
static bool look_at_kinds(const schedule *s, uint32_t *present, uint32_t *either)
{
    *present = *either = 0;
    for (uint32_t t = 0; t < s->g->ntasks; t++)
        *present |= UINT32_C(1) << s->g->kind[t];
    for (unsigned t = 0; t < OD_SPLIT_KINDS; t++) {
        if (!(*present >> t & 1))
            continue;
        if (s->seconds[DEVICE][t] <= 0)
            return false;
        *either |= s->seconds[CORES][t] > 0 ? UINT32_C(1) << t : 0;
    }
    return true;
}

static od_status play_all(const od_split_view *view, const od_split_graph *g, unsigned to, od_split_profiles *profiles)
{
    double device[OD_SPLIT_KINDS], core[OD_SPLIT_KINDS];
    for (unsigned t = 0; t < OD_SPLIT_KINDS; t++) {
        device[t] = view->kind[t].device_s[to];
        core[t] = view->kind[t].host_s[to];
    }
    schedule s = {.g = g, .seconds = {device, core}};
    uint32_t present, either;
    if (!look_at_kinds(&s, &present, &either))
        return OD_OK;
    od_status status = allocate(&s) ? OD_OK : OD_ENOMEM;
    if (!status)
        link_successors(&s);
    for (uint32_t on_cores = view->cpus ? either : 0; !status; on_cores = (on_cores - 1) & either) { /* all subsets */
        s.on_device = present & ~on_cores;
        unsigned most = on_cores ? view->cpus : 1;
        for (s.cores = 1;; s.cores = s.cores * 2 < most ? s.cores * 2 : most) {
            od_split_profile profile = play(&s);
            profile.plan = (od_split_plan){(uint8_t)to, on_cores};
            od_split_profiles_add(profiles, profile);
            if (s.cores == most)
                break;
        }
        if (!on_cores)
            break;
    }
    release(&s);
    return status;
}

od_status od_split_profiles_make(const od_split_view *view, unsigned kind, unsigned level, od_split_profiles *profiles)
{
    od_status status = OD_OK;
    profiles->count = 0;
    for (unsigned to = level + 1; !status && view->graph && to < view->nlevels; to++) {
        const od_split_graph *g = view->graph(view->driver, kind, level, to);
        if (g)
            status = play_all(view, g, to, profiles);
    }
    return status;
}
