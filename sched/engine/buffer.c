/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Task buffers. A device with room in its buffer is given a task that only it may run, else one of the policy's, and
 * more than a buffer holds where it would otherwise load nothing (od_engine_config.ahead).
 */
#include "sched/engine/internal.h"

void od_buffer_force(od_engine *e, od_task *t, unsigned k)
{
    t->state = OD_TASK_READY;
    od_list_push_back(&e->device[k].forced, &t->link);
    od_placeset_add(&e->todo, k);
}

void od_buffer_put(od_engine *e, od_task *t, unsigned k, bool front)
{
    t->state = OD_TASK_BUFFERED;
    t->place = (int)k;
    t->prefetched = false;
    t->compactions = 0;
    od_stats_account(e, k);
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->replica[k].buffered_uses++;
    if (front)
        od_list_push_front(&e->device[k].buffer, &t->link);
    else
        od_list_push_back(&e->device[k].buffer, &t->link);
    od_emit_task(e, OD_EVENT_TASK_BUFFERED, t);
    od_placeset_add(&e->todo, k);
}

void od_buffer_leave(od_engine *e, od_task *t, unsigned k)
{
    od_stats_account(e, k);
    od_list_remove(&e->device[k].buffer, &t->link);
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->replica[k].buffered_uses--;
    od_placeset_remove(&e->rights_waiters, k);
}

/* The policy counts on data that a buffered task was going to bring: what is not there will not come. */
static void forget_promises(od_engine *e, const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->replica[k].state == OD_ABSENT || t->access[i].datum->replica[k].state == OD_LEAVING)
            od_hook_evicted(e, t->access[i].datum, k);
}

/* Takes a task out of the buffer again. */
void od_buffer_take_back(od_engine *e, od_task *t, unsigned k)
{
    od_buffer_leave(e, t, k);
    forget_promises(e, t, k);
}

static od_task *ask_policy(od_engine *e, unsigned k)
{
    od_task *t = e->in_policy ? od_hook_pop(e, k) : NULL;
    if (t)
        od_policy_gives(e, t);
    return t;
}

/* What the policy has for a lost device. */
static od_task *ask_for_lost(od_engine *e)
{
    od_task *t = NULL;
    od_placeset_walk at = od_placeset_begin(e->lost);
    while (!t && od_placeset_next(&at)) {
        t = ask_policy(e, at.place);
        if (t)
            forget_promises(e, t, at.place);
    }
    return t;
}

static od_task *next_task(od_engine *e, unsigned k)
{
    od_node *node = od_list_pop_front(&e->device[k].forced);
    if (node)
        return od_container_of(node, od_task, link);
    od_task *t = ask_policy(e, k);
    return t ? t : ask_for_lost(e);
}

void od_buffer_add_load(const od_engine *e, unsigned k, const od_list *tasks, od_device_load *load)
{
    od_list_each(node, tasks) {
        load->seconds += od_policy_seconds(&e->env, od_container_of(node, od_task, link), k);
        load->queued++;
    }
}

/* Each other device could take several times as many of the ready tasks, or none of these. */
static bool leaves_enough(const od_engine *e, size_t taken)
{
    enum { TIMES = 8 };
    return e->config.policy->places_at_arrival || e->in_policy >= TIMES * (e->config.ndevices - 1) * taken;
}

/* While the program waits, a device that loads nothing, though it has work, takes tasks beyond its buffer, up to
 * `ahead` mean durations of what is ready: their loads hide behind what it computes now, and would not later. While the
 * program creates tasks the device would take whatever comes first. */
static bool looks_ahead(const od_engine *e, const od_device *device)
{
    od_device_load load = {0};
    if (!e->config.ahead || !e->awaited || device->loads || !device->committed.count ||
        device->buffer.count >= OD_MOST_AHEAD || !e->in_policy || !leaves_enough(e, device->buffer.count + 1))
        return false;
    od_buffer_add_load(e, (unsigned)(device - e->device), &device->buffer, &load);
    return load.seconds < (double)e->config.ahead * e->policy_seconds / (double)e->in_policy;
}

static size_t load_of(const od_device *device)
{
    return device->buffer.count + device->committed.count + device->running;
}

/* The device with the fewest tasks that still has room in its buffer and was not in `refused`. */
static int hungriest(const od_engine *e, od_placeset refused)
{
    int best = OD_NOWHERE;
    size_t fewest = SIZE_MAX;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device *device = &e->device[k];
        size_t load = load_of(device);
        if (!od_placeset_has(refused, k) && load < fewest &&
            (device->buffer.count < e->config.buffer || looks_ahead(e, device))) {
            best = (int)k;
            fewest = load;
        }
    }
    return best;
}

/* The same order, for a heap. */
bool od_buffer_is_hungrier(const void *engine, uint32_t a, uint32_t b)
{
    const od_engine *e = engine;
    size_t x = load_of(&e->device[a]), y = load_of(&e->device[b]);
    return x != y ? x < y : a < b;
}

/* Many devices are put into a heap first: nothing changes there but the one that gets a task. Who looks ahead may
 * begin to want one when another device gets it. */
static bool has_many(const od_engine *e)
{
    return e->config.ndevices > OD_ENGINE_FEW && !e->config.ahead;
}

static void collect_hungry(od_engine *e)
{
    od_heap_clear(&e->hungry);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        if (e->device[k].buffer.count < e->config.buffer && !od_device_is_lost(e, (int)k))
            od_heap_push(&e->hungry, k);
}

static int next_hungry(od_engine *e, od_placeset refused)
{
    if (!has_many(e))
        return hungriest(e, refused);
    uint32_t k = od_heap_first(&e->hungry);
    return k == OD_HEAP_NONE ? OD_NOWHERE : (int)k;
}

/* It has been asked. */
static void settle_hungry(od_engine *e, unsigned k, bool got)
{
    if (!od_heap_contains(&e->hungry, k))
        return;
    if (got && e->device[k].buffer.count < e->config.buffer)
        od_heap_lowered(&e->hungry, k);
    else
        od_heap_remove(&e->hungry, k);
}

/* No device has to be asked whether it wants a task where there is none. */
static bool has_unbuffered_tasks(const od_engine *e)
{
    bool any = e->in_policy > 0;
    for (unsigned k = 0; !any && k < e->config.ndevices; k++)
        any = e->device[k].forced.count > 0;
    return any;
}

/* Fills the task buffers, the emptiest device first, so that few tasks spread. */
bool od_buffer_fill(od_engine *e)
{
    od_placeset refused = e->lost;
    bool any = false;
    int k;
    if (has_many(e) && has_unbuffered_tasks(e))
        collect_hungry(e);
    while (has_unbuffered_tasks(e) && (k = next_hungry(e, refused)) != OD_NOWHERE) {
        e->adopted = false;
        od_task *t = next_task(e, (unsigned)k);
        if (t)
            od_buffer_put(e, t, (unsigned)k, false);
        settle_hungry(e, (unsigned)k, t != NULL);
        if (e->adopted && has_many(e))
            collect_hungry(e);
        if (e->adopted)
            refused = e->lost;
        else if (!t || e->device[k].buffer.count > e->config.buffer) /* ahead one by one: perhaps it begins a load */
            od_placeset_add(&refused, k);
        any |= t != NULL;
    }
    od_heap_clear(&e->hungry);
    while (od_no_device_is_left(e) && (!e->config.cpus || e->host_given < e->config.cpus)) {
        od_task *t = ask_for_lost(e);
        if (!t)
            break;
        od_host_wait(e, t);
        any = true;
    }
    return any;
}
