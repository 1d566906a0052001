/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* List scheduling on simulated devices; see list.h. */
#include "sched/phase/list.h"

#include "memmgr/data/datum.h"
#include "sched/phase/impl.h"
#include "sched/phase/owners.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct device {
    double free_at;          /* end of the task that it runs, or ran */
    double backlog;          /* seconds of the tasks that it has been given and not begun */
    double bytes;            /* of what is there */
    uint32_t oldest, newest; /* of the items there by their last use, plus one */
    od_heap queue;           /* of tasks, the most urgent first */
    uint32_t *committed;     /* a ring of tasks whose data have been asked for */
    uint32_t first, ncommitted;
    uint32_t running; /* plus one; 0: none */
};

/* What is known of an item on a device. */
struct replica {
    double arrival;        /* when it is there */
    uint32_t older, newer; /* items, plus one */
};

struct list {
    const od_phase_graph *g;
    const od_phase_problem *p; /* of the graph */
    unsigned n;
    uint32_t window; /* tasks whose data are asked for before they run */
    const od_slowness *slowness; /* NULL: all are alike */
    const unsigned *which;
    double share_of_load;
    const double *bus;     /* how many times more what a task takes of the way counts, and lower weights behind it */
    unsigned nsame;        /* so many of those have led to the same choices so far */
    const uint32_t *owner; /* by task: its device, or OD_NO_OWNER; NULL: any */
    struct device *device;
    uint32_t *rings;         /* of all devices */
    double *own;             /* by task: seconds of the way that it was expected to take */
    double *lacking;         /* by device: likewise, of the task that is being placed */
    od_placeset changed;     /* devices that may begin something */
    double *arrival;         /* by task: when its inputs are there */
    uint32_t *unsat;         /* by task */
    od_placeset *there;      /* by item: the devices of which it takes memory */
    od_placeset *asked;      /* by item: it is there, or a task that was placed there will bring it */
    bool *made;              /* by item: it has contents */
    struct replica *replica; /* by item and device */
    double way_free;         /* when all that has been asked for has come */
    double planned_loads;    /* seconds of what placed tasks have yet to ask for */
    double fastest[OD_SPEED_CLASSES]; /* by speed class: the least times that its tasks take on any device */
    double unstarted;                 /* seconds of tasks that no device has begun, each where it is fastest */
    double least;                     /* of these */
    double end;                       /* before that it cannot end */
    double limit;                     /* what takes so many seconds is of no use */
    uint32_t started;
    od_list_plan plan; /* that is made */
};

/* The owner: levels by task. */
static bool is_more_urgent(const void *owner, uint32_t a, uint32_t b)
{
    const double *level = owner;
    return level[a] > level[b] || (level[a] >= level[b] && a < b);
}

/* --- memory: least recently used items leave ------------------------------------------------ */

static struct replica *replica_of(const struct list *w, uint32_t item, unsigned k)
{
    return &w->replica[(size_t)item * w->n + k];
}

static void enlist(struct list *w, uint32_t item, unsigned k)
{
    struct device *d = &w->device[k];
    struct replica *r = replica_of(w, item, k);
    r->older = d->newest;
    r->newer = 0;
    *(d->newest ? &replica_of(w, d->newest - 1, k)->newer : &d->oldest) = item + 1;
    d->newest = item + 1;
    d->bytes += w->p->size[item];
    od_placeset_add(&w->there[item], k);
}

static void unlist(struct list *w, uint32_t item, unsigned k)
{
    struct device *d = &w->device[k];
    struct replica *r = replica_of(w, item, k);
    *(r->older ? &replica_of(w, r->older - 1, k)->newer : &d->oldest) = r->newer;
    *(r->newer ? &replica_of(w, r->newer - 1, k)->older : &d->newest) = r->older;
    d->bytes -= w->p->size[item];
    od_placeset_remove(&w->there[item], k);
}

/* --- placing ---------------------------------------------------------------------------- */

