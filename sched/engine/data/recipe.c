/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recipes: how to make a datum's contents again instead of writing them back. See recompute.h. */
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* --- making and forgetting --------------------------------------------------------------------- */

/* The one access that writes, what had no contents or all of it; -1: there is none. */
static int32_t product_of(const od_task *t)
{
    int32_t product = -1;
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_access *a = &t->access[i];
        if (!(a->mode & OD_WRITE))
            continue;
        if (product >= 0 || (a->mode != OD_WRITE && !od_placeset_is_empty(a->datum->valid)))
            return -1;
        product = (int32_t)i;
    }
    return product;
}

/* The engine sees all that happens to it, and keeps it. */
static bool is_plain(const od_access *a)
{
    const od_datum *d = a->datum;
    return d->keep && !d->window && !(d->region && d->region->window) && !a->relocations && !d->discarding;
}

void od_recipe_begin(const od_engine *e, od_task *t)
{
    t->product = e->config.recompute && t->pure && !t->remakes ? product_of(t) : -1;
    for (uint32_t i = 0; t->product >= 0 && i < t->naccess; i++)
        if (!is_plain(&t->access[i]))
            t->product = -1;
}

static void add_inputs(od_recipe *r)
{
    const od_task *t = r->task;
    for (uint32_t i = 0; i < t->naccess; i++) {
        if (t->access[i].datum == r->product) {
            t->access[i].mode = OD_WRITE;
            continue;
        }
        od_recipe_use *use = &r->input[r->ninputs++];
        *use = (od_recipe_use){.recipe = r, .datum = t->access[i].datum};
        od_list_push_back(&use->datum->recipes, &use->link);
    }
}

static double seconds_of(const od_task *t)
{
    uint64_t from = t->from_ns ? t->from_ns : t->start_ns, to = t->to_ns ? t->to_ns : t->end_ns;
    return to > from ? (double)(to - from) * 1e-9 : 0;
}

void od_recipe_note(od_engine *e, const od_task *t)
{
    if (t->product < 0 || !e->config.recompute)
        return;
    od_task *again = e->config.driver_ops->again(e->config.driver, t);
    od_recipe *r = again ? od_calloc(1, sizeof *r + t->naccess * sizeof r->input[0]) : NULL;
    if (!r) {
        if (again)
            e->config.driver_ops->free_again(e->config.driver, again);
        return;
    }
    r->task = again;
    r->product = t->access[t->product].datum;
    r->seconds = seconds_of(t);
    again->remakes = r;
    add_inputs(r);
    r->product->recipe = r;
    od_list_push_back(&e->recipes, &r->link);
}

void od_recipe_settle(od_engine *e, od_recipe *r)
{
    e->dropped--;
    for (uint32_t i = 0; i < r->ninputs; i++)
        r->input[i].datum->needed--;
}

void od_recipe_destroy(od_engine *e, od_recipe *r)
{
    od_list_remove(&e->recipes, &r->link);
    e->config.driver_ops->free_again(e->config.driver, r->task);
    free(r);
}

void od_recipe_forget(od_engine *e, od_datum *d)
{
    od_recipe *r = d->recipe;
    if (!r)
        return;
    assert(!r->wanted);
    if (od_datum_is_dropped(d)) {
        od_recipe_settle(e, r);
        d->valid = od_placeset_of(OD_HOST);
    }
    for (uint32_t i = 0; i < r->ninputs; i++)
        od_list_remove(&r->input[i].datum->recipes, &r->input[i].link);
    d->recipe = NULL;
    if (!r->held)
        od_recipe_destroy(e, r);
}

void od_recipe_changed(od_engine *e, od_datum *d)
{
    assert(!d->needed);
    od_recipe_forget(e, d);
    od_list_each(it, &d->recipes)
        od_recipe_forget(e, od_container_of(it, od_recipe_use, link)->recipe->product);
}

void od_recipe_destroy_all(od_engine *e)
{
    od_list_each(it, &e->recipes)
        od_recipe_destroy(e, od_container_of(it, od_recipe, link));
}

/* --- drop or write back ------------------------------------------------------------------------- */

static double copy_seconds(const od_link *link, const od_datum *d)
{
    return link->bandwidth > 0 ? link->latency + (double)d->size / link->bandwidth : HUGE_VAL;
}

static uint32_t uses_to_come(const od_datum *d)
{
    return d->tasks + d->forecast;
}

