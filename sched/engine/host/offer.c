/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What CPU workers take.
 *
 * A CPU worker runs host versions beside the devices, with the host's memory as its own: nothing is copied for it, but
 * what only a device has comes home, and what it writes makes the devices' copies old. The policy decides what each
 * device is to do next; an idle worker then takes, out of the task buffers of all devices, the task that loses least by
 * it: with the lowest ratio of the time there to that on a device, then with the fewest bytes that cross the links for
 * it. Its place in the buffer is filled by the policy. So every policy is as data-aware as without, and plans nothing
 * for CPU workers.
 *
 * It is taken only where the whole does not end later: while the worker computes, the devices must have other work that
 * is ready already, and what the links carry in addition must take less time than the devices are spared; nothing more
 * where a device waits for its loads already. The most urgent task of all goes to where it is expected to be complete
 * first. (Acceleration factors: as in HeteroPrio, without its queue per factor.)
 */
#include "sched/engine/internal.h"

typedef struct view {
    const od_engine *e;
    double seconds;       /* until the devices have done what is ready */
    int32_t most_urgent;  /* priority of that task, where it is the only one; else INT32_MAX */
    bool waits_for_loads; /* a device does */
} view;

typedef struct offer {
    od_task *task;
    unsigned k;
    double slowness;   /* times slower than a device */
    double more_bytes; /* that cross the links for it; negative: fewer do */
} offer;

/* --- what may be taken ------------------------------------------------------------------- */

/* Inside a region the program's memory stays as it is: its contents are used in the spill area, by device code that
 * reaches it. */
static bool reaches_region(const od_engine *e, const od_task *t, const od_datum *d)
{
    return !e->config.spill ||
           (e->config.in_process && t->uses_spill && !od_placeset_is_empty(d->valid) && !e->config.spill_limit);
}

static bool may_use(const od_engine *e, const od_task *t, const od_access *a)
{
    const od_datum *d = a->datum;
    if (d->home != OD_NOWHERE || d->lent || d->items || d->window || od_datum_is_dropped(d))
        return false;
    if ((a->mode & OD_WRITE) && d->users)
        return false;
    return !d->region || (!a->relocations && reaches_region(e, t, d));
}

static bool may_take(const od_engine *e, const od_task *t)
{
    if (t->host_seconds < 0 || t->bound != OD_NOWHERE || t->outer || t->external || t->shows || t->advisory ||
        t->needs_device || t->remakes)
        return false;
    for (uint32_t i = 0; i < t->naccess; i++)
        if (!may_use(e, t, &t->access[i]))
            return false;
    return true;
}

/* --- what it costs ------------------------------------------------------------------------ */

static size_t bytes_to_fetch(const od_task *t)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->naccess; i++)
        if ((t->access[i].mode & OD_READ) && !od_datum_is_home(t->access[i].datum))
            bytes += t->access[i].datum->size;
    return bytes;
}

/* Results that devices have a copy of go back there, what is missing on k is not loaded. */
static double more_bytes(const od_task *t, unsigned k)
{
    double bytes = (double)bytes_to_fetch(t) - (double)od_memory_missing(t, k);
    for (uint32_t i = 0; i < t->naccess; i++)
        if ((t->access[i].mode & OD_WRITE) && t->access[i].datum->nreplicas)
            bytes += (double)t->access[i].datum->size;
    return bytes;
}

static double seconds_on_cpu(const od_engine *e, const od_task *t, unsigned k)
{
    const od_link *link = od_engine_link(e, (int)k, OD_HOST);
    size_t bytes = bytes_to_fetch(t);
    double transfer = bytes ? link->latency + (double)bytes / link->bandwidth : 0;
    return od_host_seconds(e, t->host_seconds, t->duration) + transfer;
}

static double ready_seconds(const od_engine *e)
{
    double seconds = e->policy_seconds;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        od_device_load load = {0};
        od_buffer_add_load(e, k, &e->device[k].forced, &load);
        seconds += load.seconds + e->env.load(e->env.engine, k).seconds;
    }
    return seconds / (e->nactive * e->config.slots);
}

/* --- which one ------------------------------------------------------------------------------ */

static void look_at_priority(view *v, int32_t priority, bool *seen, int32_t *most)
{
    if (!*seen || priority > *most)
        v->most_urgent = priority;
    else if (priority == *most)
        v->most_urgent = INT32_MAX;
    *most = !*seen || priority > *most ? priority : *most;
    *seen = true;
}

static view look(const od_engine *e)
{
    view v = {.e = e, .seconds = ready_seconds(e), .most_urgent = INT32_MAX};
    int32_t most = 0;
    bool seen = false;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device *device = &e->device[k];
        v.waits_for_loads |= !device->running && device->committed.count;
        od_list_each(node, &device->buffer)
            look_at_priority(&v, od_container_of(node, od_task, link)->priority, &seen, &most);
    }
    return v;
}

static bool pays(const view *v, const offer *o, double seconds_there)
{
    double seconds = seconds_on_cpu(v->e, o->task, o->k);
    double most_bytes = v->waits_for_loads ? 0 : od_policy_seconds(&v->e->env, o->task, o->k) * v->e->env.inbound;
    if (o->task->priority == v->most_urgent && seconds > seconds_there)
        return false;
    return seconds <= v->seconds && o->more_bytes <= most_bytes;
}

static bool is_better(const offer *a, const offer *b)
{
    return !b->task || a->slowness < b->slowness || (a->slowness <= b->slowness && a->more_bytes < b->more_bytes);
}

static void look_through(const view *v, unsigned k, offer *best)
{
    const od_device *device = &v->e->device[k];
    od_device_load before = {.seconds = device->running_seconds};
    od_buffer_add_load(v->e, k, &device->committed, &before);
    od_list_each(node, &device->buffer) {
        od_task *t = od_container_of(node, od_task, link);
        double seconds = od_host_seconds(v->e, t->host_seconds, t->duration);
        double there = od_policy_seconds(&v->e->env, t, k);
        before.seconds += there;
        if (!may_take(v->e, t))
            continue;
        offer o = {t, k, there > 0 ? seconds / there : od_host_slowness(v->e), more_bytes(t, k)};
        if (is_better(&o, best) && pays(v, &o, before.seconds))
            *best = o;
    }
}

static bool give_one(od_engine *e)
{
    view v = look(e);
    offer best = {0};
    for (unsigned k = 0; k < e->config.ndevices; k++)
        look_through(&v, k, &best);
    if (!best.task)
        return false;
    od_buffer_take_back(e, best.task, best.k);
    od_placeset_add(&e->todo, best.k); /* another may be the first there now, or have waited for rights */
    best.task->place = OD_NOWHERE; /* no device has been given it */
    od_host_wait(e, best.task);
    return true;
}

unsigned od_host_allowed(const od_engine *e)
{
    const od_driver_ops *ops = e->config.driver_ops;
    return ops->cpus ? ops->cpus(e->config.driver, e->host_given) : e->config.cpus;
}

bool od_host_offer(od_engine *e)
{
    bool any = false;
    if (e->host_given >= e->config.cpus || e->config.devices_only)
        return false;
    unsigned most = od_host_allowed(e);
    while (e->host_given < most && give_one(e))
        any = true;
    return any;
}
