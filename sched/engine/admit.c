/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The guard (OMPDARTS_GUARD): data that live on devices only stay within a bound. A ready task that would make some of
 * them is held back until the banker (sched/guard/banker.h) lets them be made; nothing else of the engine knows of it.
 */
#include "sched/engine/internal.h"

#include "util/log.h"

#include <math.h>

enum { MOST_MADE = 16, LOOK_AT = 8 };

/* --- the bound ------------------------------------------------------------------------------------------ */

static size_t less(size_t bytes, size_t by)
{
    return bytes > by ? bytes - by : 0;
}

/* What the devices and the spill area hold beside the data of a task on each device; the end of each may be too small
 * for any datum. */
static int64_t room_for_data(const od_engine *e, size_t footprint, size_t datum)
{
    size_t beside = less(e->config.memory, footprint);
    beside -= datum ? beside % datum : 0;
    return (int64_t)(beside * e->config.ndevices + less(e->config.spill_limit, datum));
}

static int64_t bound_of(const od_engine *e, size_t footprint, size_t datum)
{
    int64_t room = room_for_data(e, footprint, datum);
    if (!e->config.spill_limit)
        return e->config.guard == OD_GUARD_AUTO ? room : e->config.guard;
    return e->config.guard > 0 && e->config.guard < room ? e->config.guard : room;
}

static const char *bound_name(const od_engine *e)
{
    bool guards = e->config.guard > 0 && e->admission.bound == e->config.guard;
    return guards ? "OMPDARTS_GUARD" : "the devices and OMPDARTS_SPILL_LIMIT hold";
}

od_status od_admit_init(od_engine *e)
{
    od_admission *g = &e->admission;
    od_list_init(&g->held);
    g->weighs = e->config.guard == OD_GUARD_AUTO && !e->config.spill_limit;
    if (!e->config.guard && !e->config.spill_limit)
        return OD_OK;
    g->bound = bound_of(e, 0, 0);
    g->lifetimes = od_lifetimes_create(g->bound);
    return g->lifetimes ? OD_OK : OD_ENOMEM;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The banker goes by what is expected, messages by what is there: an item may name nothing. */
static void set_bounds(od_engine *e)
{
    od_admission *g = &e->admission;
    size_t footprint = larger(g->footprint, g->expected), datum = larger(g->datum, g->expected_datum);
    g->bound = bound_of(e, g->footprint, g->datum);
    od_banker_set_bound(od_lifetimes_banker(g->lifetimes), bound_of(e, footprint, datum));
}

/* A larger task than any before needs more room beside the data. */
static void note_footprint(od_engine *e, const od_task *t)
{
    if (!e->config.spill_limit || t->footprint <= e->admission.footprint)
        return;
    e->admission.footprint = t->footprint;
    for (uint32_t i = 0; i < t->naccess; i++)
        e->admission.datum = larger(e->admission.datum, t->access[i].datum->size);
    set_bounds(e);
}

/* Of what a depend item names; where nothing is known of it, it is taken to be as large as others. */
static size_t expected_size(const od_engine *e, uintptr_t address)
{
    const od_datum *d = od_directory_find(e->directory, address, 0);
    size_t size = od_lifetimes_size(e->admission.lifetimes, address);
    return d && d->base == address ? d->size : size ? size : larger(e->admission.datum, e->admission.expected_datum);
}

/* Before it is ready: what is made for it first would not know that it needs room. */
static void expect(od_engine *e, const od_submission *s)
{
    od_admission *g = &e->admission;
    size_t bytes = 0, most = g->expected_datum;
    for (uint32_t i = 0; i < s->nuses; i++) {
        size_t size = expected_size(e, s->uses[i].address);
        bytes += od_pool_rounded(e->device[0].pool, size);
        most = larger(most, size);
    }
    if (bytes <= g->expected || bytes > e->config.memory)
        return;
    g->expected = bytes;
    g->expected_datum = most;
    set_bounds(e);
}

/* Before the tasks run that need it, and as far as they are known. */
static void foresee(od_engine *e)
{
    od_admission *g = &e->admission;
    int64_t excess = g->foreseen || g->weighs ? 0 : od_lifetimes_need(g->lifetimes) - g->bound;
    if (excess <= 0)
        return;
    g->foreseen = true;
    od_log(OD_LOG_WARNING, "engine",
           "in the order of the program, data that live on devices only need %lld bytes more than %s: that "
           "bound will be exceeded",
           (long long)excess, bound_name(e));
}

/* --- what it costs and saves ------------------------------------------------------------------------ */

/* Whether the wait is shorter than a write to the spill area and a load from there. While devices have other work it
 * costs nothing; otherwise they wait for what is left of the steps before, each of them for its share. */
static bool pays(const od_engine *e, int64_t bytes, od_banker_step wait)
{
    const od_link *link = od_engine_link(e, OD_HOST, 0);
    double moved = link->bandwidth > 0 ? 2 * (link->latency + (double)bytes / link->bandwidth) : HUGE_VAL;
    if (e->in_policy >= e->config.ndevices)
        return true;
    return od_banker_seconds(od_lifetimes_banker(e->admission.lifetimes), wait) / e->config.ndevices < moved;
}

/* --- the gate ---------------------------------------------------------------------------------------- */

static od_banker_step step_of(const od_task *t)
{
    return t->submission ? t->submission->step : OD_BANKER_NO_STEP;
}

/* What the task would be the first to write, of the data that are guarded. */
static uint32_t find_unmade(od_engine *e, const od_task *t, od_banker_datum **unmade)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->naccess && n < MOST_MADE; i++) {
        const od_datum *d = t->access[i].datum;
        const od_region *region = d->region;
        if (!region || !region->undefined)
            continue;
        if (d->base != region->base || d->size != region->size) {
            od_lifetimes_divided(e->admission.lifetimes, region->base);
            continue;
        }
        od_banker_datum *datum = od_lifetimes_use(e->admission.lifetimes, d->base, d->size, step_of(t));
        if (datum && !datum->made)
            unmade[n++] = datum;
    }
    return n;
}