/* It will be there when the product is needed, and nothing is about to change it. */
static bool is_at_rest(const od_datum *d)
{
    return !od_datum_is_dropped(d) && !d->writers && !d->items && !d->lent && !d->bound && !d->discarding;
}

/* What other tasks use as well is taken to stay on the device. */
static double rerun_seconds(const od_engine *e, const od_recipe *r, unsigned k)
{
    double seconds = r->seconds;
    for (uint32_t i = 0; i < r->ninputs; i++) {
        const od_datum *d = r->input[i].datum;
        if (!uses_to_come(d) || !od_datum_is_resident(d, k))
            seconds += copy_seconds(od_engine_link(e, OD_HOST, (int)k), d);
    }
    return seconds;
}

/* Of the time of the device's transfers so far, the part that no task has hidden. Without any nothing is known: the
 * first contents are written back. */
static double exposed(const od_device_stats *stats)
{
    return stats->transfer_ns ? 1 - (double)stats->overlapped_ns / (double)stats->transfer_ns : 0;
}

/* Written back once, it could be loaded for each use, behind other tasks perhaps; dropped, it is made for each. */
static bool is_faster(const od_engine *e, const od_recipe *r, unsigned k)
{
    const od_datum *d = r->product;
    double uses = uses_to_come(d) ? uses_to_come(d) : 1;
    double store = copy_seconds(od_engine_link(e, (int)k, OD_HOST), d);
    double load = copy_seconds(od_engine_link(e, OD_HOST, (int)k), d);
    return uses * rerun_seconds(e, r, k) < exposed(&e->device[k].stats) * (store + uses * load);
}

static bool may_drop(const od_engine *e, const od_recipe *r)
{
    const od_datum *d = r->product;
    bool may = e->config.recompute && !r->wanted && !r->fresh && !d->needed && is_at_rest(d);
    for (uint32_t i = 0; may && i < r->ninputs; i++)
        may = is_at_rest(r->input[i].datum);
    return may;
}

bool od_recipe_drops(od_engine *e, od_datum *d, unsigned k)
{
    od_recipe *r = d->recipe;
    if (!r || !may_drop(e, r) || (e->config.recompute == OD_RECOMPUTE_AUTO && !is_faster(e, r, k)))
        return false;
    e->device[k].stats.dropped_bytes += d->size;
    e->dropped++;
    for (uint32_t i = 0; i < r->ninputs; i++)
        r->input[i].datum->needed++;
    d->valid = od_placeset_of(OD_RECIPE);
    return true;
}

/* --- who needs it again ---------------------------------------------------------------------------- */

void od_recipe_want(od_engine *e, od_datum *d, int k)
{
    od_recipe *r = d->recipe;
    if (r->wanted)
        return;
    r->wanted = true;
    r->where = k;
    od_list_push_back(&e->wanted, &r->want);
}

bool od_recipe_secures(od_engine *e, od_datum *d)
{
    if (!d->needed)
        return false;
    od_list_each(it, &d->recipes) {
        od_recipe *r = od_container_of(it, od_recipe_use, link)->recipe;
        if (!od_datum_is_dropped(r->product))
            continue;
        r->last = true;
        od_recipe_want(e, r->product, OD_NOWHERE);
    }
    return true;
}

static bool makes_program_hold(const od_task *t)
{
    return t->outer || t->shows || t->advisory;
}

void od_recipe_stop(od_engine *e, const od_task *t)
{
    if (!e->config.recompute || !makes_program_hold(t))
        return;
    e->config.recompute = OD_RECOMPUTE_OFF;
    od_list_each(it, &e->recipes) {
        od_datum *d = od_container_of(it, od_recipe, link)->product;
        if (od_datum_is_dropped(d))
            od_recipe_want(e, d, OD_NOWHERE);
        else
            od_recipe_forget(e, d);
    }
}

bool od_recipe_precedes(od_engine *e, const od_task *t, int place)
{
    bool waits = e->dropped && makes_program_hold(t);
    if (!e->dropped || t->remakes)
        return false;
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (od_datum_is_dropped(d)) {
            od_recipe_want(e, d, place < OD_SPILL ? place : OD_NOWHERE);
            waits = true;
        }
        waits |= (t->access[i].mode & OD_WRITE) && od_recipe_secures(e, d);
    }
    return waits;
}
