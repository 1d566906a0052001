/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Jobs. A captured target task runs on a worker of its device; a learnt host task
 * too, with its own launches and data constructs answered by its device; a synchronous
 * construct is granted a device and runs on the thread that met it.
 *
 * A host task's data are predicted from its depend list. When it turns out to need
 * others, and uses none at that moment, it gives back what it has and becomes ready
 * again (od_engine_task_retry), so that no job holds data while it waits for more.
 */
#include "omp_ext/job.h"

#include "memmgr/clock.h"
#include "omp_ext/queue.h"
#include "omp_ext/real.h"
#include "omp_ext/recall.h"
#include "omp_ext/record.h"
#include "omp_ext/structs.h"
#include "omp_ext/tracing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Thread_local od_thread od_self;

od_job *od_job_create(od_job_kind kind)
{
    od_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->kind = kind;
    job->task.bound = od_runtime_required_device();
    job->task.external = kind == OD_JOB_SYNC;
    job->task.user = job;
    job->task.created_ns = od_tracing_creation();
    job->name = kind == OD_JOB_SYNC ? od_tracing_take_name() : NULL; /* others are made when their tasks are ready */
    return job;
}

void od_job_destroy(od_job *job)
{
    od_launch_free(&job->launch);
    free(job->task.access);
    free(job->depends);
    free(job);
}

static size_t total_bytes(const od_uses *uses)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < uses->count; i++)
        bytes += uses->access[i].datum->size;
    return bytes;
}

void od_job_submit(od_job *job, od_uses *uses, const void *code)
{
    od_engine *engine = job->kind == OD_JOB_KERNEL ? od_runtime_lock_inline() : od_runtime_lock();
    job->cost = od_entry_get(code, total_bytes(uses));
    od_recall_cost(job->cost);
    if (job->cost && job->launch.call.ident)
        job->cost->source = job->launch.call.ident;
    job->task.duration = od_entry_duration(job->cost);
    job->task.access = uses->access;
    job->task.naccess = uses->count;
    *uses = (od_uses){0};
    od_runtime_check_limit(&job->task);
    if (job->detached.event)
        od_runtime_note_job(job);
    od_record_ready(job, code);
    od_engine_task_ready(engine, &job->task);
    od_runtime_unlock();
}

/* --- on a worker -------------------------------------------------------- */

/* `handle` not NULL: the kernel may go on running after the return, then *handle is libomptarget's, to be asked for its
 * end. */
static od_status run_kernel(od_job *job, int place, void **handle)
{
    int failed = od_launch_run(&job->launch, job->task.access, (unsigned)place, handle);
    if (failed)
        od_runtime_probe(place);
    return failed ? OD_EDEVICE : OD_OK;
}

/* Calls compiled code with the given meaning of its constructs. */
static od_status call_entry(od_job *job, od_thread_mode mode, int place)
{
    od_thread saved = od_self;
    bool is_kernel = mode == OD_HOST_VERSION && job->kind == OD_JOB_KERNEL;
    od_self = (od_thread){.mode = mode, .job = job, .place = place, .kernels = is_kernel};
    if (mode == OD_ON_DEVICE)
        od_queue_enter((unsigned)place);
    job->entry(REAL(__kmpc_global_thread_num)(NULL), job->kmp_task);
    od_status status = od_queue_leave_ticket(&job->ticket);
    od_self = saved;
    return status;
}

/* The last end of a kernel on each device: those that are queued behind it begin then. */
static atomic_uint_least64_t last_end_ns[OD_MAX_DEVICES];

static void note_time(od_job *job, int place)
{
    uint64_t now = od_clock_ns(), start = job->start_ns;
    if (place != OD_HOST) {
        uint64_t last = atomic_exchange(&last_end_ns[place], now);
        start = last > start ? last : start;
    }
    job->from_ns = start;
    job->to_ns = now;
    job->seconds = (double)(now - start) * 1e-9;
}

/* Set once a kernel that was to be left running had ended when its launch came back: libomptarget waits here. */
static atomic_bool launches_wait;

bool od_job_blocks(const od_job *job, int place)
{
    return place == OD_HOST || job->kind != OD_JOB_KERNEL || job->launch.call.structs || atomic_load(&launches_wait);
}

od_status od_job_poll(od_job *job)
{
    od_status status = OD_OK;
    const od_backend *backend = od_runtime_backend();
    if (job->handle)
        REAL(__tgt_target_nowait_query)(&job->handle);
    if (job->handle)
        return OD_EBUSY;
    if (job->ticket) {
        status = backend->ops->poll(backend->state, job->ticket);
        if (status == OD_EBUSY)
            return status;
        job->ticket = NULL;
        if (status)
            od_runtime_probe(job->running_on);
    }
    note_time(job, job->running_on);
    return status;
}