static bool needs_load(const struct list *w, uint32_t item)
{
    return w->made[item] || !w->p->fresh[item];
}

/* Seconds that the way is busy with what the task lacks on each device. */
static void find_lacking(struct list *w, uint32_t task)
{
    const od_phase_problem *p = w->p;
    od_placeset all = od_placeset_below(w->n);
    memset(w->lacking, 0, w->n * sizeof *w->lacking);
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        double seconds = p->load[item] * w->share_of_load;
        if (!needs_load(w, item))
            continue;
        for (od_placeset_walk at = od_placeset_begin(od_placeset_minus(all, w->asked[item])); od_placeset_next(&at);)
            w->lacking[at.place] += seconds;
    }
}

static double seconds_on(const struct list *w, uint32_t task, unsigned k)
{
    double times = w->slowness ? od_slowness_of(w->slowness, od_phase_speed_class(w->p, task), w->which[k]) : 1;
    return w->p->seconds[task] * times;
}

static double fastest_seconds(const struct list *w, uint32_t task)
{
    unsigned class = od_phase_speed_class(w->p, task);
    return w->p->seconds[task] *
           (w->slowness ? w->fastest[class < w->slowness->classes ? class : OD_SPEED_GENERAL] : 1);
}

static double later(double a, double b) /* neither is NaN */
{
    return a > b ? a : b;
}

static double completion(const struct list *w, uint32_t task, unsigned k, double now, double bus)
{
    double computed = later(w->device[k].free_at, now) + w->device[k].backlog, own = w->lacking[k];
    if (own > 0)
        computed = later(computed, later(w->way_free, now) + w->planned_loads + own) + bus * own;
    return computed + seconds_on(w, task, k);
}

static unsigned first_to_complete(const struct list *w, uint32_t task, double now, double bus)
{
    unsigned best = 0;
    double earliest = (double)INFINITY;
    for (unsigned k = 0; k < w->n; k++) {
        double seconds = completion(w, task, k, now, bus);
        if (seconds < earliest) {
            best = k;
            earliest = seconds;
        }
    }
    return best;
}

/* Each device completes at a time that grows with the weight of the bus, in a line: where one is the first for two
 * weights it is for all between them. */
static unsigned choose_place(struct list *w, uint32_t task, double now)
{
    if (w->owner && w->owner[task] != OD_NO_OWNER)
        return w->owner[task];
    unsigned best = first_to_complete(w, task, now, *w->bus);
    while (w->nsame && first_to_complete(w, task, now, w->bus[w->nsame]) != best)
        w->nsame--;
    return best;
}

static void place(struct list *w, uint32_t task, double now)
{
    const od_phase_problem *p = w->p;
    find_lacking(w, task);
    unsigned best = choose_place(w, task, now);
    w->own[task] = w->lacking[best];
    w->planned_loads += w->own[task];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        od_placeset_add(&w->asked[p->use[u]], best);
    w->plan.place[task] = w->which[best];
    w->device[best].backlog += seconds_on(w, task, best);
    od_heap_push(&w->device[best].queue, task);
    od_placeset_add(&w->changed, best);
}

/* --- simulated time ------------------------------------------------------------------------ */

/* The task's inputs come, one after the other. */
static void bring(struct list *w, uint32_t task, unsigned k, double now)
{
    const od_phase_problem *p = w->p;
    w->planned_loads -= w->own[task];
    w->arrival[task] = now;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        struct replica *r = replica_of(w, item, k);
        if (od_placeset_has(w->there[item], k)) {
            unlist(w, item, k);
        } else if (needs_load(w, item)) {
            w->way_free = later(w->way_free, now) + p->load[item] * w->share_of_load;
            r->arrival = w->way_free;
        } else {
            r->arrival = now;
        }
        enlist(w, item, k);
        od_placeset_add(&w->asked[item], k);
        w->arrival[task] = later(w->arrival[task], r->arrival);
    }
    w->end = later(w->end, w->arrival[task] + w->least * w->g->level[task]);
    for (struct device *d = &w->device[k]; d->oldest && d->bytes > p->memory;) {
        uint32_t victim = d->oldest - 1;
        unlist(w, victim, k);
        od_placeset_remove(&w->asked[victim], k);
    }
}

