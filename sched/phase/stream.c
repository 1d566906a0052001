/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The order of chosen tasks: the device is simulated, without time.
 *
 * As long as a task can run with what is there, the most urgent of them does. Otherwise the load comes that makes
 * most tasks possible for its length, the most urgent ones among equals; streams only take what memory the held items
 * leave. Full memory loses what no chosen task will use, then the stream with the least task time left, then held
 * items.
 */
#include "sched/phase/impl.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    const od_phase_graph *g;
    const od_phase_choice *choice;
    const bool *chosen, *held; /* its */
    uint32_t *unsat;           /* by task: chosen tasks that must come before */
    uint32_t *missing;         /* by task: items that are not there */
    bool *there;               /* by item */
    bool *dirty;               /* by item: written here since it came */
    uint32_t *last;            /* by item: how many tasks had been ordered with the last that uses it */
    double *left;              /* by item: seconds of chosen tasks that use it and have not run */
    uint32_t *uses;            /* by item: the number of these tasks */
    uint32_t *chosen_uses;     /* by item: that number at first */
    double *enabled;           /* by item that is not there: tasks that lack it and nothing else */
    double *urgent;            /* by item that is not there: the level of the most urgent of these tasks */
    uint32_t *nurgent;         /* by item: how many have it; 0: `urgent` is not known */
    uint32_t *wanted;          /* items with `enabled`, perhaps no longer */
    bool *is_wanted;
    uint32_t nwanted;
    uint32_t *present;  /* items that are there */
    uint32_t *position; /* by item: its place there plus one, 0: it is not */
    uint32_t npresent, cursor;
    uint32_t *useless; /* items that are there and that no chosen task that is left uses */
    uint32_t nuseless;
    od_heap ready; /* tasks that could run if their data were there, perhaps ordered already: the most urgent first */
    od_heap runnable;     /* likewise, with their data */
    bool *done;           /* by task */
    uint32_t released;    /* tasks of the order that have ended: those after them are in a task buffer */
    double used, lacking; /* bytes there, and of held items that are not */
    double most_seconds;  /* of tasks that the order can have */
    double worth;         /* seconds of tasks for each of transfers that it must have */
    od_phase_result *out;
};

/* The most urgent first, and in the order of submission. */
static bool is_before(const struct stream *w, uint32_t a, uint32_t b)
{
    const double *level = w->g->level;
    return level[a] > level[b] || (level[a] == level[b] && a < b);
}

static bool is_more_urgent(const void *owner, uint32_t a, uint32_t b)
{
    return is_before(owner, a, b);
}

/* --- what is there --------------------------------------------------------------------- */

static uint32_t lacking_item(const struct stream *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (!w->there[p->use[u]])
            return p->use[u];
    return OD_NO_ITEM;
}

/* Keeps the highest level of those that lack the item alone, or forgets it. */
static void count_urgent(struct stream *w, uint32_t item, double level, int sign)
{
    bool known = w->nurgent[item] || (sign > 0 && w->enabled[item] <= 0);
    if (known && sign > 0 && (!w->nurgent[item] || level > w->urgent[item])) {
        w->urgent[item] = level;
        w->nurgent[item] = 1;
    } else if (w->nurgent[item] && level == w->urgent[item]) {
        w->nurgent[item] = sign > 0 ? w->nurgent[item] + 1 : w->nurgent[item] - 1;
    }
}

/* The task lacks one item, or no longer. */
static void count_enabled(struct stream *w, uint32_t task, int sign)
{
    if (w->missing[task] != 1 || w->unsat[task] || w->done[task])
        return;
    uint32_t item = lacking_item(w, task);
    count_urgent(w, item, w->g->level[task], sign);
    w->enabled[item] += sign;
    if (sign > 0 && !w->is_wanted[item]) {
        w->is_wanted[item] = true;
        w->wanted[w->nwanted++] = item;
    }
}

static void offer(struct stream *w, uint32_t task)
{
    if (w->missing[task] || w->unsat[task] || w->done[task] || od_heap_contains(&w->runnable, task))
        return;
    od_heap_push(&w->runnable, task);
}

static void bring(struct stream *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    w->used += p->size[item];
    w->lacking -= w->held[item] ? p->size[item] : 0;
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        if (w->chosen[task] && w->missing[task] == 1)
            count_enabled(w, task, -1);
    }
    w->there[item] = true;
    w->enabled[item] = 0;
    w->nurgent[item] = 0;
    w->present[w->npresent++] = item;
    w->position[item] = w->npresent;
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        if (!w->chosen[task] || w->done[task])
            continue;
        w->missing[task]--;
        count_enabled(w, task, +1);
        offer(w, task);
    }
}