od_status od_job_run(od_job *job, int place)
{
    od_status status;
    job->start_ns = od_clock_ns();
    job->running_on = place;
    if (place == OD_HOST) {
        od_structs_to_host(job->launch.call.structs);
        status = call_entry(job, OD_HOST_VERSION, OD_HOST);
    } else if (job->kind == OD_JOB_KERNEL) {
        status = run_kernel(job, place, &job->handle);
        if (!status && !job->handle && !job->launch.call.structs)
            atomic_store(&launches_wait, true);
    } else {
        status = call_entry(job, OD_ON_DEVICE, place);
    }
    if (!status && (job->handle || job->ticket))
        return OD_EBUSY;
    note_time(job, place);
    return status;
}

/* --- on the program's thread -------------------------------------------- */

int od_job_wait_granted(od_job *job)
{
    od_runtime_lock();
    od_runtime_wait(&job->granted);
    int place = job->granted_place;
    od_runtime_unlock();
    return place;
}

void od_job_end_sync(od_job *job, od_status status)
{
    od_engine *engine = od_runtime_lock();
    job->granted = false;
    od_engine_task_done(engine, &job->task, status);
    od_runtime_wait(status ? &job->granted : &job->completed);
    if (!status)
        od_record_waited(job->number);
    od_runtime_unlock();
}

static od_job *make_sync_job(const od_kernel_call *call, od_uses *uses)
{
    od_job *job = od_job_create(OD_JOB_SYNC);
    if (!job)
        return NULL;
    od_status status = od_launch_copy(&job->launch, call);
    if (!status) {
        od_map_args map = od_kernel_map_args(&job->launch.call.args);
        od_args_push_always(&map);
        status = od_args_resolve(&map, NULL, 0, uses, job->launch.access_of);
    }
    if (status) {
        od_job_destroy(job);
        return NULL;
    }
    return job;
}

/* The host version of a synchronous region runs after our return: what it writes would not reach a copy whose device
 * address the program holds. */
static void refuse_bound(const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++)
        if (task->access[i].datum->bound)
            od_runtime_fatal(
                "a target region fits on no device beside the data whose device addresses the program holds "
                "(use_device_ptr); raise OMPDARTS_MEM_LIMIT");
}

int od_job_launch_sync(const od_kernel_call *call, od_job *outer)
{
    od_uses uses = {0};
    od_job *job = make_sync_job(call, &uses);
    if (!job)
        od_runtime_fatal("out of host memory for a launch");
    job->number = od_record_create(0, NULL, 0);
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    uint64_t owner = od_record_own(job->number);
    od_map_args map = od_kernel_map_args(&job->launch.call.args);
    od_request *after = od_args_pull_always(&map, &uses, job->launch.access_of);
    od_record_own(owner);
    if (after)
        after->inside = outer != NULL;
    od_runtime_unlock();
    job->task.bound = od_launch_bound(&job->launch);
    job->task.outer = outer ? &outer->task : NULL;
    od_job_submit(job, &uses, call->kernel);
    int place = od_job_wait_granted(job);
    while (place != OD_HOST && run_kernel(job, place, NULL)) { /* it is granted another place, at last the host */
        od_job_end_sync(job, OD_EDEVICE);
        place = job->granted_place;
    }
    if (place == OD_HOST) { /* data are there: the caller goes on there */
        refuse_bound(&job->task);
        od_structs_to_host(job->launch.call.structs);
    }
    od_job_end_sync(job, OD_OK);
    od_runtime_request(after);
    od_job_destroy(job);
    return place == OD_HOST;
}

/* --- inside a job that has a device ------------------------------------- */

/* What a kernel writes to an argument that is mapped `to` nobody is to see: it needs a copy that may be lost, not the only
 * one, which the job may have written before. */
static bool suits(const od_access *held, od_mode mode)
{
    bool only_copy = !held->datum->region && (held->mode & OD_WRITE);
    return (mode & ~held->mode) == 0 && !(mode == OD_READ && only_copy);
}

/* Finds each argument's datum among the job's own. False: one is missing, or held in another mode. Locked. */
static bool covers(od_engine *engine, const od_job *job, const od_map_args *args, int32_t *access_of)
{
    for (int32_t i = 0; i < args->count; i++) {
        uintptr_t base;
        size_t size;
        access_of[i] = -1;
        if (od_arg_classify(args, i) != OD_ARG_DATUM || !od_arg_range(engine, args, i, &base, &size))
            continue;
        od_mode mode = od_arg_mode(engine, args, i, job->depends, job->ndepends);
        for (uint32_t j = 0; j < job->task.naccess && access_of[i] < 0; j++) {
            const od_access *a = &job->task.access[j];
            if (base >= a->datum->base && base + size <= a->datum->base + a->datum->size && suits(a, mode))
                access_of[i] = (int32_t)j;
        }
        if (access_of[i] < 0)
            return false;
    }
    return true;
}