static void advance(struct list *w, unsigned k, double now)
{
    struct device *d = &w->device[k];
    uint32_t window = w->window;
    while (d->ncommitted < window && d->queue.count) {
        uint32_t task = od_heap_first(&d->queue);
        od_heap_remove(&d->queue, task);
        bring(w, task, k, now);
        d->committed[(d->first + d->ncommitted++) % window] = task;
    }
    if (d->running || !d->ncommitted)
        return;
    uint32_t task = d->committed[d->first];
    d->first = (d->first + 1) % window;
    d->ncommitted--;
    d->running = task + 1;
    d->free_at = later(now, w->arrival[task]) + seconds_on(w, task, k);
    w->end = later(w->end, d->free_at + w->least * (w->g->level[task] - w->p->seconds[task]));
    d->backlog -= seconds_on(w, task, k);
    w->unstarted -= fastest_seconds(w, task);
    w->plan.order[w->started++] = task;
}

/* Those that have got a task since, or ended or begun one: with others nothing has become possible. */
static void advance_changed(struct list *w, double now)
{
    od_placeset changed = w->changed;
    w->changed = OD_NO_PLACES;
    for (od_placeset_walk at = od_placeset_begin(changed); od_placeset_next(&at);) {
        const struct device *d = &w->device[at.place];
        advance(w, at.place, now);
        if (d->queue.count && d->ncommitted < w->window) /* one has begun: the next is asked for next time */
            od_placeset_add(&w->changed, at.place);
    }
}

/* What the task has written is there alone; tasks that waited for it become ready. */
static void end_task(struct list *w, unsigned k)
{
    const od_phase_problem *p = w->p;
    uint32_t task = w->device[k].running - 1;
    double now = w->device[k].free_at;
    w->device[k].running = 0;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        if (!p->writes[u])
            continue;
        w->made[item] = true;
        for (od_placeset_walk at = od_placeset_begin(od_placeset_without(w->there[item], k)); od_placeset_next(&at);)
            unlist(w, item, at.place);
        w->asked[item] = od_placeset_intersection(w->asked[item], od_placeset_of(k));
    }
    for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++)
        if (--w->unsat[p->successor[s]] == 0)
            place(w, p->successor[s], now);
    od_placeset_add(&w->changed, k);
    advance_changed(w, now);
}

static int earliest_end(const struct list *w)
{
    int best = -1;
    for (unsigned k = 0; k < w->n; k++)
        if (w->device[k].running && (best < 0 || w->device[k].free_at < w->device[best].free_at))
            best = (int)k;
    return best;
}

/* Even if all devices compute without a break from now on, or no task waits for more than is known. */
static bool is_hopeless(const struct list *w, double now)
{
    static const double rounding = 1 + 1e-9;
    double busy = w->unstarted;
    for (unsigned k = 0; k < w->n; k++)
        busy += w->device[k].running ? w->device[k].free_at : now;
    return busy >= rounding * w->n * w->limit || w->end >= rounding * w->limit;
}

static void find_fastest(struct list *w)
{
    w->least = w->slowness ? (double)INFINITY : 1;
    w->unstarted = 0;
    for (unsigned c = 0; w->slowness && c < w->slowness->classes; c++) {
        w->fastest[c] = (double)INFINITY;
        for (unsigned k = 0; k < w->n; k++)
            w->fastest[c] = fmin(w->fastest[c], od_slowness_of(w->slowness, c, w->which[k]));
        w->least = fmin(w->least, w->fastest[c]);
    }
    for (uint32_t t = 0; t < w->p->ntasks; t++)
        w->unstarted += fastest_seconds(w, t);
}

