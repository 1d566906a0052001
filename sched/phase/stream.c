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

/* What is known of an item while chosen tasks are ordered. */
struct item {
    double left;          /* seconds of chosen tasks that use it and have not run */
    double enabled;       /* it is not there: tasks that lack it and nothing else */
    double urgent;        /* likewise: the level of the most urgent of these tasks */
    uint32_t nurgent;     /* how many have it; 0: `urgent` is not known */
    uint32_t uses;        /* the number of chosen tasks that use it and have not run */
    uint32_t chosen_uses; /* that number at first */
    uint32_t first_user;  /* these tasks are user[first_user] and so on */
    uint32_t last;        /* how many tasks had been ordered with the last that uses it */
    uint32_t position;    /* its place in `present` plus one, 0: it is not there */
    uint32_t mark;        /* `marks`, where the task uses it for which room is made */
    bool dirty;           /* written here since it came */
    bool is_wanted;       /* in `wanted` */
};

struct task {
    uint32_t unsat;   /* chosen tasks that must come before */
    uint32_t missing; /* items that are not there */
    bool done;
};

struct stream {
    const od_phase_graph *g;
    const od_phase_choice *choice;
    const bool *chosen, *held; /* its */
    bool *there;               /* by item */
    struct item *item;
    struct task *task;
    uint32_t *user;   /* by item: the chosen tasks that use it, in their order */
    uint32_t *wanted; /* items with `enabled`, perhaps no longer */
    uint32_t nwanted;
    uint32_t *present; /* items that are there */
    uint32_t npresent, cursor;
    uint32_t *useless; /* items that are there and that no chosen task that is left uses */
    uint32_t nuseless;
    uint32_t marks;
    od_heap ready; /* tasks that could run if their data were there, perhaps ordered already: the most urgent first */
    od_heap runnable;     /* likewise, with their data */
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
    bool known = w->item[item].nurgent || (sign > 0 && w->item[item].enabled <= 0);
    if (known && sign > 0 && (!w->item[item].nurgent || level > w->item[item].urgent)) {
        w->item[item].urgent = level;
        w->item[item].nurgent = 1;
    } else if (w->item[item].nurgent && level == w->item[item].urgent) {
        w->item[item].nurgent = sign > 0 ? w->item[item].nurgent + 1 : w->item[item].nurgent - 1;
    }
}

/* The task lacks one item, or no longer. */
static void count_enabled(struct stream *w, uint32_t task, int sign)
{
    if (w->task[task].missing != 1 || w->task[task].unsat || w->task[task].done)
        return;
    uint32_t item = lacking_item(w, task);
    count_urgent(w, item, w->g->level[task], sign);
    w->item[item].enabled += sign;
    if (sign > 0 && !w->item[item].is_wanted) {
        w->item[item].is_wanted = true;
        w->wanted[w->nwanted++] = item;
    }
}

static void offer(struct stream *w, uint32_t task)
{
    if (w->task[task].missing || w->task[task].unsat || w->task[task].done || od_heap_contains(&w->runnable, task))
        return;
    od_heap_push(&w->runnable, task);
}

static void bring(struct stream *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    w->used += p->size[item];
    w->lacking -= w->held[item] ? p->size[item] : 0;
    const uint32_t *user = w->user + w->item[item].first_user, *end = user + w->item[item].chosen_uses;
    for (const uint32_t *t = user; t < end; t++)
        if (w->task[*t].missing == 1)
            count_enabled(w, *t, -1);
    w->there[item] = true;
    w->item[item].enabled = 0;
    w->item[item].nurgent = 0;
    w->present[w->npresent++] = item;
    w->item[item].position = w->npresent;
    for (const uint32_t *t = user; t < end; t++) {
        if (w->task[*t].done)
            continue;
        w->task[*t].missing--;
        count_enabled(w, *t, +1);
        offer(w, *t);
    }
}

