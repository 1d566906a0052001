/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks that run on the host: their data are brought there by a request, then the host version waits for its turn. */
#include "sched/engine/internal.h"

/* Nothing is written back for a reservation that no device has room for. */
static void decline(od_engine *e, od_task *t)
{
    t->failed = true;
    t->place = OD_HOST;
    t->start_ns = t->end_ns = od_engine_now(e);
    od_finish_complete(e, t);
}

void od_host_wait(od_engine *e, od_task *t)
{
    if (t->advisory) {
        decline(e, t);
        return;
    }
    t->state = OD_TASK_READY;
    t->device = t->place == OD_HOST ? OD_NOWHERE : t->place;
    t->place = OD_HOST;
    e->host_given++;
    od_list_push_back(&e->host_waiting, &t->link);
}

static bool is_bound(const od_task *t)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->bound)
            return true;
    return false;
}

/* Writes back what the host version reads, and drops what it will write. */
static od_request *bring_home(od_engine *e, od_task *t)
{
    od_request *request = od_request_create(t->naccess);
    if (!request) {
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a host task");
        return NULL;
    }
    request->task = t;
    request->inside = t->outer != NULL || is_bound(t);
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->pending++;
        request->items[i].datum = d;
        request->items[i].bytes = d->size;
        request->items[i].kind = t->uses_spill && d->region && e->config.spill ? OD_REQUEST_SETTLE
                                 : (t->access[i].mode & OD_WRITE)              ? OD_REQUEST_WRITE
                                                                               : OD_REQUEST_READ;
    }
    return request;
}

bool od_host_commit(od_engine *e)
{
    bool any = false;
    od_list_each(node, &e->host_waiting) {
        od_task *t = od_container_of(node, od_task, link);
        if (od_recipe_precedes(e, t, OD_HOST) || !od_rights_may_use_all(e, t, OD_HOST))
            continue;
        od_request *request = bring_home(e, t);
        if (!request)
            continue;
        od_list_remove(&e->host_waiting, &t->link);
        od_rights_take(e, t, OD_HOST);
        t->state = OD_TASK_COMMITTED;
        od_emit_task(e, OD_EVENT_TASK_COMMITTED, t);
        od_request_begin(e, request);
        any = true;
    }
    return any;
}

/* There is one; of equals the first. */
static od_task *take_most_urgent(od_engine *e)
{
    od_task *best = NULL;
    od_list_each(node, &e->host_ready) {
        od_task *t = od_container_of(node, od_task, link);
        if (!best || t->priority > best->priority)
            best = t;
    }
    od_list_remove(&e->host_ready, &best->link);
    return best;
}

bool od_host_start(od_engine *e)
{
    if (!e->host_ready.count || (unsigned)__builtin_popcountll(e->host_runs) == od_host_workers(e))
        return false;
    od_task *t = take_most_urgent(e);
    od_stats_host_begin(e, t);
    t->state = OD_TASK_RUNNING;
    t->start_ns = od_engine_now(e);
    od_emit_task(e, OD_EVENT_TASK_STARTED, t);
    e->config.driver_ops->start_task(e->config.driver, t, OD_HOST);
    return true;
}