/* With nothing but what is on the devices already. */
static void begin(struct list *w, const od_placeset *copies)
{
    w->changed = OD_NO_PLACES;
    w->way_free = w->planned_loads = w->end = 0;
    w->started = 0;
    find_fastest(w);
    for (unsigned k = 0; k < w->n; k++) {
        struct device *d = &w->device[k];
        od_heap_clear(&d->queue);
        d->free_at = d->backlog = d->bytes = 0;
        d->oldest = d->newest = d->first = d->ncommitted = d->running = 0;
    }
    for (uint32_t item = 0; item < w->p->nitems; item++) {
        w->made[item] = !od_placeset_is_empty(copies[item]);
        w->there[item] = OD_NO_PLACES;
        for (unsigned k = 0; k < w->n; k++) {
            replica_of(w, item, k)->arrival = 0;
            if (od_placeset_has(copies[item], w->which[k]))
                enlist(w, item, k);
        }
        w->asked[item] = w->there[item];
    }
}

/* Infinite seconds: not before the limit. */
static void simulate(struct list *w)
{
    const od_phase_problem *p = w->p;
    memcpy(w->unsat, w->g->indegree, p->ntasks * sizeof *w->unsat);
    for (uint32_t t = 0; t < p->ntasks; t++)
        if (!w->unsat[t])
            place(w, t, 0);
    advance_changed(w, 0);
    w->plan.seconds = 0;
    for (int k; (k = earliest_end(w)) >= 0;) {
        w->plan.seconds = is_hopeless(w, w->device[k].free_at) ? (double)INFINITY : w->device[k].free_at;
        if (isinf(w->plan.seconds))
            return;
        end_task(w, (unsigned)k);
    }
}

/* --- attempts --------------------------------------------------------------------------- */

static void free_list(struct list *w, unsigned most)
{
    for (unsigned k = 0; w->device && k < most; k++)
        od_heap_free(&w->device[k].queue);
    free(w->device);
    free(w->rings);
    free(w->own);
    free(w->lacking);
    free(w->arrival);
    free(w->unsat);
    free(w->there);
    free(w->asked);
    free(w->made);
    free(w->replica);
    free(w->plan.place);
    free(w->plan.order);
}

/* For attempts with at most so many devices. False: no memory, what there is is to be freed. */
static bool make_list(struct list *w, const od_list_problem *problem, const od_phase_graph *g, unsigned most)
{
    const od_phase_problem *p = g->p;
    size_t nt = p->ntasks + 1, ni = p->nitems + 1;
    *w = (struct list){.g = g,
                       .p = p,
                       .window = p->window ? p->window : 1,
                       .slowness = problem->slowness,
                       .which = problem->which,
                       .share_of_load = 1.0 / problem->devices};
    w->device = od_calloc(most, sizeof *w->device);
    w->rings = od_malloc(most * (size_t)w->window * sizeof *w->rings);
    w->own = od_malloc(nt * sizeof *w->own);
    w->lacking = od_malloc((most + (size_t)1) * sizeof *w->lacking);
    w->arrival = od_malloc(nt * sizeof *w->arrival);
    w->unsat = od_malloc(nt * sizeof *w->unsat);
    w->there = od_malloc(ni * sizeof *w->there);
    w->asked = od_malloc(ni * sizeof *w->asked);
    w->made = od_malloc(ni * sizeof *w->made);
    w->replica = od_malloc(ni * most * sizeof *w->replica);
    w->plan.place = od_malloc(nt * sizeof *w->plan.place);
    w->plan.order = od_malloc(nt * sizeof *w->plan.order);
    bool ok = w->device && w->rings && w->own && w->lacking && w->arrival && w->unsat && w->there && w->asked &&
              w->made && w->replica && w->plan.place && w->plan.order;
    for (unsigned k = 0; ok && k < most; k++) {
        od_heap_init(&w->device[k].queue, is_more_urgent, g->level);
        ok = od_heap_reserve(&w->device[k].queue, p->ntasks) == OD_OK;
        w->device[k].committed = w->rings + k * (size_t)w->window;
    }
    return ok;
}

