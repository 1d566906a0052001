/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arrival: where a task goes that has become ready, or that must be placed again.
 *
 * The policy gets it, unless the engine places it: a task that only one device may run (it shares a datum that is being
 * written there, or was shown an address there), one that no device can run, and a lone task, which goes where it costs
 * least instead of to whoever asks first.
 */
#include "sched/engine/internal.h"

#include "util/log.h"

/* The one device where the task must run, or OD_NOWHERE. */
static int required_device(const od_engine *e, const od_task *t)
{
    if (t->bound != OD_NOWHERE)
        return t->bound;
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        bool decides = d->bound || !od_task_has_edge(t, d);
        if (decides && d->home != OD_NOWHERE && d->home != OD_HOST && !od_device_is_lost(e, d->home))
            return d->home;
    }
    return OD_NOWHERE;
}

static size_t footprint(const od_engine *e, const od_task *t)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->naccess; i++)
        bytes += od_pool_rounded(e->device[0].pool, od_datum_occupies(t->access[i].datum));
    return bytes;
}

static void too_large(od_engine *e, od_task *t)
{
    if (!e->warned_too_large && !t->advisory)
        od_log(OD_LOG_WARNING, "engine",
               "a task needs %.4g MB, more than the %.4g MB of a device: such tasks run on the host "
               "(raise OMPDARTS_MEM or use smaller tiles)",
               (double)t->footprint * 1e-6, (double)od_pool_capacity(e->device[0].pool) * 1e-6);
    e->warned_too_large |= !t->advisory;
    od_host_wait(e, t);
}

static void give_to_policy(od_engine *e, od_task *t)
{
    if (od_hook_ready(e, t) == OD_OK)
        od_policy_gets(e, t);
    else if (od_no_device_is_left(e)) /* the policy is out of memory: the task runs all the same */
        od_host_wait(e, t);
    else
        od_buffer_force(e, t, od_memory_nearest_device(e, t));
}

/* No device is left, but CPU workers, which ask for tasks one by one. */
static bool waits_for_cpu(const od_engine *e, const od_task *t)
{
    return od_no_device_is_left(e) && e->config.cpus && !t->outer && !t->external && !t->advisory;
}

static void place(od_engine *e, od_task *t)
{
    if (t->bound == OD_HOST) {
        od_host_wait(e, t);
        return;
    }
    int required = required_device(e, t);
    bool apart = od_rights_are_apart(t);
    bool nested = t->outer && t->outer->place != OD_HOST;
    if (od_device_is_lost(e, required))
        e->config.driver_ops->fatal(e->config.driver,
                                    "a task needs memory that was allocated on a device that is lost");
    else if (t->footprint > od_pool_capacity(e->device[0].pool))
        too_large(e, t);
    else if (apart && od_engine_has_deferred(e, t))
        od_engine_defer(e, t);
    else if (waits_for_cpu(e, t))
        give_to_policy(e, t);
    else if (apart || od_no_device_is_left(e) || (nested && od_device_is_lost(e, t->outer->place)))
        od_host_wait(e, t);
    else if (nested)
        od_buffer_put(e, t, (unsigned)t->outer->place, true);
    else if (required != OD_NOWHERE)
        od_buffer_force(e, t, (unsigned)required);
    else if (e->unfinished == 1 && !e->held)
        od_buffer_force(e, t, od_memory_nearest_device(e, t));
    else
        give_to_policy(e, t);
}

/* A task whose device is lost. */
void od_arrive_again(od_engine *e, od_task *t)
{
    if (t->remakes) {
        od_rerun_again(e, t);
        return;
    }
    t->state = OD_TASK_READY;
    t->place = t->device = OD_NOWHERE;
    t->failed = false;
    od_emit_task(e, OD_EVENT_TASK_READY, t);
    place(e, t);
}

void od_arrive_released(od_engine *e, bool force)
{
    for (od_task *t; (t = od_admit_release(e, force)); force = false)
        place(e, t);
}

void od_arrive_deferred(od_engine *e)
{
    od_list again;
    od_list_init(&again);
    for (od_node *node; (node = od_list_pop_front(&e->deferred));)
        od_list_push_back(&again, node);
    for (od_node *node; (node = od_list_pop_front(&again));)
        od_arrive_again(e, od_container_of(node, od_task, link));
}

/* A task inside a running one finds what that one is writing in the shared replica: no load. */
static void share_with_outer(od_task *t)
{
    for (uint32_t i = 0; t->outer && i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->writers && d->home == t->outer->place && d->home != OD_HOST &&
            !od_datum_is_readable(d, (unsigned)d->home))
            t->access[i].mode = OD_WRITE;
    }
}

static void emit_created(od_engine *e, od_task *t)
{
    if (od_is_observed(e))
        od_emit(e, (od_event){.kind = OD_EVENT_TASK_CREATED, .ns = t->created_ns, .place = t->place, .task = t});
}

static void arrive(od_engine *e, od_task *t)
{
    bool again = t->failed;
    share_with_outer(t);
    e->events++;
    t->id = e->next_id++;
    t->state = OD_TASK_READY;
    t->place = t->device = OD_NOWHERE;
    t->wait_seq = 0;
    t->waits_for = 0;
    t->moves = 0;
    t->deferred_ns = 0;
    t->failed = false;
    t->policy_data = NULL;
    t->known = t->submission ? t->submission->known : NULL;
    t->link = (od_node){NULL, NULL};
    t->footprint = footprint(e, t);
    if (t->footprint > e->largest && t->footprint <= od_pool_capacity(e->device[0].pool))
        e->largest = t->footprint;
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->tasks++;
    e->unfinished++;
    if (t->outer && t->outer->place != OD_HOST)
        od_device_block(e, (unsigned)t->outer->place, true);
    if (!again)
        emit_created(e, t);
    od_emit_task(e, OD_EVENT_TASK_READY, t);
    od_recipe_stop(e, t);
}

void od_arrive(od_engine *e, od_task *t)
{
    arrive(e, t);
    if (!od_admit_waits(e, t))
        place(e, t);
}

void od_arrive_given(od_engine *e, od_task *t, unsigned k)
{
    arrive(e, t);
    od_hook_forced(e, t);
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->replica[k].state == OD_ABSENT)
            od_hook_incoming(e, t->access[i].datum, k);
    od_buffer_put(e, t, k, false);
    e->room = e->device[k].buffer.count > e->room ? e->device[k].buffer.count : e->room;
}
