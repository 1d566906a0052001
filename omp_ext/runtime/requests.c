/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Requests: what the program asks of its data, waited for or not. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/services/record/record.h"

#include <stdlib.h>

/* The last of a group of requests completes the task that they share. */
struct od_request_group {
    atomic_uint pending;
    od_detached task;
};

static void end_one(od_request_group *g)
{
    if (atomic_fetch_sub(&g->pending, 1) != 1)
        return;
    od_detached_complete(g->task);
    free(g);
}

static void notify_group(od_waiter *waiter)
{
    od_request_destroy(waiter->request);
    end_one(waiter->group);
    free(waiter);
}

od_request_group *od_request_group_begin(void)
{
    od_request_group *g = od_alloc_zeroed(1, sizeof *g);
    atomic_init(&g->pending, 1); /* whoever fills it */
    return g;
}

void od_request_group_end(od_request_group *g, od_detached task)
{
    g->task = task;
    end_one(g);
}

/* Locked. NULL: nothing to do. */
void od_request_group_add(od_request_group *g, od_engine *engine, od_request *request)
{
    if (!request)
        return;
    od_waiter *waiter = od_alloc_zeroed(1, sizeof *waiter);
    *waiter = (od_waiter){.notify = notify_group, .group = g, .request = request};
    request->user = waiter;
    atomic_fetch_add(&g->pending, 1);
    od_engine_request(engine, request);
}

/* A job that waits here keeps no device from running tasks: one of them may have the right to what is asked for. */
static void submit_and_wait(od_engine *engine, od_request *const *requests, size_t n, od_waiter *waiter)
{
    od_task *asker = od_self.mode == OD_ON_DEVICE && od_self.job ? &od_self.job->task : NULL;
    od_runtime_prepare_to_wait(&waiter->done);
    if (asker)
        od_engine_task_block(engine, asker, true);
    od_helps_to_copy = true;
    for (size_t i = 0; i < n; i++)
        if (requests[i])
            od_engine_request(engine, requests[i]);
    od_helps_to_copy = false;
    od_runtime_wait(&waiter->done);
    if (asker)
        od_engine_task_block(engine, asker, false);
}

bool od_runtime_requests_and_unlock(od_engine *engine, od_request *const *requests, size_t n)
{
    od_waiter waiter = {.left = 0};
    for (size_t i = 0; i < n; i++)
        if (requests[i]) {
            requests[i]->user = &waiter;
            waiter.left++;
        }
    bool waits = waiter.left;
    if (waits)
        submit_and_wait(engine, requests, n, &waiter);
    else
        od_runtime_await_reclaimed();
    od_runtime_unlock();
    if (waits)
        od_host_copies_help(od_runtime.host_copies); /* what others wait for, of what it has promised to carry */
    for (size_t i = 0; i < n; i++)
        od_request_destroy(requests[i]);
    return waits;
}

bool od_runtime_request_and_unlock(od_engine *engine, od_request *request)
{
    return od_runtime_requests_and_unlock(engine, &request, 1);
}

void od_runtime_request(od_request *request)
{
    if (!request)
        return;
    od_runtime_request_and_unlock(od_runtime_lock(), request);
    od_recorder_resume();
}

void od_runtime_block_kernel(bool waits)
{
    od_engine_task_block(od_runtime_lock(), od_self.awaited, waits);
    if (waits) /* for tasks that may wait for these */
        od_runtime_leave_inline_jobs();
    od_runtime_unlock();
}

/* A recording has all that the program asks for. */
static bool is_without_lock(const atomic_bool *state)
{
    return atomic_load_explicit(state, memory_order_acquire) && !*od_runtime.options.record;
}

void od_runtime_await(bool begins)
{
    static _Thread_local bool began;
    if (!od_runtime_started() || od_runtime.options.sched.write_back == OD_WRITE_BACK_LATE || (!begins && !began))
        return;
    if (begins && is_without_lock(&od_runtime.quiet)) /* the next task that is submitted ends it in any case */
        return;
    bool changed = od_engine_await(od_runtime_lock(), begins);
    began = begins && changed;
    if (began)
        od_recorder_await();
    od_runtime_unlock();
}

void od_runtime_synchronise(void)
{
    od_request *request;
    if (!od_runtime_started() || is_without_lock(&od_runtime.settled))
        return;
    od_engine *engine = od_runtime_lock();
    od_recorder_sync();
    od_expect_memory(!od_engine_sync_request(engine, &request));
    /* In one step: another thread's must not take it for a task that still uses the data. */
    od_runtime_request_and_unlock(engine, request);
    od_recorder_resume();
}

void od_runtime_host_range(uintptr_t base, size_t size, od_request_kind kind)
{
    od_request *request;
    od_engine *engine = od_runtime_lock();
    if (kind != OD_REQUEST_SETTLE) /* follows from the data that tasks name */
        od_recorder_range(base, size, kind);
    od_expect_memory(!od_engine_range_request(engine, base, size, kind, &request));
    if (od_runtime_request_and_unlock(engine, request))
        od_recorder_resume();
}
