/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reruns: tasks of the engine's own, which make dropped contents again. See recompute.h. */
#include "sched/engine/internal.h"

static unsigned device_for(const od_engine *e, const od_recipe *r)
{
    bool needed_there = r->where != OD_NOWHERE && !od_device_is_lost(e, r->where);
    return needed_there ? (unsigned)r->where : od_memory_nearest_device(e, r->task);
}

static void give(od_engine *e, od_recipe *r)
{
    r->task->state = OD_TASK_READY;
    r->task->place = OD_NOWHERE;
    od_emit_task(e, OD_EVENT_TASK_READY, r->task);
    if (od_no_device_is_left(e))
        e->config.driver_ops->fatal(e->config.driver, "no device is left to make contents again that were dropped");
    else
        od_buffer_put(e, r->task, device_for(e, r), true);
}

static void begin(od_engine *e, od_recipe *r)
{
    od_task *t = r->task;
    t->id = e->next_id++;
    t->created_ns = od_engine_now(e);
    t->wait_seq = 0;
    t->waits_for = 0;
    t->moves = 0;
    t->failed = false;
    t->footprint = 0;
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        t->footprint += od_pool_rounded(e->device[0].pool, od_datum_occupies(d));
        d->pending++;
        d->tasks++;
    }
    e->unfinished++;
    if (od_is_observed(e))
        od_emit(e, (od_event){.kind = OD_EVENT_TASK_CREATED, .ns = t->created_ns, .place = OD_NOWHERE, .task = t});
    give(e, r);
}

bool od_rerun_begin(od_engine *e)
{
    bool any = e->wanted.count > 0;
    for (od_node *node; (node = od_list_pop_front(&e->wanted));)
        begin(e, od_container_of(node, od_recipe, want));
    return any;
}

void od_rerun_again(od_engine *e, od_task *t)
{
    t->failed = false;
    give(e, t->remakes);
}

static void release(od_engine *e, od_datum *d)
{
    d->pending--;
    d->tasks--;
    od_request_advance(e, d);
    od_idle_settle(e, d);
}

void od_rerun_done(od_engine *e, od_task *t)
{
    od_recipe *r = t->remakes;
    t->state = OD_TASK_DONE;
    e->unfinished--;
    r->product->valid = od_placeset_of(t->place);
    od_recipe_settle(e, r);
    r->wanted = false;
    r->fresh = r->held = true;
    for (uint32_t i = 0; i < t->naccess; i++)
        release(e, t->access[i].datum); /* what waits for one of them may change it, and end the recipe */
    r->held = false;
    if (r->product->recipe != r)
        od_recipe_destroy(e, r);
    else if (r->last || !e->config.recompute)
        od_recipe_forget(e, r->product);
    e->todo = od_placeset_below(e->config.ndevices);
}
