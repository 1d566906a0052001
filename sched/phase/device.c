/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The device that is simulated, without time, to order chosen tasks.
 *
 * Tasks that wait for no other one are listed by item; each knows how many items it lacks, and which where it is one.
 * Full memory loses what no chosen task will use, then the stream with the least task time left, then held items; last
 * what tasks in the task buffer use.
 */
#include "sched/phase/impl.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_more_urgent(const void *owner, uint32_t a, uint32_t b)
{
    return od_phase_is_before(owner, a, b);
}

/* --- what is there --------------------------------------------------------------------- */

/* Tasks that have run are taken out when the list is looked through the next time. */
const uint32_t *od_phase_users_of(od_phase_device *w, uint32_t item)
{
    od_device_item *used = &w->item[item];
    uint32_t *user = w->user + w->g->first_user[item];
    for (uint32_t i = 0; used->nrun; i++) {
        while (used->nrun && w->task[user[i]].done) {
            user[i] = user[--used->nusers];
            used->nrun--;
        }
    }
    return user;
}

/* Keeps the highest level of those that lack the item alone, or forgets it. */
static void count_urgent(od_phase_device *w, uint32_t item, double level, int sign)
{
    bool known = w->item[item].nurgent || (sign > 0 && !w->item[item].enabled);
    if (known && sign > 0 && (!w->item[item].nurgent || level > w->item[item].urgent)) {
        w->item[item].urgent = level;
        w->item[item].nurgent = 1;
    } else if (w->item[item].nurgent && level == w->item[item].urgent) {
        w->item[item].nurgent = sign > 0 ? w->item[item].nurgent + 1 : w->item[item].nurgent - 1;
    }
}

/* A task that waits for no other one lacks one item, or no longer. */
static void count_enabled(od_phase_device *w, uint32_t task, int sign)
{
    if (w->task[task].missing != 1)
        return;
    uint32_t item = w->task[task].lacking;
    od_device_item *lacking = &w->item[item];
    count_urgent(w, item, w->g->level[task], sign);
    lacking->enabled = sign > 0 ? lacking->enabled + 1 : lacking->enabled - 1;
    if (sign > 0 && !lacking->listed) {
        w->wanted[w->nwanted++] = item;
        lacking->listed = w->nwanted;
    }
    if (lacking->listed)
        w->rate[lacking->listed - 1] = lacking->enabled / w->g->p->load[item];
}

static void offer(od_phase_device *w, uint32_t task)
{
    if (!w->task[task].missing && !od_heap_contains(&w->runnable, task))
        od_heap_push(&w->runnable, task);
}

static bool is_in_window(const od_phase_device *w, uint32_t item)
{
    return w->item[item].last && w->item[item].last + w->g->p->window > w->out->ntasks;
}

/* Streams go first, those with the least time left. What tasks in the window use goes last, the first of them first. */
static double value_of(const od_phase_device *w, uint32_t item)
{
    static const double much = 1e30, most = 1e60;
    if (is_in_window(w, item))
        return most * w->item[item].last;
    return w->item[item].left + (w->held[item] ? much : 0);
}

static void bring(od_phase_device *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    const uint32_t *user = od_phase_users_of(w, item);
    w->used += p->size[item];
    w->lacking -= w->held[item] ? p->size[item] : 0;
    w->there[item] = true;
    w->item[item].enabled = 0;
    w->item[item].nurgent = 0;
    if (w->item[item].listed)
        w->rate[w->item[item].listed - 1] = 0;
    w->value[w->npresent] = value_of(w, item);
    w->present[w->npresent++] = item;
    w->item[item].position = w->npresent;
    for (uint32_t i = 0; i < w->item[item].nusers; i++) {
        w->task[user[i]].missing--;
        w->task[user[i]].lacking -= item;
        count_enabled(w, user[i], +1);
        offer(w, user[i]);
    }
}

