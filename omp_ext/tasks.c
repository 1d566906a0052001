/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks: target tasks become detached ordinary tasks that only tell what they would launch, and host tasks
 * with depend clauses meet current data on the host.
 *
 * A target task is allocated detachable, with target_trampoline() as its entry. libomp tracks its
 * dependences; when it is ready, the trampoline runs the compiled entry in capture mode, gives the launch to the
 * engine and returns. The task completes in libomp when the engine has completed it.
 *
 * A host task's entry is exchanged when it is submitted with dependences. Its first run, in place, learns whether it
 * offloads from inside; if so, later instances are detached and run on a device worker.
 */
#include "omp_ext/tasks.h"

#include "omp_ext/job.h"
#include "omp_ext/real.h"
#include "omp_ext/records.h"
#include "omp_ext/virtual.h"

#include <stdlib.h>
#include <string.h>

/* --- what a host task, or a wait, names --------------------------------- */

static od_datum *named_datum(od_engine *engine, uintptr_t address)
{
    od_datum *d = od_directory_find(od_engine_directory(engine), address, 0);
    return d && !d->region ? d : NULL;
}

/* Makes what the depend items name current on the host; `write`: and the host will write what they name as out. */
void od_tasks_host_access(const od_depend *depends, int32_t ndepends, bool write)
{
    for (int32_t j = 0; od_runtime_started() && j < ndepends; j++) {
        if (depends[j].flags & OD_DEPEND_ALL_MEMORY) {
            od_runtime_synchronise();
            continue;
        }
        bool writes = write && depends[j].flags != OD_DEPEND_IN;
        od_request *request = NULL;
        od_engine *engine = od_runtime_lock();
        const od_datum *d = named_datum(engine, depends[j].base);
        if (d && (d->nreplicas || !(d->valid & OD_BIT(OD_HOST))))
            od_engine_range_request(engine, d->base, d->size, writes ? OD_REQUEST_WRITE : OD_REQUEST_READ, &request);
        od_runtime_unlock();
        od_runtime_request(request);
    }
}

/* Tells the engine of a task that is submitted (+1), or ready now (-1). */
static void forecast(od_record *record, int change)
{
    if (change > 0)
        record->forecast = od_runtime_started();
    if (!record->forecast)
        return;
    od_engine *engine = od_runtime_lock();
    for (int32_t j = 0; j < record->ndepends; j++)
        od_engine_forecast(engine, record->depends[j].base, change);
    od_runtime_unlock();
}

/* --- target tasks ------------------------------------------------------- */

static void submit_launch(const od_record *record, od_launch *launch, int32_t gtid)
{
    od_uses uses = {0};
    od_job *job = od_job_create(OD_JOB_KERNEL);
    if (!job)
        od_runtime_fatal("out of host memory for a task");
    job->launch = *launch;
    job->entry = record->entry;
    job->event = record->event;
    job->gtid = gtid;
    job->kmp_task = (void *)(uintptr_t)record->task;
    const od_kmp_task *task = record->task;
    if ((record->flags & OD_TASK_PRIORITY) && od_runtime_options()->priority == OD_PRIORITY_CLAUSE)
        job->task.priority = task->data.priority;
    od_map_args map = od_kernel_map_args(&job->launch.args);
    od_args_push_always(&map);
    if (od_args_resolve(&map, record->depends, record->ndepends, &uses, job->launch.access_of))
        od_runtime_fatal("out of host memory for a task's data");
    od_runtime_lock();
    od_uses_trust(&uses, record->depends, record->ndepends, false);
    job->after = od_args_pull_always(&map, &uses, job->launch.access_of);
    od_runtime_unlock();
    job->task.bound = od_launch_bound(&job->launch);
    od_job_submit(job, &uses, launch->kernel);
}

static od_entry *entry_of(od_task_entry entry)
{
    od_entry *known = od_entry_get((const void *)(uintptr_t)entry, 0);
    if (!known)
        od_runtime_fatal("out of host memory for a task");
    return known;
}

/* What capture mode has seen is carried out; then the task is complete. */
static void dispatch(const od_record *record, od_capture *capture, int32_t gtid)
{
    switch (capture->what) {
    case OD_CAPTURED_LAUNCH:
        submit_launch(record, &capture->launch, gtid);
        return;
    case OD_CAPTURED_REQUESTS:
        od_runtime_request_async(capture->requests, capture->nrequests, record->event);
        free(capture->requests);
        return;
    case OD_CAPTURED_NOTHING: /* if(0): the region has just run on the host */
        od_tasks_host_access(record->depends, record->ndepends, true);
        break;
    case OD_CAPTURED_DONE:
        break;
    }
    REAL(omp_fulfill_event)(record->event);
}

