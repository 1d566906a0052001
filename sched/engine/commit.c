/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From a task buffer to the device. The head commits when it gets the rights to all its data and memory for all of
 * them in one step; it starts when its loads have ended. Behind it inputs are prefetched in buffer order.
 */
#include "sched/engine/internal.h"

#include "util/log.h"

/* --- start -------------------------------------------------------------- */

static bool is_usable(const od_access *a, unsigned k)
{
    const od_datum *d = a->datum;
    if (d->replica[k].state != OD_PRESENT || ((a->mode & OD_READ) && !od_datum_is_readable(d, k)))
        return false;
    return !((a->mode & OD_WRITE) && d->transfers) && !d->lent;
}

static bool is_runnable(od_task *t, unsigned k)
{
    for (uint32_t n = 0; n < t->naccess; n++) {
        if (!is_usable(&t->access[t->waits_for], k))
            return false;
        t->waits_for = t->waits_for + 1 < t->naccess ? t->waits_for + 1 : 0;
    }
    return true;
}

static void start(od_engine *e, od_task *t, unsigned k)
{
    od_device *device = &e->device[k];
    od_stats_account(e, k);
    od_list_remove(&device->committed, &t->link);
    device->running++;
    t->running_seconds = od_policy_seconds(&e->env, t, k);
    device->running_seconds += t->running_seconds;
    od_device_moved(e, k);
    t->state = OD_TASK_RUNNING;
    t->start_ns = od_engine_now(e);
    od_emit_task(e, OD_EVENT_TASK_STARTED, t);
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].mode & OD_WRITE)
            od_memory_drop_all(e, t->access[i].datum, (int)k);
    od_recipe_begin(e, t);
    od_hook_started(e, t, k);
    e->config.driver_ops->start_task(e->config.driver, t, (int)k);
}

static bool start_committed(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    bool any = false;
    od_list_each(node, &device->committed) {
        od_task *t = od_container_of(node, od_task, link);
        if ((t->external || device->running - device->blocked < e->config.slots) && is_runnable(t, k)) {
            start(e, t, k);
            any = true;
        }
    }
    return any;
}

/* --- commit ------------------------------------------------------------- */

static bool all_have_memory(const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_replica_state state = t->access[i].datum->replica[k].state;
        if (state == OD_ABSENT || state == OD_LEAVING)
            return false;
    }
    return true;
}

/* Memory for all of the head's data; loads start as soon as theirs is there. */
static bool take_memory(od_engine *e, od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (d->replica[k].state == OD_LEAVING)
            return false;
        if (d->replica[k].state != OD_ABSENT)
            continue;
        if (!od_memory_take(e, k, d, t))
            return false;
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(d, k))
            od_memory_load(e, d, k, true);
    }
    /* Making room for the last may have moved the first: a second pass takes them anew. */
    return all_have_memory(t, k) || take_memory(e, t, k);
}

static void commit(od_engine *e, od_task *t, unsigned k)
{
    od_rights_take(e, t, (int)k);
    od_buffer_leave(e, t, k);
    t->state = OD_TASK_COMMITTED;
    od_list_push_back(&e->device[k].committed, &t->link);
    od_emit_task(e, OD_EVENT_TASK_COMMITTED, t);
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        od_memory_touch(e, d, k);
        if ((t->access[i].mode & OD_READ) && d->replica[k].state == OD_PRESENT && !od_datum_is_readable(d, k))
            od_memory_load(e, d, k, true);
    }
}

/* The other device to which data of the task have been bound since it was placed here, or OD_NOWHERE. */
static int bound_elsewhere(const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->bound && t->access[i].datum->home != (int)k)
            return t->access[i].datum->home;
    return OD_NOWHERE;
}

static void move(od_engine *e, od_task *t, unsigned k, unsigned to)
{
    od_buffer_take_back(e, t, k);
    if (t->remakes) {
        od_buffer_put(e, t, to, true);
        return;
    }
    t->place = OD_NOWHERE;
    od_buffer_force(e, t, to);
    od_emit_task(e, OD_EVENT_TASK_READY, t);
}

static bool move_to_bound(od_engine *e, od_task *t, unsigned k)
{
    int device = bound_elsewhere(t, k);
    if (device != OD_NOWHERE)
        move(e, t, k, (unsigned)device);
    return device != OD_NOWHERE;
}

/* True: the head waits for what the program holds on devices. */
static bool try_to_defer(od_engine *e, od_task *t, unsigned k)
{
    if (!od_engine_has_deferred(e, t))
        return false;
    od_buffer_take_back(e, t, k);
    od_engine_defer(e, t);
    od_emit_task(e, OD_EVENT_TASK_READY, t);
    return true;
}

static void leave_to_host(od_engine *e, od_task *t, unsigned k)
{
    od_buffer_take_back(e, t, k);
    od_host_wait(e, t);
}

/* Data of the head have been bound since it was placed here. True: it is placed elsewhere. */
static bool follow_bindings(od_engine *e, od_task *t, unsigned k)
{
    if (t->outer || t->remakes)
        return false;
    if (!od_rights_are_apart(t))
        return t->bound == OD_NOWHERE && move_to_bound(e, t, k);
    if (!try_to_defer(e, t, k))
        leave_to_host(e, t, k);
    return true;
}