static void warn(od_engine *e)
{
    int64_t excess = od_banker_in_memory(od_lifetimes_banker(e->admission.lifetimes)) - e->admission.bound;
    if (excess <= 0 || e->admission.warned || e->admission.weighs)
        return;
    e->admission.warned = true;
    od_log(OD_LOG_WARNING, "engine",
           "data that live on devices only take %lld bytes more than %s: all tasks before the one that makes them have "
           "ended, so that waiting would free nothing",
           (long long)excess, bound_name(e));
}

/* True: it may not go on yet. */
static bool must_wait(od_engine *e, const od_task *t)
{
    od_banker_datum *unmade[MOST_MADE];
    od_banker_step wait;
    od_banker *banker = od_lifetimes_banker(e->admission.lifetimes);
    uint32_t n = find_unmade(e, t, unmade);
    int64_t bytes = 0;
    if (!n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        bytes += unmade[i]->bytes;
    if (step_of(t) != OD_BANKER_NO_STEP && !od_banker_make(banker, unmade, n, &wait)) {
        if (!e->admission.weighs || pays(e, bytes, wait))
            return true;
    }
    od_banker_make_anyway(banker, unmade, n);
    warn(e);
    return false;
}

/* In the order of submission. */
static void hold(od_engine *e, od_task *t)
{
    od_node *where = &e->admission.held.root;
    while (where->prev != &e->admission.held.root && step_of(od_container_of(where->prev, od_task, link)) > step_of(t))
        where = where->prev;
    od_list_insert_before(&e->admission.held, where, &t->link);
}

bool od_admit_waits(od_engine *e, od_task *t)
{
    if (!e->admission.lifetimes || t->outer)
        return false;
    note_footprint(e, t);
    foresee(e);
    if (!must_wait(e, t))
        return false;
    hold(e, t);
    e->admission.holds++;
    return true;
}

od_task *od_admit_release(od_engine *e, bool force)
{
    uint32_t looked = 0;
    od_list_each(it, &e->admission.held) {
        od_task *t = od_container_of(it, od_task, link);
        bool waits = must_wait(e, t);
        if (waits && !force && ++looked < LOOK_AT)
            continue;
        if (waits && !force)
            return NULL;
        if (waits) {
            od_banker_datum *unmade[MOST_MADE];
            od_banker_make_anyway(od_lifetimes_banker(e->admission.lifetimes), unmade, find_unmade(e, t, unmade));
        }
        od_list_remove(&e->admission.held, &t->link);
        return t;
    }
    return NULL;
}

/* --- what is submitted ------------------------------------------------------------------------------ */

void od_admit_submit(od_engine *e, od_submission *s, double seconds)
{
    s->step = OD_BANKER_NO_STEP;
    e->events++;
    if (e->admission.lifetimes)
        s->step = od_lifetimes_submit(e->admission.lifetimes, seconds, s->uses, s->nuses);
    if (e->config.spill_limit)
        expect(e, s);
}

void od_admit_end(od_engine *e, const od_submission *s)
{
    if (!s || !e->admission.lifetimes)
        return;
    od_lifetimes_end(e->admission.lifetimes, s->step, s->uses, s->nuses);
    e->admission.changed = e->admission.held.count > 0;
}

od_banker_step od_engine_construct(od_engine *e)
{
    od_lifetimes *lifetimes = e->admission.lifetimes;
    return lifetimes ? od_lifetimes_construct(lifetimes) : OD_BANKER_NO_STEP;
}

void od_engine_construct_opens(od_engine *e, uintptr_t base, size_t size)
{
    if (e->admission.lifetimes)
        od_lifetimes_opens(e->admission.lifetimes, base, size);
}

void od_engine_construct_closes(od_engine *e, od_banker_step construct, uintptr_t base)
{
    if (!e->admission.lifetimes)
        return;
    od_lifetimes_closes(e->admission.lifetimes, base, construct);
    foresee(e);
    e->admission.changed = e->admission.held.count > 0;
}

void od_admit_opened(od_engine *e, uintptr_t base, size_t size, bool undefined)
{
    if (undefined)
        od_engine_construct_opens(e, base, size);
    else if (e->admission.lifetimes)
        od_lifetimes_divided(e->admission.lifetimes, base);
}

void od_admit_closed(od_engine *e, const od_region *region)
{
    if (e->admission.lifetimes)
        od_lifetimes_closed(e->admission.lifetimes, region->base);
    e->admission.changed = e->admission.held.count > 0;
}

/* --- nothing else moves ------------------------------------------------------------------------------ */

bool od_admit_holds_all(const od_engine *e)
{
    return e->admission.held.count && e->admission.held.count == e->unfinished;
}

static bool runs_nothing(const od_engine *e)
{
    for (unsigned k = 0; k < e->config.ndevices; k++)
        if (e->device[k].running > e->device[k].blocked)
            return false;
    return !e->host_runs && !e->transfers.count;
}

bool od_admit_is_stuck(const od_engine *e)
{
    return e->spill_full && e->unfinished && runs_nothing(e);
}

bool od_engine_holds_all(const od_engine *e)
{
    return od_admit_holds_all(e) || od_admit_is_stuck(e);
}