static void lose(struct stream *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    w->used -= p->size[item];
    w->lacking += w->held[item] && w->uses[item] ? p->size[item] : 0;
    w->out->stores += w->dirty[item] ? p->load[item] : 0;
    w->dirty[item] = false;
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        if (w->chosen[task] && !w->done[task] && w->missing[task] == 1)
            count_enabled(w, task, -1);
    }
    w->there[item] = false;
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        if (!w->chosen[task] || w->done[task])
            continue;
        w->missing[task]++;
        count_enabled(w, task, +1);
    }
}

static bool is_used_by(const od_phase_problem *p, uint32_t item, uint32_t task)
{
    for (uint32_t u = p->first_use[task]; task != OD_NO_ITEM && u < p->first_use[task + 1]; u++)
        if (p->use[u] == item)
            return true;
    return false;
}

static void leave(struct stream *w, uint32_t item)
{
    uint32_t at = w->position[item] - 1, last = w->present[--w->npresent];
    w->present[at] = last;
    w->position[last] = at + 1;
    w->position[item] = 0;
    lose(w, item);
}

static bool is_in_window(const struct stream *w, uint32_t item)
{
    return w->last[item] && w->last[item] + w->g->p->window > w->out->ntasks;
}

enum { VICTIMS = 128 }; /* items that are looked at when one is to go */

/* Tasks that use the item and have not been chosen. */
static uint32_t other_uses(const struct stream *w, uint32_t item)
{
    return w->g->first_user[item + 1] - w->g->first_user[item] - w->chosen_uses[item];
}

/* An item that no chosen task will use, the one that the fewest others will, or OD_NO_ITEM. */
static uint32_t useless_item(struct stream *w)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < w->nuseless && i < VICTIMS; i++) {
        while (i < w->nuseless && !w->position[w->useless[i]]) /* it has gone with the window */
            w->useless[i] = w->useless[--w->nuseless];
        if (i < w->nuseless && !is_in_window(w, w->useless[i]) &&
            (best == UINT32_MAX || other_uses(w, w->useless[i]) < other_uses(w, w->useless[best])))
            best = i;
    }
    if (best == UINT32_MAX)
        return OD_NO_ITEM;
    uint32_t item = w->useless[best];
    w->useless[best] = w->useless[--w->nuseless];
    return item;
}

/* Streams go first, those with the least time left. What tasks in the window use goes last, the first of them first. */
static double value_of(const struct stream *w, uint32_t item)
{
    static const double much = 1e30, most = 1e60;
    if (is_in_window(w, item))
        return most * w->last[item];
    return w->left[item] + (w->held[item] ? much : 0);
}

/* Of a number of items that are there, others each time, the one that is best lost. */
static uint32_t least_item(struct stream *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    uint32_t victim = OD_NO_ITEM, n = w->npresent < VICTIMS ? w->npresent : VICTIMS;
    double least = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t item = w->present[(w->cursor + i) % w->npresent];
        if (task != OD_NO_ITEM && is_used_by(p, item, task))
            continue;
        double value = value_of(w, item);
        if (victim == OD_NO_ITEM || value < least) {
            victim = item;
            least = value;
        }
    }
    w->cursor += n;
    return victim;
}

/* Makes room for an item that the task (or OD_NO_ITEM) needs; where that is not possible more is there than there can
 * be. */
static void make_room(struct stream *w, double size, uint32_t task)
{
    while (w->used + size > w->g->p->memory) {
        uint32_t victim = useless_item(w);
        if (victim == OD_NO_ITEM)
            victim = least_item(w, task);
        if (victim == OD_NO_ITEM)
            return;
        leave(w, victim);
    }
}

static void load(struct stream *w, uint32_t item, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    make_room(w, p->size[item], task);
    w->out->loads += p->fresh[item] && !w->last[item] ? 0 : p->load[item];
    bring(w, item);
}

/* --- running ------------------------------------------------------------------------------ */

/* The first task in the order that has not ended is over: what waited for it is ready. False: all are. */
static bool release_next(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    if (w->released == w->out->ntasks)
        return false;
    uint32_t task = w->out->order[w->released++];
    for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++) {
        uint32_t after = p->successor[s];
        if (!w->chosen[after] || --w->unsat[after])
            continue;
        od_heap_push(&w->ready, after);
        count_enabled(w, after, +1);
        offer(w, after);
    }
    return true;
}

