/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Task buffers. A device with room in its buffer is given a task that only it may run, else one of the policy's, and
 * more than a buffer holds where it would otherwise load nothing (od_engine_config.ahead).
 */
#include "sched/engine/internal.h"

void od_buffer_force(od_engine *e, od_task *t, unsigned k)
{
    t->state = OD_TASK_READY;
    od_hook_forced(e, t);
    od_list_push_back(&e->device[k].forced, &t->link);
    od_placeset_add(&e->forced, k);
    od_placeset_add(&e->todo, k);
}

void od_buffer_unforce(od_engine *e, od_task *t, unsigned k)
{
    od_list_remove(&e->device[k].forced, &t->link);
    if (!e->device[k].forced.count)
        od_placeset_remove(&e->forced, k);
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
    od_device_moved(e, k);
    od_emit_task(e, OD_EVENT_TASK_BUFFERED, t);
    od_placeset_add(&e->todo, k);
}

void od_buffer_leave(od_engine *e, od_task *t, unsigned k)
{
    od_stats_account(e, k);
    od_list_remove(&e->device[k].buffer, &t->link);
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->replica[k].buffered_uses--;
    od_device_moved(e, k);
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
    od_node *node = od_list_first(&e->device[k].forced);
    od_task *t = node ? od_container_of(node, od_task, link) : ask_policy(e, k);
    if (node)
        od_buffer_unforce(e, t, k);
    return t ? t : ask_for_lost(e);
}

void od_buffer_add_load(const od_engine *e, unsigned k, const od_list *tasks, od_device_load *load)
{
    od_list_each(node, tasks) {
        load->seconds += od_policy_seconds(&e->env, od_container_of(node, od_task, link), k);
        load->queued++;
    }
}

/* --- who is asked next ---------------------------------------------------------------------- */

/* Each other active device could take several times as many of the ready tasks, or none of these. */
static bool leaves_enough(const od_engine *e, size_t taken)
{
    enum { TIMES = 8 };
    return e->config.policy->places_at_arrival || e->in_policy >= TIMES * (e->nactive - 1) * taken;
}

/* A device with a full buffer that loads nothing, though it has work. */
static bool has_free_link(const od_device *device)
{
    return !device->loads && device->committed.count && device->buffer.count < OD_MOST_AHEAD;
}

/* The order of od_engine.shortest. */
bool od_buffer_is_shorter(const void *engine, uint32_t a, uint32_t b)
{
    const od_engine *e = engine;
    double x = e->device[a].buffer_seconds, y = e->device[b].buffer_seconds;
    return x < y || (x <= y && a < b);
}

/* Whether the device has room in its buffer. */
static void sort(od_engine *e, unsigned k)
{
    const od_device *device = &e->device[k];
    int tasks = (int)(device->buffer.count + device->committed.count + device->running);
    bool has_room = !od_device_is_lost(e, (int)k) && device->buffer.count < e->config.buffer;
    od_hungry_set(&e->hungry, k, has_room ? tasks : OD_NOT_HUNGRY);
}

/* Those whose numbers have changed. */
static void sort_moved(od_engine *e)
{
    for (od_placeset_walk at = od_placeset_begin(e->moved); od_placeset_next(&at);)
        sort(e, at.place);
    e->moved_ahead = od_placeset_union(e->moved_ahead, e->moved);
    e->moved = OD_NO_PLACES;
}

/* Whether the device, with a full buffer, may look ahead. */
static void sort_ahead(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    int tasks = (int)(device->buffer.count + device->committed.count + device->running);
    bool full = !od_device_is_lost(e, (int)k) && device->buffer.count >= e->config.buffer;
    bool ahead = full && has_free_link(device);
    od_hungry_set(&e->ahead, k, ahead ? tasks : OD_NOT_HUNGRY);
    if (od_heap_contains(&e->shortest, k))
        od_heap_remove(&e->shortest, k);
    if (!ahead)
        return;
    od_device_load load = {0};
    od_buffer_add_load(e, k, &device->buffer, &load);
    device->buffer_seconds = load.seconds;
    od_heap_push(&e->shortest, k);
}

static void sort_moved_ahead(od_engine *e)
{
    for (od_placeset_walk at = od_placeset_begin(e->moved_ahead); od_placeset_next(&at);)
        sort_ahead(e, at.place);
    e->moved_ahead = OD_NO_PLACES;
}

