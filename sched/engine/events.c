/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a driver reports to the engine: each event changes the state, then the engine is driven as far as it can go now.
 */
#include "sched/engine/internal.h"

#include "util/log.h"

#include <assert.h>

/* --- progress ----------------------------------------------------------- */

/* Devices whose head waits for room in the spill area. */
static void try_again(od_engine *e)
{
    e->spill_full = false;
    e->todo = od_placeset_below(e->config.ndevices);
}

static void progress(od_engine *e)
{
    if (e->in_progress || e->held)
        return;
    e->in_progress = true;
    bool again = true;
    if (e->spill_full && (e->spilled < e->spilled_then || od_admit_is_stuck(e)))
        try_again(e);
    while (again) {
        if (e->retries) {
            e->retries = false;
            od_arrive_deferred(e);
        }
        if (e->admission.changed) {
            e->admission.changed = false;
            od_arrive_released(e, false);
        }
        again = (e->wanted.count && od_rerun_begin(e)) || od_buffer_fill(e);
        while (!od_placeset_is_empty(e->todo)) {
            unsigned k = od_placeset_first(e->todo);
            od_placeset_remove(&e->todo, k);
            again |= od_commit_serve(e, k);
        }
        if (e->config.cpus)
            again |= od_host_offer(e);
        if (e->host_waiting.count || e->host_ready.count)
            again |= od_host_commit(e) || od_host_start(e);
        if (e->storing.count)
            od_finish_stored(e);
        again |= !od_placeset_is_empty(e->todo) || e->wanted.count > 0;
    }
    e->in_progress = false;
    od_engine_check(e);
}

void od_engine_hold(od_engine *e)
{
    e->held = true;
}

void od_engine_resume(od_engine *e)
{
    e->held = false;
    progress(e);
}

void od_engine_proceed(od_engine *e)
{
    progress(e);
}

/* --- tasks -------------------------------------------------------------- */

void od_engine_task_ready(od_engine *e, od_task *t)
{
    od_arrive(e, t);
    progress(e);
}

void od_engine_begin_given(od_engine *e, od_task *t, unsigned k)
{
    od_arrive_given(e, t, k);
    progress(e);
}

void od_engine_task_give_up(od_engine *e, od_task *t, bool used)
{
    int place = t->place;
    assert(t->state == OD_TASK_RUNNING);
    e->events++;
    t->failed = true;
    t->end_ns = od_engine_now(e);
    od_emit_task(e, OD_EVENT_TASK_FINISHED, t);
    if (place == OD_HOST) {
        od_stats_host_end(e, t);
    } else {
        od_finish_run(e, t, place);
    }
    t->from_ns = t->to_ns = 0;
    od_rights_leave(e, t, place);
    e->todo = od_placeset_union(e->todo, e->rights_waiters);
    for (uint32_t i = 0; i < t->naccess; i++) {
        if (used && place != OD_HOST && (t->access[i].mode & OD_WRITE))
            od_finish_wrote(e, t, t->access[i].datum, place);
        od_loss_settle(e, t->access[i].datum);
    }
    od_finish_complete(e, t);
    progress(e);
}

void od_engine_task_block(od_engine *e, od_task *t, bool waits)
{
    if (t->state != OD_TASK_RUNNING || t->place == OD_HOST)
        return;
    od_device_block(e, (unsigned)t->place, waits);
    od_placeset_add(&e->todo, t->place);
    progress(e);
}

/* Requests have waited for its use of the replicas. */
static void advance_requests(od_engine *e, const od_task *t)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        od_request_advance(e, t->access[i].datum);
}

void od_engine_task_done(od_engine *e, od_task *t, od_status status)
{
    int place = t->place;
    e->events++;
    t->failed = status != OD_OK || (t->remakes && od_device_is_lost(e, place));
    t->end_ns = od_engine_now(e);
    assert(t->state == OD_TASK_RUNNING);
    od_emit_task(e, OD_EVENT_TASK_FINISHED, t);
    od_finish_run(e, t, place);
    od_rights_leave(e, t, place);
    e->todo = od_placeset_union(e->todo, e->rights_waiters);
    for (uint32_t i = 0; !t->failed && !t->remakes && i < t->naccess; i++)
        if (t->access[i].mode & OD_WRITE)
            od_finish_wrote(e, t, t->access[i].datum, place);
    if (place != OD_HOST)
        od_hook_done(e, t, (unsigned)place);
    for (uint32_t i = 0; od_device_is_lost(e, place) && i < t->naccess; i++)
        od_loss_settle(e, t->access[i].datum);
    if (t->failed && od_device_is_lost(e, place)) {
        advance_requests(e, t);
        od_arrive_again(e, t);
    } else if (t->failed && t->remakes) {
        e->config.driver_ops->fatal(e->config.driver, "contents that were dropped could not be made again");
    } else if (t->remakes) {
        od_rerun_done(e, t);
    } else if (t->failed && place != OD_HOST) { /* devices cannot run it, with or without room */
        t->uses_spill = false;
        od_host_wait(e, t);
        advance_requests(e, t);
    } else {
        if (place != OD_HOST)
            od_recipe_note(e, t);
        od_finish(e, t);
    }
    progress(e);
}