static int32_t target_trampoline(int32_t gtid, void *task)
{
    od_record *record = od_records_take(task);
    forecast(record, -1);
    od_capture capture = {.what = OD_CAPTURED_NOTHING};
    if (record->code->kind != OD_ENTRY_OFFLOADS) /* it may be the host branch of an if clause */
        od_tasks_host_access(record->depends, record->ndepends, false);
    od_thread saved = od_self;
    od_self = (od_thread){.mode = OD_CAPTURE, .capture = &capture, .own_default_device = saved.own_default_device};
    record->entry(gtid, task);
    od_self = saved;
    record->code->kind = capture.what == OD_CAPTURED_NOTHING ? OD_ENTRY_HOST : OD_ENTRY_OFFLOADS;
    dispatch(record, &capture, gtid);
    od_record_free(record);
    return 0;
}

void *__kmpc_omp_target_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                                   od_task_entry entry, int64_t device)
{
    if (!od_runtime_active())
        return REAL(__kmpc_omp_target_task_alloc)(ident, gtid, flags, size, shareds, entry, device);
    int32_t ordinary = (flags | OD_TASK_DETACHABLE) & ~(OD_TASK_PROXY | OD_TASK_HIDDEN_HELPER);
    od_record *record = calloc(1, sizeof *record);
    if (!record)
        od_runtime_fatal("out of host memory for a task");
    void *task = REAL(__kmpc_omp_task_alloc)(ident, gtid, ordinary, size, shareds, target_trampoline);
    *record = (od_record){.task = task, .entry = entry, .code = entry_of(entry), .flags = flags};
    record->event = REAL(__kmpc_task_allow_completion_event)(ident, gtid, task);
    od_records_add(record);
    return task;
}

/* --- host tasks --------------------------------------------------------- */

/* The data that the depend items of a learnt host task name. Mispredictions are corrected when it runs. */
static void predict(const od_record *record, const od_entry *entry, od_uses *uses)
{
    od_access *access = calloc((size_t)record->ndepends + 1, sizeof *access);
    if (!access)
        return;
    uses->access = access;
    od_engine *engine = od_runtime_lock();
    for (int32_t j = 0; j < record->ndepends && j < OD_MAX_LEARNT_DEPENDS; j++) {
        od_datum *d;
        if (!entry->depend[j].size || od_engine_datum(engine, record->depends[j].base, entry->depend[j].size, &d))
            continue;
        uint32_t i = 0;
        while (i < uses->count && access[i].datum != d)
            i++;
        if (i < uses->count)
            od_engine_release(engine, d);
        else
            access[uses->count++] = (od_access){d, 0};
        access[i].mode |= entry->depend[j].mode;
    }
    od_uses_trust(uses, record->depends, record->ndepends, false);
    od_runtime_unlock();
}

static void submit_host_task(od_record *record, int32_t gtid)
{
    od_uses uses = {0};
    od_job *job = od_job_create(OD_JOB_HOST_TASK);
    if (!job)
        od_runtime_fatal("out of host memory for a task");
    predict(record, record->code, &uses);
    const od_kmp_task *task = record->task;
    if ((record->flags & OD_TASK_PRIORITY) && od_runtime_options()->priority == OD_PRIORITY_CLAUSE)
        job->task.priority = task->data.priority;
    job->entry = record->entry;
    job->event = record->event;
    job->gtid = gtid;
    job->kmp_task = (void *)(uintptr_t)record->task;
    job->depends = record->depends;
    job->ndepends = record->ndepends;
    record->depends = NULL;
    od_job_submit(job, &uses, (const void *)(uintptr_t)record->entry);
}

/* In place: its data current on the host, and eyes open for what it does. */
static void run_in_place(const od_record *record, int32_t gtid)
{
    od_thread saved = od_self;
    od_tasks_host_access(record->depends, record->ndepends, true);
    od_self = (od_thread){.mode = OD_PLAIN,
                          .learning = record->code->kind == OD_ENTRY_UNKNOWN ? record->code : NULL,
                          .depends = record->depends,
                          .ndepends = record->ndepends,
                          .own_default_device = saved.own_default_device};
    record->entry(gtid, (void *)(uintptr_t)record->task);
    od_self = saved;
    od_entry_kind unknown = OD_ENTRY_UNKNOWN;
    atomic_compare_exchange_strong(&record->code->kind, &unknown, OD_ENTRY_HOST);
}

