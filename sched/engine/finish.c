/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The end of a task: what it wrote counts where it ran; when everything is where coherence wants it, the driver is
 * asked to complete the task.
 */
#include "sched/engine/internal.h"

static void forget_task(od_engine *e, od_task *t)
{
    uint64_t batches = e->known ? e->known->batches : 0;
    od_known_follow_done(e->known, t);
    od_submission_end_batch(e, batches);
    od_admit_end(e, t->submission);
    od_submission_free(e, t->submission);
    t->submission = NULL;
}

void od_finish_complete(od_engine *e, od_task *t)
{
    t->state = OD_TASK_DONE;
    e->unfinished--;
    if (t->outer && t->outer->place != OD_HOST)
        od_device_block(e, (unsigned)t->outer->place, false);
    e->stats.tasks += !t->failed && !t->undone;
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->pending--;
        d->tasks--;
        if (d->recipe)
            d->recipe->fresh = false;
        od_home_note(e, d);
        od_request_advance(e, d);
        od_idle_settle(e, d);
    }
    forget_task(e, t);
    e->config.driver_ops->complete_task(e->config.driver, t);
}

/* The host wrote a datum of which device `home` still holds a pinned copy: that one is loaded anew. */
static bool is_renewed(const od_datum *d)
{
    return d->home == OD_NOWHERE || d->home == OD_HOST || od_datum_is_readable(d, (unsigned)d->home);
}

/* True once one of its data is where coherence wants it: what may not stay on a device is on the host. */
static bool is_stored(od_engine *e, const od_task *t, uint32_t i)
{
    od_datum *d = t->access[i].datum;
    if (t->place == OD_HOST)
        return !(t->access[i].mode & OD_WRITE) || is_renewed(d);
    return d->keep || d->writers || d->bound || od_memory_store(e, d);
}

static bool store_all(od_engine *e, od_task *t)
{
    bool all = true;
    for (uint32_t i = 0; i < t->naccess; i++)
        all &= is_stored(e, t, i);
    t->waits_for = 0;
    return all;
}

/* It was not when it was looked at last: a task with thousands of data is not looked through for each of them. */
static bool stored(od_engine *e, od_task *t)
{
    for (uint32_t n = 0; n < t->naccess; n++) {
        if (!is_stored(e, t, t->waits_for))
            return false;
        t->waits_for = t->waits_for + 1 < t->naccess ? t->waits_for + 1 : 0;
    }
    return true;
}

void od_finish(od_engine *e, od_task *t)
{
    if (store_all(e, t)) {
        od_finish_complete(e, t);
        return;
    }
    t->state = OD_TASK_STORING;
    od_list_push_back(&e->storing, &t->link);
}

void od_finish_stored(od_engine *e)
{
    od_list_each(node, &e->storing) {
        od_task *t = od_container_of(node, od_task, link);
        if (stored(e, t)) {
            od_list_remove(&e->storing, &t->link);
            od_finish_complete(e, t);
        }
    }
}

void od_finish_wrote(od_engine *e, const od_task *t, od_datum *d, int place)
{
    bool spilled = place == OD_HOST && t->uses_spill && od_datum_is_spilled(d);
    od_recipe_changed(e, d);
    if (t->undone || (t->by_pages && d->window)) {
        if (d->window)
            od_shared_used(e, d);
        if (od_placeset_has(d->valid, OD_HOST))
            od_seal_undo(e, d);
        return;
    }
    d->valid = od_placeset_of(spilled ? OD_SPILL : (int)place);
    if (place == OD_HOST && !spilled)
        od_seal_undo(e, d);
    if (place == OD_HOST && !is_renewed(d))
        od_memory_load(e, d, (unsigned)d->home, true);
}

static void stop_running(od_engine *e, const od_task *t, unsigned k)
{
    od_device *device = &e->device[k];
    od_device_moved(e, k);
    device->running--;
    double left = device->running_seconds - t->running_seconds;
    device->running_seconds = device->running ? left : 0; /* no rounding errors stay */
}

void od_finish_run(od_engine *e, od_task *t, int place)
{
    if (place == OD_HOST) {
        od_stats_host_end(e, t);
        if (t->undone)
            return;
        e->stats.host_tasks++;
        if (t->device != OD_NOWHERE)
            e->device[t->device].stats.host_tasks++;
        return;
    }
    od_stats_account(e, (unsigned)place);
    od_stats_ran(e, t, (unsigned)place);
    stop_running(e, t, (unsigned)place);
    od_placeset_add(&e->todo, place);
    if (t->failed)
        return;
    ++*(t->remakes ? &e->device[place].stats.reruns : &e->device[place].stats.tasks);
    for (uint32_t i = 0; i < t->naccess; i++)
        od_memory_touch(e, t->access[i].datum, (unsigned)place);
}