static void run(struct stream *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    w->done[task] = true;
    w->out->order[w->out->ntasks++] = task;
    w->out->seconds += p->seconds[task];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        w->left[item] -= p->seconds[task];
        w->dirty[item] |= p->writes[u];
        w->last[item] = w->out->ntasks;
        if (--w->uses[item] == 0)
            w->useless[w->nuseless++] = item;
    }
    if (w->out->ntasks - w->released > p->window)
        release_next(w);
}

static void run_all(struct stream *w)
{
    while (w->runnable.count && w->out->seconds < od_phase_limit(w->g->p)) {
        uint32_t task = od_heap_first(&w->runnable);
        od_heap_remove(&w->runnable, task);
        if (!w->done[task] && !w->missing[task])
            run(w, task);
    }
}

/* True where the task could run if one more item were there. */
static bool lacks_one(const struct stream *w, uint32_t task)
{
    return w->chosen[task] && !w->done[task] && !w->unsat[task] && w->missing[task] == 1;
}

/* Of the most urgent task that lacks this item alone. */
static double level_of(struct stream *w, uint32_t item)
{
    if (w->nurgent[item])
        return w->urgent[item];
    w->urgent[item] = 0;
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        double level = w->g->level[task];
        if (!lacks_one(w, task) || level < w->urgent[item])
            continue;
        w->nurgent[item] = level > w->urgent[item] ? 1 : w->nurgent[item] + 1;
        w->urgent[item] = level;
    }
    return w->urgent[item];
}

/* The load that makes most tasks possible for its length, of so many that would make some; or OD_NO_ITEM. */
static uint32_t best_load(struct stream *w)
{
    enum { LOOK_AT = 2048 };
    const od_phase_problem *p = w->g->p;
    uint32_t best = OD_NO_ITEM, i = 0;
    double most = 0, urgent = 0;
    while (i < w->nwanted && i < LOOK_AT) {
        uint32_t item = w->wanted[i];
        double value = w->enabled[item] / p->load[item];
        if (w->there[item] || w->enabled[item] <= 1e-12) {
            w->is_wanted[item] = false;
            w->wanted[i] = w->wanted[--w->nwanted];
            continue;
        }
        i++;
        if (best != OD_NO_ITEM && value < most * (1 - 1e-9))
            continue;
        if (!w->held[item] && w->lacking > 0 && w->used + p->size[item] + w->lacking > p->memory)
            continue; /* it does not fit */
        double level = level_of(w, item);
        if (best == OD_NO_ITEM || value > most * (1 + 1e-9) || level > urgent || (level == urgent && item < best)) {
            best = item;
            most = value;
            urgent = level;
        }
    }
    return best;
}

static double load_of(const struct stream *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    double seconds = 0;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        seconds += w->there[p->use[u]] ? 0 : p->load[p->use[u]];
    return seconds;
}

/* Of the most urgent tasks the one that lacks least, or OD_NO_ITEM: there is none. */
static uint32_t best_task(struct stream *w)
{
    enum { LOOK_AT = 64 };
    uint32_t best = OD_NO_ITEM;
    double least = 0;
    while (w->ready.count && w->done[od_heap_first(&w->ready)])
        od_heap_remove(&w->ready, od_heap_first(&w->ready));
    for (uint32_t i = 0; i < w->ready.count && i < LOOK_AT; i++) {
        uint32_t task = w->ready.items[i];
        double seconds = w->done[task] ? 0 : load_of(w, task);
        if (!w->done[task] &&
            (best == OD_NO_ITEM || seconds < least || (seconds == least && is_before(w, task, best)))) {
            best = task;
            least = seconds;
        }
    }
    return best;
}

/* A task that lacks this item alone: what it uses must not go. */
static uint32_t enabled_task(const struct stream *w, uint32_t item)
{
    for (uint32_t i = w->g->first_user[item]; i < w->g->first_user[item + 1]; i++) {
        uint32_t task = w->g->user[i];
        if (lacks_one(w, task))
            return task;
    }
    return OD_NO_ITEM;
}

static bool bring_more(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    uint32_t item = best_load(w);
    if (item != OD_NO_ITEM) {
        load(w, item, enabled_task(w, item));
        return true;
    }
    uint32_t task = best_task(w);
    if (task == OD_NO_ITEM)
        return false;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (!w->there[p->use[u]])
            load(w, p->use[u], task);
    return true;
}