bool od_engine_retry(od_engine *e)
{
    e->admission.changed = e->admission.held.count > 0;
    e->events += e->deferred.count > 0;
    e->retries = true;
    if (e->keeps_tasks)
        e->todo = od_placeset_union(e->todo, e->rights_waiters);
    e->keeps_tasks = false;
    progress(e);
    return e->deferred.count > 0 || e->admission.lifetimes || e->keeps_tasks;
}

void od_engine_let_go(od_engine *e)
{
    od_log(OD_LOG_INFO, "engine", "the program waits for tasks that the guard holds back: one goes on, bound or not");
    if (od_admit_holds_all(e))
        od_arrive_released(e, true);
    e->spill_anyway = e->spill_full;
    try_again(e);
    progress(e);
    e->spill_anyway = false;
}

void od_engine_construct_done(od_engine *e, od_banker_step construct)
{
    e->events++;
    if (!e->admission.lifetimes)
        return;
    od_lifetimes_construct_end(e->admission.lifetimes, construct);
    e->admission.changed = e->admission.held.count > 0;
    progress(e);
}

/* --- data --------------------------------------------------------------- */

static void emit_transfer(od_engine *e, const od_transfer *x, bool failed)
{
    if (!od_is_observed(e))
        return;
    od_event event = {.kind = OD_EVENT_TRANSFER_STARTED,
                      .ns = x->start_ns,
                      .place = x->to,
                      .datum = x->datum,
                      .transfer = x,
                      .failed = failed};
    od_emit(e, event);
    event.kind = OD_EVENT_TRANSFER_FINISHED;
    event.ns = x->end_ns;
    od_emit(e, event);
}

void od_engine_transfer_done(od_engine *e, od_transfer *x, od_status status)
{
    od_datum *d = x->datum;
    int from = x->from, to = x->to;
    e->events++;
    emit_transfer(e, x, status != OD_OK);
    bool undo = status && od_loss_concerns(e, x);
    if (status && !undo && od_transfer_try_again(e, x))
        return;
    od_transfer_uncount(e, x);
    if (undo)
        od_loss_undo_transfer(e, x);
    else
        od_memory_finish_transfer(e, x);
    od_list_push_front(&e->spare_transfers, &x->link);
    od_loss_settle(e, d);
    od_memory_serve_awaiting(e, d);
    od_card_serve(e, from, to);
    e->todo = od_placeset_union(e->todo, e->rights_waiters);
    if (d->home >= 0 && d->home < OD_SPILL) /* who writes there waits for the last one; both its ends are in `todo` */
        od_placeset_add(&e->todo, d->home);
    od_request_advance(e, d);
    od_idle_settle(e, d);
    progress(e);
}

bool od_engine_await(od_engine *e, bool begins)
{
    bool changed = e->awaited != begins, early = e->config.early && changed;
    e->awaited = begins;
    bool adopted = changed && begins && od_hook_consider(e);
    for (unsigned k = 0; early && begins && k < e->config.ndevices; k++)
        if (e->device[k].results.count)
            od_placeset_add(&e->todo, k);
    if (early || adopted)
        progress(e);
    return early;
}

void od_engine_request(od_engine *e, od_request *request)
{
    od_request_begin(e, request);
    progress(e);
}

void od_engine_bind(od_engine *e, od_datum *d, unsigned k, bool write)
{
    (void)e;
    assert(d->replica[k].state == OD_PRESENT && (d->home == OD_NOWHERE || d->home == (int)k));
    d->written_through |= write;
    if (write)
        d->valid = od_placeset_of(k);
}

static void end_binding(od_datum *d, unsigned k)
{
    d->replica[k].pins--;
    if (--d->bound == 0)
        d->written_through = false;
}

void od_engine_unbind(od_engine *e, od_datum *d, bool write)
{
    unsigned k = (unsigned)d->home;
    e->events++;
    if (write && d->replica[k].state == OD_PRESENT) { /* or what the host has made of it is just coming back */
        od_memory_drop_all(e, d, (int)k);
        od_memory_outdate(e, d);
        d->valid = od_placeset_of(k);
    }
    end_binding(d, k);
    if (!d->bound && !d->writers)
        d->home = OD_NOWHERE;
    e->todo = od_placeset_with(od_placeset_union(e->todo, e->rights_waiters), k);
    e->retries = true;
    od_request_advance(e, d);
    od_idle_settle(e, d);
    progress(e);
}