/* What is tried. */
struct attempt {
    unsigned devices;
    const double *bus; /* the weight of the bus, and lower ones behind it: */
    unsigned nlower;
    uint32_t *owner; /* by task, or NULL */
    double limit;
};

/* True: it ends before its limit, and is the plan now. */
static bool try_attempt(struct list *w, const od_list_problem *problem, const struct attempt *attempt,
                        od_list_plan *plan)
{
    uint32_t nt = w->p->ntasks;
    w->n = attempt->devices;
    w->bus = attempt->bus;
    w->nsame = attempt->nlower;
    w->owner = attempt->owner;
    w->limit = attempt->limit;
    begin(w, problem->copies);
    simulate(w);
    if (w->plan.seconds >= attempt->limit)
        return false;
    memcpy(plan->place, w->plan.place, nt * sizeof *plan->place);
    memcpy(plan->order, w->plan.order, nt * sizeof *plan->order);
    plan->seconds = w->plan.seconds;
    return true;
}

static const double clearly = 0.99; /* a smaller weight, which loads more, or a device more must bring that */

/* Tasks go where they complete first. Weights with which they would go to the same places are not tried. */
static void find_places(struct list *w, const od_list_problem *problem, unsigned most, od_list_plan *plan)
{
    static const double buses[] = {8, 6, 4, 3, 2, 1.5, 1, 0.5, 0.25, 0};
    enum { BUSES = sizeof buses / sizeof *buses };
    struct attempt attempt = {.limit = problem->limit};
    plan->seconds = (double)INFINITY;
    for (unsigned n = 1; n <= most; n += 1 + n / 4) {
        unsigned count = n > 1 ? BUSES : 1; /* on one device there is nothing to choose */
        for (unsigned i = 0; i < count; i += 1 + w->nsame) {
            attempt.devices = n;
            attempt.bus = &buses[i];
            attempt.nlower = count - 1 - i;
            if (try_attempt(w, problem, &attempt, plan))
                attempt.limit = clearly * plan->seconds;
        }
    }
}

/* Tasks go where what they write is at home; a few devices more or less are compared with little effort. */
static od_status find_owners(struct list *w, const od_list_problem *problem, unsigned most, od_list_plan *plan)
{
    enum { LITTLE = 1000, MUCH = 4000 };
    static const double bus = 1;
    od_owners_problem owners = {w->g,   1,     problem->which, problem->slowness, w->share_of_load,
                                LITTLE, false, NULL,           problem->findings};
    struct attempt attempt = {1, &bus, 0, od_malloc((w->p->ntasks + 1) * sizeof *attempt.owner), (double)INFINITY};
    unsigned best = 1;
    od_status status = attempt.owner ? OD_OK : OD_ENOMEM;
    for (unsigned n = 1; !status && n <= most; n += 1 + n / 4) {
        attempt.devices = owners.devices = n;
        status = od_owners_find(&owners, attempt.owner);
        if (status || !try_attempt(w, problem, &attempt, plan))
            continue;
        attempt.limit = clearly * plan->seconds;
        best = n;
    }
    attempt.devices = owners.devices = best;
    attempt.limit = (double)INFINITY;
    owners.effort = MUCH;
    if (!status)
        status = od_owners_find(&owners, attempt.owner);
    if (!status)
        try_attempt(w, problem, &attempt, plan);
    free(attempt.owner);
    return status;
}

od_status od_list_plan_best(const od_list_problem *problem, unsigned most, od_list_plan *plan)
{
    od_phase_graph g = {.p = problem->tasks};
    struct list w = {0};
    od_status status =
        od_phase_make_graph(&g) && od_phase_list_users(&g) && make_list(&w, problem, &g, most) ? OD_OK : OD_ENOMEM;
    if (!status && problem->owners)
        status = find_owners(&w, problem, most, plan);
    else if (!status)
        find_places(&w, problem, most, plan);
    free_list(&w, most);
    od_phase_free_graph(&g);
    return status;
}