static int32_t host_trampoline(int32_t gtid, void *task)
{
    od_record *record = od_records_take(task);
    forecast(record, -1);
    if (record->detachable && od_runtime_started() && record->code->kind == OD_ENTRY_OFFLOADS) {
        record->event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, task);
        submit_host_task(record, gtid);
    } else {
        run_in_place(record, gtid);
    }
    od_record_free(record);
    return 0;
}

/* Any task with a depend clause may turn out to offload. One that was allocated detachable and
 * never asked for its event completes as usual. */
void *__kmpc_omp_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                            od_task_entry entry)
{
    if (!od_runtime_offloads())
        return REAL(__kmpc_omp_task_alloc)(ident, gtid, flags, size, shareds, entry);
    bool plain = !(flags & (OD_TASK_DETACHABLE | OD_TASK_FINAL | OD_TASK_PROXY | OD_TASK_MERGED_IF0));
    void *task =
        REAL(__kmpc_omp_task_alloc)(ident, gtid, plain ? flags | OD_TASK_DETACHABLE : flags, size, shareds, entry);
    od_self.allocated = entry_of(entry);
    od_self.detachable = plain ? task : NULL;
    od_self.allocated_flags = flags;
    return task;
}

static od_record *record_host_task(od_kmp_task *task)
{
    od_record *record = calloc(1, sizeof *record);
    if (!record)
        od_runtime_fatal("out of host memory for a task");
    bool detachable = od_self.detachable == task;
    *record = (od_record){.task = task,
                          .entry = task->entry,
                          .code = entry_of(task->entry),
                          .detachable = detachable,
                          .flags = detachable ? od_self.allocated_flags : 0};
    task->entry = host_trampoline;
    od_records_add(record);
    return record;
}

static void copy_depends(od_record *record, int32_t n, const od_depend *depends, int32_t n_noalias,
                         const od_depend *noalias)
{
    size_t total = (size_t)n + (size_t)n_noalias;
    record->depends = malloc((total + 1) * sizeof *record->depends);
    if (!record->depends)
        od_runtime_fatal("out of host memory for a task's dependences");
    if (n)
        memcpy(record->depends, depends, (size_t)n * sizeof *depends);
    if (n_noalias)
        memcpy(record->depends + n, noalias, (size_t)n_noalias * sizeof *noalias);
    record->ndepends = (int32_t)total;
}

int32_t __kmpc_omp_task_with_deps(od_ident *ident, int32_t gtid, void *task, int32_t ndepends, od_depend *depends,
                                  int32_t n_noalias, od_depend *noalias)
{
    if (od_runtime_offloads()) {
        od_record *record = od_records_find(task);
        if (!record && ndepends + n_noalias > 0)
            record = record_host_task(task);
        if (record) {
            copy_depends(record, ndepends, depends, n_noalias, noalias);
            forecast(record, +1);
        }
        od_self.allocated = NULL;
    }
    return REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, depends, n_noalias, noalias);
}

int32_t __kmpc_omp_task(od_ident *ident, int32_t gtid, void *task)
{
    od_self.allocated = NULL;
    return REAL(__kmpc_omp_task)(ident, gtid, task);
}

/* --- waiting with dependences ------------------------------------------- */

static void after_wait(int32_t ndepends, const od_depend *depends, int32_t n_noalias, const od_depend *noalias)
{
    od_entry *undeferred = od_self.allocated; /* a task that is run at once follows */
    od_self.allocated = NULL;
    if (!od_runtime_offloads())
        return;
    if (undeferred && undeferred->kind == OD_ENTRY_OFFLOADS) /* its data may stay where they are */
        return;
    od_tasks_host_access(depends, ndepends, true);
    od_tasks_host_access(noalias, n_noalias, true);
    od_self.learning = undeferred;
}

void __kmpc_omp_task_complete_if0(od_ident *ident, int32_t gtid, void *task)
{
    od_self.learning = NULL;
    REAL(__kmpc_omp_task_complete_if0)(ident, gtid, task);
}

void __kmpc_omp_taskwait_deps_51(od_ident *ident, int32_t gtid, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                                 od_depend *noalias, int32_t has_no_wait)
{
    REAL(__kmpc_omp_taskwait_deps_51)(ident, gtid, ndepends, depends, n_noalias, noalias, has_no_wait);
    after_wait(ndepends, depends, n_noalias, noalias);
}

void __kmpc_omp_wait_deps(od_ident *ident, int32_t gtid, int32_t ndepends, od_depend *depends, int32_t n_noalias,
                          od_depend *noalias)
{
    REAL(__kmpc_omp_wait_deps)(ident, gtid, ndepends, depends, n_noalias, noalias);
    after_wait(ndepends, depends, n_noalias, noalias);
}