void od_job_learn(od_entry *entry, const od_depend *depends, int32_t ndepends, const od_map_args *args)
{
    for (int32_t j = 0; j < ndepends && j < OD_MAX_LEARNT_DEPENDS; j++)
        for (int32_t i = 0; i < args->count; i++) {
            if ((uintptr_t)args->begins[i] != depends[j].base || (args->types[i] & OD_MAP_NO_RANGE) ||
                args->sizes[i] <= 0)
                continue;
            entry->depend[j].size = (size_t)args->sizes[i];
            entry->depend[j].mode = depends[j].flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
        }
}

/* What the job has written (accesses whose data the caller holds; not locked) and no device may keep goes home, as at the end of a task: whoever reads it next may write to the
 * device's copy. */
static void bring_home(const od_access *written, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        od_datum *d = written[i].datum;
        od_engine *engine = od_runtime_lock();
        bool goes_home = (written[i].mode & OD_WRITE) && !d->keep;
        od_runtime_unlock();
        if (goes_home)
            od_runtime_host_range(d->base, d->size, OD_REQUEST_READ);
        od_runtime_lock();
        od_engine_release(engine, d);
        od_runtime_unlock();
    }
}

/* Gives back what the job holds, asks for the construct's data instead, and waits for them. */
static void retry(od_job *job, const od_map_args *args)
{
    od_uses uses = {0};
    od_log(OD_LOG_DEBUG, "omp",
           "host task %p needs %d data, other than the %u predicted: gives them back and asks again",
           (void *)(uintptr_t)job->entry, args->count, job->task.naccess);
    od_queue_leave(); /* what it has queued uses the data */
    od_engine *engine = od_runtime_lock();
    od_access *old = job->task.access;
    uint32_t count = od_self.used ? job->task.naccess : 0;
    for (uint32_t i = 0; i < count; i++) /* held until they are home */
        old[i].datum->pending++;
    od_record_gave_back(job);
    od_engine_task_give_back(engine, &job->task, od_self.used);
    od_runtime_unlock();
    od_self.used = false;
    bring_home(old, count);
    free(old);
    if (od_args_resolve(args, job->depends, job->ndepends, &uses, NULL))
        od_runtime_fatal("out of host memory for a task's data");
    od_runtime_lock();
    od_uses_trust(&uses, job->depends, job->ndepends, false);
    od_job_learn(od_entry_get((const void *)(uintptr_t)job->entry, 0), job->depends, job->ndepends, args);
    job->granted = false;
    job->task.access = uses.access;
    job->task.naccess = uses.count;
    od_record_ready(job, (const void *)(uintptr_t)job->entry);
    od_engine_task_ready(engine, &job->task);
    od_runtime_unlock();
    od_self.place = od_job_wait_granted(job);
    if (od_self.place == OD_HOST)
        od_self.mode = OD_HOST_VERSION;
    else
        od_queue_enter((unsigned)od_self.place);
}

/* What it has been shown before, and used, has been given back by the program; what acquire() holds beside it has not. */
static bool may_retry(void)
{
    return !od_self.shown && !(od_self.used && od_self.holds);
}

static bool own(const od_job *job, const od_map_args *args, int32_t *access_of)
{
    od_engine *engine = od_runtime_lock();
    bool all = covers(engine, job, args, access_of);
    od_runtime_unlock();
    return all;
}

bool od_job_adopt(const od_map_args *args)
{
    od_job *job = od_self.job;
    int32_t *access_of = malloc(((size_t)args->count + 1) * sizeof *access_of);
    if (!access_of)
        od_runtime_fatal("out of host memory for a construct");
    bool all = own(job, args, access_of);
    if (!all && may_retry()) {
        retry(job, args);
        all = true;
    }
    free(access_of);
    return all;
}

int od_job_launch_inside(const od_kernel_call *call)
{
    od_job *job = od_self.job;
    od_launch launch;
    if (od_launch_copy(&launch, call))
        od_runtime_fatal("out of host memory for a launch");
    od_map_args map = od_kernel_map_args(&launch.call.args);
    bool all = own(job, &map, launch.access_of);
    if (!all && may_retry()) {
        retry(job, &map);
        if (od_self.mode == OD_HOST_VERSION) {
            od_launch_free(&launch);
            return 1;
        }
        all = own(job, &map, launch.access_of);
    }
    int failed = 1;
    od_queue_drain();
    if (all) {
        od_self.used = true;
        od_args_push_always(&map);
        failed = od_launch_run(&launch, job->task.access, (unsigned)od_self.place, NULL);
        if (!failed)
            od_args_fetch_always(&map);
    }
    if (failed) {                   /* as a task of its own it may use other data, or fail */
        launch.call.structs = NULL; /* the other launch takes them */
        failed = od_job_launch_sync(call, job);
    }
    od_launch_free(&launch);
    return failed;
}