void od_engine_keep_shown(od_engine *e, od_datum *d, unsigned k, od_mode mode)
{
    d->replica[k].pins++;
    if (!(mode & OD_WRITE)) {
        d->replica[k].kept++;
        return;
    }
    d->bound++;
    if (d->home == OD_NOWHERE)
        d->home = (int)k;
    od_engine_bind(e, d, k, true);
}

void od_engine_let_go_shown(od_engine *e, od_datum *d, unsigned k, od_mode mode)
{
    if (mode & OD_WRITE) {
        od_engine_unbind(e, d, true);
        return;
    }
    od_replica *r = &d->replica[k];
    e->events++;
    r->pins--;
    if (--r->kept == 0 && !r->pins && !od_placeset_has(d->valid, k) && r->state == OD_PRESENT)
        od_memory_drop(e, d, k);
    od_placeset_add(&e->todo, k);
    od_idle_settle(e, d);
    progress(e);
}

static bool is_used_elsewhere(const od_datum *d, unsigned k)
{
    bool used = d->host_users || (d->home != OD_NOWHERE && d->home != (int)k);
    od_placeset_walk at = od_placeset_begin(od_placeset_without(d->holding, k));
    while (!used && od_placeset_next(&at))
        used = d->replica[at.place].state != OD_PRESENT || d->replica[at.place].pins;
    return used;
}

bool od_engine_keep_stored(od_engine *e, od_datum *d, unsigned k)
{
    od_region *region = d->region;
    bool whole = region && !d->window && d->base == region->base && d->size == region->size;
    if (!whole || region->shown || d->replica[k].state != OD_PRESENT || !(d->writers || od_datum_is_readable(d, k)) ||
        is_used_elsewhere(d, k))
        return false;
    od_memory_drop_all(e, d, (int)k);
    od_memory_outdate(e, d);
    od_engine_keep_shown(e, d, k, OD_READ_WRITE);
    region->shown = 1;
    return true;
}

od_datum *od_engine_datum_at(const od_engine *e, unsigned k, size_t offset)
{
    od_list_each(node, &e->device[k].resident) {
        const od_replica *r = od_container_of(node, od_replica, lru);
        if (!r->datum->window && offset - r->offset < r->datum->size)
            return r->datum;
    }
    return NULL;
}

void od_engine_background_done(od_engine *e, od_background *job)
{
    e->events++;
    od_hook_background_done(e, job);
    e->todo = od_placeset_below(e->config.ndevices);
    progress(e);
}

/* --- a device that is lost ----------------------------------------------- */

/* A task that shows addresses was to bind its data when it starts: it does so elsewhere. */
static void unbind(od_task *t, unsigned k)
{
    for (uint32_t i = 0; t->shows && i < t->naccess; i++)
        end_binding(t->access[i].datum, k);
}

/* Takes all tasks off the device that have not started. */
static void collect_tasks(od_engine *e, unsigned k, od_list *tasks)
{
    od_device *device = &e->device[k];
    od_node *node;
    while ((node = od_list_pop_front(&device->committed))) {
        od_task *t = od_container_of(node, od_task, link);
        unbind(t, k);
        od_rights_leave(e, t, (int)k);
        od_list_push_back(tasks, node);
    }
    while ((node = od_list_first(&device->buffer))) {
        od_buffer_take_back(e, od_container_of(node, od_task, link), k);
        od_list_push_back(tasks, node);
    }
    while ((node = od_list_first(&device->forced))) {
        od_buffer_unforce(e, od_container_of(node, od_task, link), k);
        od_list_push_back(tasks, node);
    }
    od_device_moved(e, k);
}

void od_engine_device_lost(od_engine *e, unsigned k)
{
    od_list tasks;
    if (od_device_is_lost(e, (int)k))
        return;
    e->events++;
    od_stats_account(e, k);
    od_placeset_add(&e->lost, k);
    od_engine_settle_active(e);
    od_list_init(&tasks);
    collect_tasks(e, k, &tasks);
    od_list_each(node, &e->device[k].resident) {
        od_datum *d = od_container_of(node, od_replica, lru)->datum;
        od_loss_settle(e, d);
    }
    for (od_node *node; (node = od_list_pop_front(&tasks));) {
        od_task *t = od_container_of(node, od_task, link);
        advance_requests(e, t);
        od_arrive_again(e, t);
    }
    e->todo = od_placeset_union(e->todo, e->rights_waiters);
    e->retries = true;
    progress(e);
}