static bool asks_for_ahead(const od_engine *e)
{
    return e->config.ahead || e->same_ahead.end > 1;
}

od_ahead_range od_engine_same_ahead(const od_engine *e)
{
    return e->same_ahead;
}

/* True where the device may look ahead, with so many seconds in its buffer. As long as that is the same with another
 * lookahead, all is the same. */
static bool is_ahead(od_engine *e, double seconds)
{
    static const double rounding = 1e-9;
    double most = (double)e->config.ahead * e->policy_seconds / (double)e->in_policy;
    bool looks = seconds < most;
    od_ahead_range *same = &e->same_ahead;
    if (same->least >= same->end)
        return looks;
    double even = seconds * (double)e->in_policy / e->policy_seconds, below = even * (1 - rounding);
    if (looks && even * (1 + rounding) >= (double)same->least)
        same->least = (uint64_t)(even * (1 + rounding)) + 1;
    else if (!looks && below + 1 < (double)same->end)
        same->end = (uint64_t)below + 1;
    return looks;
}

/* While the program waits, a device that loads nothing, though it has work, takes tasks beyond its buffer, up to
 * `ahead` mean durations of what is ready: their loads hide behind what it computes now, and would not later. While the
 * program creates tasks the device would take whatever comes first. */
static int least_ahead(od_engine *e, od_placeset among)
{
    int k = OD_NOWHERE;
    if (!asks_for_ahead(e) || !e->awaited || !e->in_policy || !leaves_enough(e, e->config.buffer + 1))
        return OD_NOWHERE;
    sort_moved_ahead(e);
    uint32_t shortest = od_heap_first(&e->shortest);
    if (shortest == OD_HEAP_NONE || !is_ahead(e, e->device[shortest].buffer_seconds))
        return OD_NOWHERE;
    while ((k = od_hungry_least(&e->ahead, among)) != OD_NOWHERE &&
           (!is_ahead(e, e->device[k].buffer_seconds) || !leaves_enough(e, e->device[k].buffer.count + 1)))
        od_placeset_remove(&among, k);
    return k;
}

/* The device with the fewest tasks that has room in its buffer or looks ahead. */
static int hungriest(od_engine *e, od_placeset among)
{
    int roomy = od_hungry_least(&e->hungry, among), ahead = least_ahead(e, among);
    if (roomy == OD_NOWHERE || ahead == OD_NOWHERE)
        return roomy == OD_NOWHERE ? ahead : roomy;
    int x = od_hungry_tasks(&e->hungry, (unsigned)roomy), y = od_hungry_tasks(&e->ahead, (unsigned)ahead);
    return x < y || (x == y && roomy < ahead) ? roomy : ahead;
}

/* Devices for which there may be a task that no buffer has. Who chooses settings as a run goes is to see all that ask,
 * and any may be given what is planned for a lost one. */
static od_placeset that_may_get(const od_engine *e)
{
    const od_policy_ops *policy = e->config.policy;
    if (!e->in_policy)
        return e->forced;
    if (!policy->offers || e->chooser || !od_placeset_is_empty(e->lost))
        return od_placeset_below(e->config.ndevices);
    return od_placeset_union(e->forced, policy->offers(e->policy_state));
}

static int next_hungry(od_engine *e, od_placeset refused)
{
    sort_moved(e);
    return hungriest(e, od_placeset_minus(that_may_get(e), refused));
}

static bool has_unbuffered_tasks(const od_engine *e)
{
    return e->in_policy || !od_placeset_is_empty(e->forced);
}

/* Fills the task buffers, the emptiest device first, so that few tasks spread. */
bool od_buffer_fill(od_engine *e)
{
    od_placeset refused = e->lost;
    bool any = false;
    int k;
    while (has_unbuffered_tasks(e) && (k = next_hungry(e, refused)) != OD_NOWHERE) {
        e->adopted = false;
        od_task *t = next_task(e, (unsigned)k);
        if (t)
            od_buffer_put(e, t, (unsigned)k, false);
        if (e->adopted)
            refused = e->lost;
        else if (!t || e->device[k].buffer.count > e->config.buffer) /* ahead one by one: perhaps it begins a load */
            od_placeset_add(&refused, k);
        any |= t != NULL;
    }
    while (od_no_device_is_left(e) && (!e->config.cpus || e->host_given < e->config.cpus)) {
        od_task *t = ask_for_lost(e);
        if (!t)
            break;
        od_host_wait(e, t);
        any = true;
    }
    return any;
}