static void lose(struct stream *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    w->used -= p->size[item];
    w->lacking += w->held[item] && w->item[item].uses ? p->size[item] : 0;
    w->out->stores += w->item[item].dirty ? p->load[item] : 0;
    w->item[item].dirty = false;
    const uint32_t *user = w->user + w->item[item].first_user, *end = user + w->item[item].chosen_uses;
    for (const uint32_t *t = user; t < end; t++)
        if (!w->task[*t].done && w->task[*t].missing == 1)
            count_enabled(w, *t, -1);
    w->there[item] = false;
    for (const uint32_t *t = user; t < end; t++) {
        if (w->task[*t].done)
            continue;
        w->task[*t].missing++;
        count_enabled(w, *t, +1);
    }
}

/* So that looking at an item does not mean to look through those of the task. */
static void mark_items(struct stream *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    w->marks++;
    if (task == OD_NO_ITEM)
        return;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        w->item[p->use[u]].mark = w->marks;
}

static void leave(struct stream *w, uint32_t item)
{
    uint32_t at = w->item[item].position - 1, last = w->present[--w->npresent];
    w->present[at] = last;
    w->item[last].position = at + 1;
    w->item[item].position = 0;
    lose(w, item);
}

static bool is_in_window(const struct stream *w, uint32_t item)
{
    return w->item[item].last && w->item[item].last + w->g->p->window > w->out->ntasks;
}

enum { VICTIMS = 128 }; /* items that are looked at when one is to go */

/* Tasks that use the item and have not been chosen. */
static uint32_t other_uses(const struct stream *w, uint32_t item)
{
    return w->g->first_user[item + 1] - w->g->first_user[item] - w->item[item].chosen_uses;
}

/* An item that no chosen task will use, the one that the fewest others will, or OD_NO_ITEM. */
static uint32_t useless_item(struct stream *w)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < w->nuseless && i < VICTIMS; i++) {
        while (i < w->nuseless && !w->item[w->useless[i]].position) /* it has gone with the window */
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
        return most * w->item[item].last;
    return w->item[item].left + (w->held[item] ? much : 0);
}

/* Of a number of items that are there, others each time, the one that is best lost; none of the task's. */
static uint32_t least_item(struct stream *w, uint32_t task)
{
    uint32_t victim = OD_NO_ITEM, n = w->npresent < VICTIMS ? w->npresent : VICTIMS;
    uint32_t at = n ? w->cursor % w->npresent : 0;
    double least = 0;
    mark_items(w, task);
    for (uint32_t i = 0; i < n; i++, at = at + 1 < w->npresent ? at + 1 : 0) {
        uint32_t item = w->present[at];
        if (w->item[item].mark == w->marks)
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
    w->out->loads += p->fresh[item] && !w->item[item].last ? 0 : p->load[item];
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
        if (!w->chosen[after] || --w->task[after].unsat)
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
    w->task[task].done = true;
    w->out->order[w->out->ntasks++] = task;
    w->out->seconds += p->seconds[task];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        w->item[item].left -= p->seconds[task];
        w->item[item].dirty |= p->writes[u];
        w->item[item].last = w->out->ntasks;
        if (--w->item[item].uses == 0)
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
        if (!w->task[task].done && !w->task[task].missing)
            run(w, task);
    }
}

/* True where the task could run if one more item were there. */
static bool lacks_one(const struct stream *w, uint32_t task)
{
    return !w->task[task].done && !w->task[task].unsat && w->task[task].missing == 1;
}