/* Seconds of its next load. */
static double load_of_item(const od_phase_device *w, uint32_t item)
{
    return w->g->p->fresh[item] && !w->item[item].last ? 0 : w->g->p->load[item];
}

static void store(od_phase_device *w, uint32_t item)
{
    double seconds = w->g->p->load[item];
    w->out->stores += seconds;
    w->owed -= w->item[item].writes ? 0 : seconds;
    w->item[item].dirty = false;
}

static void lose(od_phase_device *w, uint32_t item)
{
    const od_phase_problem *p = w->g->p;
    const uint32_t *user = od_phase_users_of(w, item);
    w->used -= p->size[item];
    w->there[item] = false;
    w->lacking += w->held[item] && w->item[item].uses ? p->size[item] : 0;
    w->owed += w->is_whole && w->item[item].uses ? load_of_item(w, item) : 0;
    if (w->item[item].dirty)
        store(w, item);
    for (uint32_t i = 0; i < w->item[item].nusers; i++) {
        count_enabled(w, user[i], -1);
        w->task[user[i]].missing++;
        w->task[user[i]].lacking += item;
        count_enabled(w, user[i], +1);
    }
}

static void leave(od_phase_device *w, uint32_t item)
{
    uint32_t at = w->item[item].position - 1, last = w->present[--w->npresent];
    w->present[at] = last;
    w->value[at] = w->value[w->npresent];
    w->item[last].position = at + 1;
    w->item[item].position = 0;
    lose(w, item);
}

enum { VICTIMS = 128 }; /* items that are looked at when one is to go */

/* Tasks that use the item and have not been chosen. */
static uint32_t other_uses(const od_phase_device *w, uint32_t item)
{
    return w->g->first_user[item + 1] - w->g->first_user[item] - w->item[item].chosen_uses;
}

/* An item that no chosen task will use, the one that the fewest others will, or OD_NO_ITEM. */
static uint32_t useless_item(od_phase_device *w)
{
    uint32_t best = 0;
    if (!w->nuseless)
        return OD_NO_ITEM;
    for (uint32_t i = 1; i < w->nuseless && i < VICTIMS; i++)
        if (other_uses(w, w->useless[i]) < other_uses(w, w->useless[best]))
            best = i;
    uint32_t item = w->useless[best];
    w->useless[best] = w->useless[--w->nuseless];
    return item;
}

/* The first of the least in value[from .. to - 1] and value[best]. */
static uint32_t least_value(const double *value, uint32_t from, uint32_t to, uint32_t best)
{
    double least = value[best];
    for (uint32_t i = from; i < to; i++) {
        if (value[i] >= least)
            continue;
        least = value[i];
        best = i;
    }
    return best;
}

/* What the task (or OD_NO_ITEM) uses must not go; or may again. */
static void keep_items(od_phase_device *w, uint32_t task, bool keep)
{
    const od_phase_problem *p = w->g->p;
    if (task == OD_NO_ITEM)
        return;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++)
        if (w->there[p->use[u]])
            w->value[w->item[p->use[u]].position - 1] = keep ? (double)INFINITY : value_of(w, p->use[u]);
}

/* Of a number of items that are there, others each time, the one that is best lost; none of the task's. */
static uint32_t least_item(od_phase_device *w, uint32_t task)
{
    uint32_t n = w->npresent < VICTIMS ? w->npresent : VICTIMS;
    if (!n)
        return OD_NO_ITEM;
    uint32_t first = w->cursor % w->npresent, end = first + n;
    uint32_t wrapped = end > w->npresent ? end - w->npresent : 0;
    keep_items(w, task, true);
    uint32_t best = least_value(w->value, first, end - wrapped, first);
    best = least_value(w->value, 0, wrapped, best);
    uint32_t victim = isinf(w->value[best]) ? OD_NO_ITEM : w->present[best];
    keep_items(w, task, false);
    w->cursor += n;
    return victim;
}