static void begin(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    double longest = 0;
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        uint32_t t = w->choice->task[i];
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++)
            w->unsat[p->successor[s]]++;
        w->missing[t] = p->first_use[t + 1] - p->first_use[t];
        w->most_seconds += p->seconds[t];
        longest = fmax(longest, p->seconds[t]);
        for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++) {
            w->left[p->use[u]] += p->seconds[t];
            w->uses[p->use[u]]++;
            w->chosen_uses[p->use[u]]++;
        }
    }
    w->most_seconds = fmin(w->most_seconds, od_phase_limit(p) + longest);
    for (uint32_t i = 0; i < p->nitems; i++)
        w->lacking += w->held[i] ? p->size[i] : 0;
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        uint32_t t = w->choice->task[i];
        if (w->unsat[t])
            continue;
        od_heap_push(&w->ready, t);
        count_enabled(w, t, +1);
        offer(w, t);
    }
    for (uint32_t i = 0; i < p->nitems; i++)
        if (p->resident[i] && w->uses[i] && w->used + p->size[i] <= p->memory)
            bring(w, i);
}

static bool is_hopeless(const struct stream *w)
{
    static const double rounding = 1 + 1e-9;
    return rounding * w->most_seconds < w->worth * (w->out->loads + w->out->stores);
}

static void stream(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    memset(w->there, 0, p->nitems);
    begin(w);
    do
        run_all(w);
    while (w->out->seconds < od_phase_limit(p) && !is_hopeless(w) && (bring_more(w) || release_next(w)));
    if (is_hopeless(w))
        w->out->ntasks = 0;
    for (uint32_t i = 0; i < p->nitems; i++)
        w->out->stores += w->dirty[i] ? p->load[i] : 0;
}

od_status od_phase_stream(const od_phase_graph *g, const od_phase_choice *choice, double worth, od_phase_result *result,
                          bool *there)
{
    const od_phase_problem *p = g->p;
    uint32_t nt = p->ntasks + 1, ni = p->nitems + 1;
    struct stream w = {.g = g,
                       .choice = choice,
                       .chosen = choice->chosen,
                       .held = choice->held,
                       .worth = worth,
                       .there = there,
                       .out = result};
    result->ntasks = 0;
    result->seconds = result->loads = result->stores = result->held = 0;
    w.unsat = od_calloc(nt, sizeof *w.unsat);
    w.missing = od_calloc(nt, sizeof *w.missing);
    w.done = od_calloc(nt, 1);
    w.dirty = od_calloc(ni, 1);
    w.is_wanted = od_calloc(ni, 1);
    w.left = od_calloc(ni, sizeof *w.left);
    w.uses = od_calloc(ni, sizeof *w.uses);
    w.chosen_uses = od_calloc(ni, sizeof *w.chosen_uses);
    w.position = od_calloc(ni, sizeof *w.position);
    w.useless = od_malloc(ni * sizeof *w.useless);
    w.last = od_calloc(ni, sizeof *w.last);
    w.enabled = od_calloc(ni, sizeof *w.enabled);
    w.urgent = od_calloc(ni, sizeof *w.urgent);
    w.nurgent = od_calloc(ni, sizeof *w.nurgent);
    w.wanted = od_malloc(ni * sizeof *w.wanted);
    w.present = od_malloc(ni * sizeof *w.present);
    od_heap_init(&w.ready, is_more_urgent, &w);
    od_heap_init(&w.runnable, is_more_urgent, &w);
    bool ok = w.unsat && w.missing && w.done && w.dirty && w.is_wanted && w.left && w.uses && w.chosen_uses &&
              w.position && w.useless && w.last && w.enabled && w.urgent && w.nurgent && w.wanted && w.present &&
              !od_heap_reserve(&w.ready, nt) && !od_heap_reserve(&w.runnable, nt);
    if (ok)
        stream(&w);
    for (uint32_t i = 0; i < p->nitems; i++)
        result->held += w.held[i] ? p->size[i] : 0;
    free(w.unsat);
    free(w.missing);
    free(w.done);
    free(w.dirty);
    free(w.is_wanted);
    free(w.left);
    free(w.uses);
    free(w.chosen_uses);
    free(w.position);
    free(w.useless);
    free(w.last);
    free(w.enabled);
    free(w.urgent);
    free(w.nurgent);
    free(w.wanted);
    free(w.present);
    od_heap_free(&w.ready);
    od_heap_free(&w.runnable);
    return ok ? OD_OK : OD_ENOMEM;
}