/* Of the most urgent task that lacks this item alone. */
static double level_of(struct stream *w, uint32_t item)
{
    if (w->item[item].nurgent)
        return w->item[item].urgent;
    w->item[item].urgent = 0;
    for (uint32_t i = 0; i < w->item[item].chosen_uses; i++) {
        uint32_t task = w->user[w->item[item].first_user + i];
        double level = w->g->level[task];
        if (!lacks_one(w, task) || level < w->item[item].urgent)
            continue;
        w->item[item].nurgent = level > w->item[item].urgent ? 1 : w->item[item].nurgent + 1;
        w->item[item].urgent = level;
    }
    return w->item[item].urgent;
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
        double value = w->item[item].enabled / p->load[item];
        if (w->there[item] || w->item[item].enabled <= 1e-12) {
            w->item[item].is_wanted = false;
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
    while (w->ready.count && w->task[od_heap_first(&w->ready)].done)
        od_heap_remove(&w->ready, od_heap_first(&w->ready));
    for (uint32_t i = 0; i < w->ready.count && i < LOOK_AT; i++) {
        uint32_t task = w->ready.items[i];
        double seconds = w->task[task].done ? 0 : load_of(w, task);
        if (!w->task[task].done &&
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
    for (uint32_t i = 0; i < w->item[item].chosen_uses; i++) {
        uint32_t task = w->user[w->item[item].first_user + i];
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

/* The users of each item, all of which are still to run. */
static void list_users(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->nitems; i++) {
        w->item[i].first_user = count;
        count += w->item[i].uses;
    }
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        uint32_t t = w->choice->task[i];
        for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++) {
            struct item *item = &w->item[p->use[u]];
            w->user[item->first_user + item->chosen_uses++] = t;
        }
    }
}

static void begin(struct stream *w)
{
    const od_phase_problem *p = w->g->p;
    double longest = 0;
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        uint32_t t = w->choice->task[i];
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++)
            w->task[p->successor[s]].unsat++;
        w->task[t].missing = p->first_use[t + 1] - p->first_use[t];
        w->most_seconds += p->seconds[t];
        longest = fmax(longest, p->seconds[t]);
        for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++) {
            w->item[p->use[u]].left += p->seconds[t];
            w->item[p->use[u]].uses++;
        }
    }
    list_users(w);
    w->most_seconds = fmin(w->most_seconds, od_phase_limit(p) + longest);
    for (uint32_t i = 0; i < p->nitems; i++)
        w->lacking += w->held[i] ? p->size[i] : 0;
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        uint32_t t = w->choice->task[i];
        if (w->task[t].unsat)
            continue;
        od_heap_push(&w->ready, t);
        count_enabled(w, t, +1);
        offer(w, t);
    }
    for (uint32_t i = 0; i < p->nitems; i++)
        if (p->resident[i] && w->item[i].uses && w->used + p->size[i] <= p->memory)
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
        w->out->stores += w->item[i].dirty ? p->load[i] : 0;
}

static uint32_t count_uses(const od_phase_problem *p, const od_phase_choice *choice)
{
    uint32_t uses = 0;
    for (uint32_t i = 0; i < choice->ntasks; i++)
        uses += p->first_use[choice->task[i] + 1] - p->first_use[choice->task[i]];
    return uses;
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
    w.item = od_calloc(ni, sizeof *w.item);
    w.task = od_calloc(nt, sizeof *w.task);
    w.wanted = od_malloc(3 * (size_t)ni * sizeof *w.wanted);
    w.user = od_malloc((count_uses(p, choice) + 1) * sizeof *w.user);
    od_heap_init(&w.ready, is_more_urgent, &w);
    od_heap_init(&w.runnable, is_more_urgent, &w);
    bool ok =
        w.item && w.task && w.wanted && w.user && !od_heap_reserve(&w.ready, nt) && !od_heap_reserve(&w.runnable, nt);
    if (ok) {
        w.present = w.wanted + ni;
        w.useless = w.present + ni;
        stream(&w);
    }
    for (uint32_t i = 0; i < p->nitems; i++)
        result->held += w.held[i] ? p->size[i] : 0;
    free(w.item);
    free(w.task);
    free(w.wanted);
    free(w.user);
    od_heap_free(&w.ready);
    od_heap_free(&w.runnable);
    return ok ? OD_OK : OD_ENOMEM;
}
