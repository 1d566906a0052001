/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The order of chosen tasks: a device is simulated (device.c).
 *
 * As long as a task can run with what is there, the most urgent of them does. Otherwise the load comes that makes
 * most tasks possible for its length, the most urgent ones among equals; streams only take what memory the held items
 * leave.
 */
#include "sched/phase/impl.h"

#include <math.h>

static void run_all(od_phase_device *w)
{
    while (w->runnable.count && w->out->seconds < od_phase_limit(w->g->p)) {
        uint32_t task = od_heap_first(&w->runnable);
        od_heap_remove(&w->runnable, task);
        if (!w->task[task].done && !w->task[task].missing)
            od_phase_run(w, task);
    }
}

/* Of the most urgent task that lacks this item alone. */
static double level_of(od_phase_device *w, uint32_t item)
{
    if (w->item[item].nurgent)
        return w->item[item].urgent;
    const uint32_t *user = od_phase_users_of(w, item);
    w->item[item].urgent = 0;
    for (uint32_t i = 0; i < w->item[item].nusers; i++) {
        double level = w->g->level[user[i]];
        if (w->task[user[i]].missing != 1 || level < w->item[item].urgent)
            continue;
        w->item[item].nurgent = level > w->item[item].urgent ? 1 : w->item[item].nurgent + 1;
        w->item[item].urgent = level;
    }
    return w->item[item].urgent;
}

static void unlist(od_phase_device *w, uint32_t at)
{
    uint32_t last = --w->nwanted;
    w->item[w->wanted[at]].listed = 0;
    if (at == last)
        return;
    w->wanted[at] = w->wanted[last];
    w->rate[at] = w->rate[last];
    w->item[w->wanted[at]].listed = at + 1;
}

/* The load that makes most tasks possible for its length, of so many that would make some; or OD_NO_ITEM. */
static uint32_t best_load(od_phase_device *w)
{
    enum { LOOK_AT = 2048 };
    static const double alike = 1e-9;
    const od_phase_problem *p = w->g->p;
    uint32_t best = OD_NO_ITEM, i = 0;
    double most = 0, least = 0, urgent = 0;
    double room = w->lacking > 0 ? p->memory - w->used - w->lacking : (double)INFINITY; /* for a stream */
    while (i < w->nwanted && i < LOOK_AT) {
        double value = w->rate[i];
        if (value <= 0) {
            unlist(w, i);
            continue;
        }
        uint32_t item = w->wanted[i++];
        if (value < least)
            continue;
        if (!w->held[item] && p->size[item] > room)
            continue;
        double level = level_of(w, item);
        if (best == OD_NO_ITEM || value > most * (1 + alike) || level > urgent || (level == urgent && item < best)) {
            best = item;
            most = value;
            least = value * (1 - alike);
            urgent = level;
        }
    }
    return best;
}

static double load_of(const od_phase_device *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    double seconds = 0;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        seconds += w->there[p->use[u]] ? 0 : p->load[p->use[u]];
    return seconds;
}

/* What the task lacks cannot take less than `least` seconds to load, nor, if it is less urgent than the best, as much.
 * Of up to three loads the sum is not less than the product, as both are rounded. */
static bool lacks_more(const od_phase_device *w, uint32_t task, uint32_t best, double least)
{
    enum { FEW = 3 };
    uint32_t missing = w->task[task].missing;
    double bound = missing <= FEW ? missing * w->least_load : 0;
    return best != OD_NO_ITEM && (bound > least || (bound == least && !od_phase_is_before(w, task, best)));
}

/* Of the most urgent tasks the one that lacks least, or OD_NO_ITEM: there is none. */
static uint32_t best_task(od_phase_device *w)
{
    enum { LOOK_AT = 64 };
    uint32_t best = OD_NO_ITEM;
    double least = 0;
    while (w->ready.count && w->task[od_heap_first(&w->ready)].done)
        od_heap_remove(&w->ready, od_heap_first(&w->ready));
    for (uint32_t i = 0; i < w->ready.count && i < LOOK_AT; i++) {
        uint32_t task = w->ready.items[i];
        if (w->task[task].done || lacks_more(w, task, best, least))
            continue;
        double seconds = load_of(w, task);
        if (best == OD_NO_ITEM || seconds < least || (seconds == least && od_phase_is_before(w, task, best))) {
            best = task;
            least = seconds;
        }
    }
    return best;
}

/* The first task that lacks this item alone: what it uses must not go. */
static uint32_t enabled_task(od_phase_device *w, uint32_t item)
{
    const uint32_t *user = od_phase_users_of(w, item);
    uint32_t first = OD_NO_ITEM;
    for (uint32_t i = 0; i < w->item[item].nusers; i++)
        if (w->task[user[i]].missing == 1 && user[i] < first)
            first = user[i];
    return first;
}

static bool bring_more(od_phase_device *w)
{
    const od_phase_problem *p = w->g->p;
    uint32_t item = best_load(w);
    if (item != OD_NO_ITEM) {
        od_phase_load(w, item, enabled_task(w, item));
        return true;
    }
    uint32_t task = best_task(w);
    if (task == OD_NO_ITEM)
        return false;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (!w->there[p->use[u]])
            od_phase_load(w, p->use[u], task);
    return true;
}

/* Not even if nothing were loaded but what is sure to be. */
static bool is_hopeless(const od_phase_device *w)
{
    static const double rounding = 1 + 1e-9;
    return rounding * w->most_seconds < w->worth * (w->out->loads + w->out->stores + w->owed);
}

/* The order is long, and memory has been filled several times, so that what it began with matters little: tasks will
 * come for transfers at hardly a better rate than so far. */
static bool seems_hopeless(const od_phase_device *w)
{
    enum { TIMES = 4, LONG = 1024 };
    double transfers = w->out->loads + w->out->stores, left = w->most_seconds - w->out->seconds;
    double better = 1 + (double)w->npresent / (w->nloads + 1);
    return w->nloads > LONG && w->nloads > TIMES * w->npresent && w->out->seconds < od_phase_limit(w->g->p) &&
           w->out->seconds * w->most_seconds < w->worth * transfers * (w->out->seconds + left / better);
}

void od_phase_stream(od_phase_device *w, const od_phase_choice *choice, double worth, od_phase_result *result,
                     bool *there)
{
    const od_phase_problem *p = w->g->p;
    od_phase_begin(w, choice, worth, result, there);
    do
        run_all(w);
    while (result->seconds < od_phase_limit(p) && !is_hopeless(w) && !seems_hopeless(w) &&
           (bring_more(w) || od_phase_release_next(w)));
    if (is_hopeless(w) || seems_hopeless(w))
        result->ntasks = 0;
    for (uint32_t i = 0; i < p->nitems; i++) {
        result->held += w->held[i] ? p->size[i] : 0;
        result->stores += choice->used[i] && w->item[i].dirty ? p->load[i] : 0;
    }
}
