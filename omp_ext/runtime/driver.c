/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The driver of the engine: its commands carried out. Under the lock, but where it says otherwise. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/process/fatal.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/tasks/entry.h"
#include "util/clock.h"

/* For what OMPDARTS_DEBUG=check says about a datum. */
static void note_user(const od_task *task, const od_entry *user)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->user = user;
}

static void start_task(void *driver, od_task *task, int place)
{
    (void)driver;
    od_job *job = task->user;
    if (od_runtime.stopping)
        return;
    if (place == OD_HOST && od_runtime.mandatory)
        od_fatal("a target region cannot run on a device, and OMP_TARGET_OFFLOAD=mandatory forbids the host");
    if (place != OD_HOST)
        note_user(task, job->cost);
    job->granted_place = place;
    if (job->kind == OD_JOB_SYNC) {
        od_runtime_set_flag(&job->granted);
        return;
    }
    if (job->kind == OD_JOB_RESERVATION) {
        od_runtime_grant_reservation(job);
        return;
    }
    od_runtime.busy++;
    if (od_runtime_run_inline(job))
        return;
    if (od_workers_submit(od_runtime.workers, job))
        od_fatal("a worker thread could not be started");
}

static void complete_task(void *driver, od_task *task)
{
    (void)driver;
    od_job *job = task->user;
    if (!task->undone)
        od_recorder_ran(job);
    if (job->kind == OD_JOB_RESERVATION && !job->granted)
        od_runtime_open_gate(job); /* it was declined */
    else if (od_detached_is_live(&job->detached))
        od_list_remove(&od_runtime.live, &job->live);
    if (job->kind == OD_JOB_SYNC) {
        od_runtime_set_flag(&job->completed);
        return;
    }
    job->next = NULL;
    *od_runtime.jobs_done_end = job;
    od_runtime.jobs_done_end = &job->next;
}

static od_task *again(void *driver, const od_task *task)
{
    (void)driver;
    const od_job *first = task->user;
    od_job *job = od_runtime.jobs->again(first);
    if (job)
        job->modes = first->modes;
    return job ? &job->task : NULL;
}

static void free_again(void *driver, od_task *task)
{
    (void)driver;
    od_runtime.jobs->destroy(task->user);
}

static void complete_request(void *driver, od_request *request)
{
    (void)driver;
    od_waiter *waiter = request->user;
    if (!waiter->notify) {
        if (--waiter->left == 0)
            od_runtime_set_flag(&waiter->done);
        return;
    }
    waiter->done = true;
    waiter->next = od_runtime.requests_done;
    od_runtime.requests_done = waiter;
}

static bool waits_for_program(void *driver, const od_task *task)
{
    (void)driver;
    if (!od_job_has_rivals(task->user))
        return false;
    od_runtime_start_retries();
    return true;
}

static void keeps_tasks(void *driver)
{
    (void)driver;
    od_runtime_start_retries();
}

static void release_host(void *driver, uintptr_t base, size_t size)
{
    (void)driver;
    od_runtime.backend.ops->release_host(od_runtime.backend.state, base, size);
    od_runtime.must_reclaim = true;
}

static uint64_t now_ns(void *driver)
{
    (void)driver;
    return od_clock_ns();
}

static uint64_t processor_ns(void *driver, bool own)
{
    (void)driver;
    return own ? od_clock_thread_ns() : od_clock_process_ns();
}

static void recall(void *driver, const od_recalled_graph *graph, od_recall_found *found, void *arg)
{
    (void)driver;
    od_profile_recall(graph, od_runtime.devices.count, od_engine_memory(od_runtime.engine), found, arg);
}

static void keep(void *driver, const od_recalled_graph *graph, const od_recalled_row *row)
{
    (void)driver;
    od_profile_keep(graph, od_runtime.devices.count, od_engine_memory(od_runtime.engine), row);
}

static void fatal(void *driver, const char *message)
{
    (void)driver;
    od_engine_dump(od_runtime.engine, stderr);
    od_fatal(message);
}

static bool start_background(void *driver, od_background *job, size_t tasks)
{
    (void)driver;
    return tasks >= OD_BACKGROUND_FEW && od_planner_submit(od_runtime.planner, job);
}

od_driver_ops od_runtime_driver_ops = {
    .start_background = start_background,
    .start_transfer = od_runtime_start_transfer,
    .start_task = start_task,
    .complete_task = complete_task,
    .complete_request = complete_request,
    .again = again,
    .free_again = free_again,
    .now_ns = now_ns,
    .processor_ns = processor_ns,
    .waits_for_program = waits_for_program,
    .keeps_tasks = keeps_tasks,
    .release_host = release_host,
    .occupy = od_runtime_occupy,
    .discard = od_runtime_discard_part,
    .recall = recall,
    .keep = keep,
    .fatal = fatal,
};

void od_runtime_background_done(od_background *job)
{
    od_engine *engine = od_runtime_lock();
    od_recorder_planned(job->seconds);
    od_engine_background_done(engine, job);
    od_runtime_unlock();
}