/* No device but this one can have all of its data without a new spill area. */
static bool belongs_here(const od_engine *e, const od_task *t)
{
    bool belongs = t->outer || t->bound != OD_NOWHERE;
    for (uint32_t i = 0; !belongs && i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        bool reachable = e->config.peer || od_datum_is_home(d) || !(t->access[i].mode & OD_READ);
        belongs = d->home != OD_NOWHERE || !reachable;
    }
    return belongs;
}

enum { MAX_MOVES = 8 }; /* of a task: memory that is free may be in pieces */

/* What is here may not be spilled: the head goes where it needs no new spill area. While the guard is on there is such
 * a device, if data have one size. */
static bool move_to_room(od_engine *e, od_task *t, unsigned k)
{
    unsigned to = 0;
    if (t->moves >= MAX_MOVES || belongs_here(e, t))
        return false;
    while (to < e->config.ndevices && (to == k || od_device_is_lost(e, (int)to) || !od_memory_has_room(e, to, t)))
        to++;
    if (to == e->config.ndevices)
        return false;
    t->moves++;
    move(e, t, k, to);
    return true;
}

static bool may_pass(od_engine *e, const od_task *head, od_task *t, unsigned k)
{
    return t != head && !od_engine_tasks_conflict(head, t) && od_rights_may_use_all(e, t, (int)k);
}

/* The head waits until the program lets go of what it has been shown, which may wait for what is behind, in the buffer
 * or before it is taken: this goes first. */
static bool let_pass(od_engine *e, const od_task *head, unsigned k)
{
    od_device *device = &e->device[k];
    if (!od_rights_await_program(head, k))
        return false;
    od_list_each(node, &device->buffer) {
        if (!may_pass(e, head, od_container_of(node, od_task, link), k))
            continue;
        od_list_remove(&device->buffer, node);
        od_list_push_front(&device->buffer, node);
        return true;
    }
    od_list_each(node, &device->forced) {
        if (!may_pass(e, head, od_container_of(node, od_task, link), k))
            continue;
        od_buffer_unforce(e, od_container_of(node, od_task, link), k);
        od_buffer_put(e, od_container_of(node, od_task, link), k, true);
        return true;
    }
    return false;
}

static bool commit_head(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    od_node *node = od_list_first(&device->buffer);
    if (!node)
        return false;
    od_task *t = od_container_of(node, od_task, link);
    if (!t->external && device->committed.count >= e->config.slots)
        return false;
    if (od_recipe_precedes(e, t, (int)k))
        return od_rerun_begin(e);
    if (!od_rights_may_use_all(e, t, (int)k)) {
        if (follow_bindings(e, t, k))
            return true;
        od_placeset_add(&e->rights_waiters, k);
        return let_pass(e, t, k);
    }
    od_placeset_remove(&e->rights_waiters, k);
    if (take_memory(e, t, k)) {
        if (od_recipe_precedes(e, t, (int)k)) /* to make room, something has been dropped that is made from these */
            return od_rerun_begin(e);
        commit(e, t, k);
        return true;
    }
    if (!od_device_is_quiet(device))
        return false;
    if (e->spill_full) /* otherwise od_engine_let_go() */
        return move_to_room(e, t, k);
    if (t->remakes) {
        e->config.driver_ops->fatal(e->config.driver, "no room to make contents again that were dropped");
        return false;
    }
    if (try_to_defer(e, t, k))
        return true;
    od_log(t->shows || t->advisory ? OD_LOG_INFO : OD_LOG_WARNING, "engine", /* whoever shows addresses reports it */
           "a task of %zu bytes does not fit on device %u along with what the program holds there; "
           "its host version runs",
           t->footprint, k);
    leave_to_host(e, t, k);
    return true;
}

/* --- prefetch ----------------------------------------------------------- */

/* Asks for one task's inputs with memory that nobody needs sooner. False: no memory now. */
static bool prefetch_task(od_engine *e, od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (!(t->access[i].mode & OD_READ) || d->replica[k].state != OD_ABSENT)
            continue;
        if (d->writers || d->home != OD_NOWHERE || od_datum_is_held(d) || od_datum_is_dropped(d))
            continue;
        if (!od_memory_take(e, k, d, NULL))
            return false;
        if (!od_datum_is_readable(d, k))
            od_memory_load(e, d, k, false);
    }
    return true;
}

/* In buffer order, and only while the head does not wait for memory or rights. */
static void prefetch(od_engine *e, unsigned k)
{
    od_list_each(node, &e->device[k].buffer) {
        od_task *t = od_container_of(node, od_task, link);
        if (!t->prefetched && !prefetch_task(e, t, k))
            return;
        t->prefetched = true;
    }
}

/* The head waits for contents that are made again just now: no memory is kept from it. */
static bool awaits_rerun(const od_task *t)
{
    for (uint32_t i = 0; !t->remakes && i < t->naccess; i++)
        if (od_datum_is_dropped(t->access[i].datum))
            return true;
    return false;
}

static bool head_waits(const od_engine *e, unsigned k)
{
    const od_device *device = &e->device[k];
    const od_node *node = od_list_first(&device->buffer);
    return node && device->committed.count < e->config.slots && !awaits_rerun(od_container_of(node, od_task, link));
}

bool od_commit_serve(od_engine *e, unsigned k)
{
    const od_device *device = &e->device[k];
    if (e->shrunk)
        od_memory_clear_end(e, k);
    bool any = device->committed.count && start_committed(e, k);
    while (commit_head(e, k)) {
        any = true;
        start_committed(e, k);
    }
    if (!head_waits(e, k))
        prefetch(e, k);
    if (device->results.count)
        od_home_serve(e, k);
    return any;
}