static void make_room(od_phase_device *w, double size, uint32_t task)
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

void od_phase_load(od_phase_device *w, uint32_t item, uint32_t task)
{
    double seconds = load_of_item(w, item);
    make_room(w, w->g->p->size[item], task);
    w->out->loads += seconds;
    w->owed -= w->is_whole ? seconds : 0;
    w->nloads++;
    bring(w, item);
}

/* --- running ------------------------------------------------------------------------------ */

/* The task waits for no other one. */
static void make_ready(od_phase_device *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    w->task[task].missing = w->task[task].lacking = 0;
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        w->user[w->g->first_user[item] + w->item[item].nusers++] = task;
        w->task[task].missing += !w->there[item];
        w->task[task].lacking += w->there[item] ? 0 : item;
    }
    od_heap_push(&w->ready, task);
    count_enabled(w, task, +1);
    offer(w, task);
}

bool od_phase_release_next(od_phase_device *w)
{
    const od_phase_problem *p = w->g->p;
    if (w->released == w->out->ntasks)
        return false;
    uint32_t task = w->out->order[w->released++];
    for (uint32_t s = p->first_successor[task]; s < p->first_successor[task + 1]; s++) {
        uint32_t after = p->successor[s];
        if (w->chosen[after] && --w->task[after].unsat == 0)
            make_ready(w, after);
    }
    return true;
}

/* The task that leaves the window when one more has been ordered. */
static void move_window(od_phase_device *w)
{
    const od_phase_problem *p = w->g->p;
    if (w->out->ntasks <= p->window)
        return;
    uint32_t number = w->out->ntasks - p->window, task = w->out->order[number - 1];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        if (w->item[item].last != number || !w->item[item].position)
            continue;
        w->value[w->item[item].position - 1] = value_of(w, item);
        if (!w->item[item].uses)
            w->useless[w->nuseless++] = item;
    }
}

/* The task writes the item. */
static void soil(od_phase_device *w, uint32_t item)
{
    if (w->is_whole)
        w->item[item].writes--;
    else
        w->owed += w->item[item].dirty ? 0 : w->g->p->load[item];
    w->item[item].dirty = true;
}

void od_phase_run(od_phase_device *w, uint32_t task)
{
    const od_phase_problem *p = w->g->p;
    w->task[task].done = true;
    w->out->order[w->out->ntasks++] = task;
    w->out->seconds += p->seconds[task];
    for (uint32_t u = p->first_use[task]; u < p->first_use[task + 1]; u++) {
        uint32_t item = p->use[u];
        w->item[item].left -= p->seconds[task];
        w->item[item].uses--;
        w->item[item].last = w->out->ntasks;
        w->value[w->item[item].position - 1] = value_of(w, item);
        w->item[item].nrun++;
        if (p->writes[u])
            soil(w, item);
    }
    move_window(w);
    if (w->out->ntasks - w->released > p->window)
        od_phase_release_next(w);
}

/* --- life cycle --------------------------------------------------------------------------- */

/* What chosen tasks use, and how much of it. */
static void count_uses(od_phase_device *w)
{
    const od_phase_problem *p = w->g->p;
    const od_phase_choice *c = w->choice;
    for (uint32_t i = 0; i < p->nitems; i++) {
        w->lacking += w->held[i] ? p->size[i] : 0;
        if (c->used[i])
            w->item[i] = (od_device_item){0};
    }
    for (uint32_t i = 0; i < c->ntasks; i++)
        w->task[c->task[i]] = (od_device_task){0};
    for (uint32_t i = 0; i < c->ntasks; i++) {
        uint32_t t = c->task[i];
        for (uint32_t s = p->first_successor[t]; s < p->first_successor[t + 1]; s++)
            w->task[p->successor[s]].unsat++;
        for (uint32_t u = p->first_use[t]; u < p->first_use[t + 1]; u++) {
            od_device_item *item = &w->item[p->use[u]];
            item->left += p->seconds[t];
            item->uses++;
            item->chosen_uses++;
            item->writes += w->is_whole && p->writes[u];
        }
    }
}

/* How long the order gets, and whether it has all chosen tasks. */
static void measure(od_phase_device *w)
{
    static const double clearly = 1 + 1e-9;
    const od_phase_problem *p = w->g->p;
    double seconds = 0, longest = 0;
    for (uint32_t i = 0; i < w->choice->ntasks; i++) {
        seconds += p->seconds[w->choice->task[i]];
        longest = fmax(longest, p->seconds[w->choice->task[i]]);
    }
    w->is_whole = clearly * seconds < od_phase_limit(p);
    w->most_seconds = fmin(seconds, od_phase_limit(p) + longest);
}

/* What is there already, and what an order of all chosen tasks will have to load and store. */
static void bring_residents(od_phase_device *w)
{
    const od_phase_problem *p = w->g->p;
    for (uint32_t i = 0; i < p->nitems; i++) {
        if (!w->choice->used[i])
            continue;
        if (p->resident[i] && w->used + p->size[i] <= p->memory)
            bring(w, i);
        else
            w->owed += w->is_whole ? load_of_item(w, i) : 0;
        w->owed += w->item[i].writes ? p->load[i] : 0;
    }
}

void od_phase_begin(od_phase_device *w, const od_phase_choice *choice, double worth, od_phase_result *result,
                    bool *there)
{
    w->choice = choice;
    w->chosen = choice->chosen;
    w->held = choice->held;
    w->there = there;
    w->worth = worth;
    w->out = result;
    w->nwanted = w->npresent = w->cursor = w->nuseless = w->released = w->nloads = 0;
    w->used = w->lacking = w->owed = 0;
    result->ntasks = 0;
    result->seconds = result->loads = result->stores = result->held = 0;
    memset(there, 0, w->g->p->nitems);
    od_heap_clear(&w->ready);
    od_heap_clear(&w->runnable);
    measure(w);
    count_uses(w);
    for (uint32_t i = 0; i < choice->ntasks; i++)
        if (!w->task[choice->task[i]].unsat)
            make_ready(w, choice->task[i]);
    bring_residents(w);
}

void od_phase_free_device(od_phase_device *w)
{
    if (!w)
        return;
    free(w->item);
    free(w->task);
    free(w->user);
    free(w->wanted);
    free(w->rate);
    free(w->value);
    od_heap_free(&w->ready);
    od_heap_free(&w->runnable);
    free(w);
}

od_phase_device *od_phase_make_device(const od_phase_graph *g)
{
    const od_phase_problem *p = g->p;
    uint32_t nt = p->ntasks + 1, ni = p->nitems + 1, nu = p->first_use[p->ntasks] + 1;
    od_phase_device *w = od_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->g = g;
    w->least_load = (double)INFINITY;
    for (uint32_t i = 0; i < p->nitems; i++)
        w->least_load = fmin(w->least_load, p->load[i]);
    w->item = od_malloc(ni * sizeof *w->item);
    w->task = od_malloc(nt * sizeof *w->task);
    w->user = od_malloc(nu * sizeof *w->user);
    w->wanted = od_malloc(3 * (size_t)ni * sizeof *w->wanted);
    w->rate = od_malloc(ni * sizeof *w->rate);
    w->value = od_malloc(ni * sizeof *w->value);
    od_heap_init(&w->ready, is_more_urgent, w);
    od_heap_init(&w->runnable, is_more_urgent, w);
    bool ok = w->item && w->task && w->user && w->wanted && w->rate && w->value && !od_heap_reserve(&w->ready, nt) &&
              !od_heap_reserve(&w->runnable, nt);
    if (!ok) {
        od_phase_free_device(w);
        return NULL;
    }
    w->present = w->wanted + ni;
    w->useless = w->present + ni;
    return w;
}
