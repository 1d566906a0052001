/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Jobs. A captured target task runs on a worker of its device; a synchronous construct is granted a device and runs on
 * the thread that met it; constructs inside a host task use what has been reserved for it (reservation.h).
 */
#include "omp_ext/tasks/job.h"

#include "omp_ext/libomp/call.h"
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/runtime/cpu/cpu.h"
#include "omp_ext/services/machine/speeds.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/tasks/launch/stored.h"
#include "omp_ext/tasks/launch/queue.h"
#include "omp_ext/slices/gpus/apart.h"
#include "omp_ext/slices/slice.h"
#include "omp_ext/split/split.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

od_job *od_job_create(od_job_kind kind)
{
    od_job *job = od_calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->kind = kind;
    job->task.bound = od_runtime_required_device();
    job->task.external = kind == OD_JOB_SYNC;
    job->task.user = job;
    job->task.created_ns = od_tracing_creation();
    if (kind == OD_JOB_SYNC) { /* others are made when their tasks are ready */
        const char *own = od_tracing_take_name();
        job->name = own ? own : od_self.body_name;
    }
    return job;
}

/* A program that gives priorities gives them all: with OMPDARTS_PRIORITY=auto bottom levels count in programs
 * without. */
static int32_t priority_of(const od_record *record)
{
    static atomic_bool given;
    const od_kmp_task *task = record->task;
    od_priority_mode mode = od_runtime_options()->priority;
    bool clause = record->flags & OD_TASK_PRIORITY;
    if (mode == OD_PRIORITY_NONE)
        return 0;
    if (clause)
        atomic_store_explicit(&given, true, memory_order_relaxed);
    if (clause || mode == OD_PRIORITY_CLAUSE || atomic_load_explicit(&given, memory_order_relaxed))
        return clause ? task->data.priority : 0;
    return od_level_priority(record->bottom);
}

od_job *od_job_create_for(od_job_kind kind, od_record *record)
{
    od_job *job = od_job_create(kind);
    od_expect_memory(job);
    const od_kmp_task *task = record->task;
    job->entry = record->entry;
    job->kmp_task = (void *)(uintptr_t)task;
    job->task.priority = priority_of(record);
    job->code = record->code;
    job->task.kind = record->code;
    job->task.submission = record->submission;
    record->submission = NULL;
    job->number = record->number; /* its end is recorded with the job */
    record->number = 0;
    job->task.created_ns = record->created_ns;
    job->name = record->name;
    job->split = record->split;
    job->depends = od_tracing_depends(record->depends, record->ndepends);
    job->ndepends = job->depends ? record->ndepends : 0;
    return job;
}

void od_job_destroy(od_job *job)
{
    od_launch_free(&job->launch);
    free(job->task.access);
    free(job->depends);
    free(job);
}

/* The same task with its arrays in one piece, in the program's memory where no device can run it, or where the program
 * is shown its data by now. OD_EBUSY: it is shown a part of them. */
static od_status resolve_again(od_job *job, od_uses *uses)
{
    const od_task *before = &job->task;
    od_task task = {.priority = before->priority,
                    .kind = before->kind,
                    .external = before->external,
                    .outer = before->outer,
                    .created_ns = before->created_ns,
                    .user = job};
    free(before->access);
    job->task = task;
    job->again = job->granted = job->completed = false;
    od_status status = od_launch_resolve_whole(&job->launch, uses);
    if (status == OD_EBUSY)
        return status;
    od_expect_memory(!status);
    od_structs_relocate(job->launch.call.structs, job->launch.access_of, uses->access);
    job->task.bound = od_launch_place(&job->launch, uses->access, uses->count);
    od_runtime_lock();
    od_uses_trust(uses, NULL, 0, true);
    od_runtime_unlock();
    return OD_OK;
}

/* A thread of its own: it waits for others that use parts of the arrays. */
static void *submit_again(void *arg)
{
    od_job *job = arg;
    od_uses uses = {0};
    if (resolve_again(job, &uses)) {
        od_job_run_beside(job);
        return NULL;
    }
    od_job_submit(od_runtime_lock(), job, &uses, job->launch.call.kernel);
    od_runtime_unlock();
    return NULL;
}

static void finish(od_job *job)
{
    if (job->again) {
        if (od_thread_start(NULL, "od-again", submit_again, job))
            od_fatal("a thread could not be started");
        return;
    }
    od_split_ran(job->split, job->task.place == OD_HOST, job->seconds);
    if (job->ended) {
        job->ended(job);
        return;
    }
    od_detached task = job->detached;
    od_request *after = job->after;
    od_structs *structs = job->launch.call.structs;
    od_request_group *g = after || structs ? od_request_group_begin() : NULL;
    if (g) {
        od_engine *engine = od_runtime_lock();
        od_request_group_add(g, engine, after);
        od_request_group_add(g, engine, od_structs_leave(engine, structs));
        od_runtime_unlock();
    }
    if (job->gate)
        od_gate_release(job->gate);
    if (job->destructor)
        job->destructor(REAL(__kmpc_global_thread_num)(NULL), job->kmp_task);
    od_job_destroy(job);
    if (g)
        od_request_group_end(g, task);
    else
        od_detached_complete(task);
}

static bool use_range(const od_range_use *range, od_job *outer, void (*function)(const od_datum *, int, void *),
                      void *arg)
{
    od_uses uses = {0};
    od_status status = od_range_resolve(range->base, range->size, range->mode, &uses);
    if (status == OD_EBUSY)
        return false;
    od_job *job = od_job_create(OD_JOB_SYNC);
    od_expect_memory(job && !status);
    od_runtime_lock();
    od_uses_trust(&uses, NULL, 0, true);
    od_runtime_unlock();
    job->task.uses_spill = job->task.needs_device = true;
    job->task.outer = outer ? &outer->task : NULL;
    int place = od_job_acquire(job, &uses, "a range");
    function(job->task.access[0].datum, place, arg);
    od_job_end_sync(job, OD_OK);
    od_job_destroy(job);
    return true;
}

/* What cannot be named is not the engine's. */
static void run_beside(od_job *job, od_job *outer)
{
    od_launch_beside(&job->launch, use_range, outer);
    od_args_fetch_always(&job->launch.call.map);
    od_recorder_done(job->number);
}

void od_job_run_beside(od_job *job)
{
    if (job->task.submission) {
        od_engine_withdraw(od_runtime_lock(), job->task.submission);
        od_runtime_unlock();
        job->task.submission = NULL;
    }
    run_beside(job, NULL);
    finish(job);
}

static size_t total_bytes(const od_uses *uses)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < uses->count; i++)
        bytes += uses->access[i].datum->size;
    return bytes;
}

void od_job_submit(od_engine *engine, od_job *job, od_uses *uses, const void *code)
{
    job->cost = od_entry_get(code, total_bytes(uses));
    od_profile_cost(job->cost);
    if (job->cost && job->launch.call.ident)
        job->cost->source = job->launch.call.ident;
    job->task.duration = od_entry_duration(job->cost);
    od_engine_guess(engine, job->task.kind, !od_entry_has_run(job->cost));
    job->task.speed_class = od_kernel_speeds_class(job->code);
    bool has_host_version = job->kind == OD_JOB_KERNEL && !job->ended && !uses->has_scratch &&
                            od_call_result_is_used(job->launch.call.from);
    job->task.host_seconds = has_host_version ? od_cpu_seconds(job->cost, code) : -1;
    job->task.access = uses->access;
    job->task.naccess = uses->count;
    *uses = (od_uses){0};
    if (od_detached_is_live(&job->detached))
        od_runtime_note_job(job);
    od_recorder_ready(job, code);
    od_engine_task_ready(engine, &job->task);
}

/* --- on a worker -------------------------------------------------------- */

static int run_watched(od_job *job, unsigned k)
{
    sigset_t mask;
    od_runtime_open_parts(&job->task, k);
    od_faults_begin_kernel(&mask);
    int failed = od_launch_run(&job->launch, job->task.access, k, NULL);
    od_faults_end_kernel(&mask);
    od_runtime_close_parts(&job->task, k, failed);
    return failed;
}

/* `handle` not NULL: the kernel may go on running after the return, then *handle is libomptarget's, to be asked for its
 * end. */
static od_status run_kernel(od_job *job, int place, void **handle)
{
    bool watched = od_runtime_guards_parts() && od_launch_has_parts(&job->task);
    od_runner *runner = job->launch.call.runner;
    int failed = runner    ? runner->run(runner, &job->launch, &job->task, (unsigned)place)
                 : watched ? run_watched(job, (unsigned)place)
                         : od_launch_run(&job->launch, job->task.access, (unsigned)place, handle);
    if (failed)
        od_runtime_probe(place);
    else if (!handle || !*handle)
        od_stored_look(job->cost, &job->task, (unsigned)place);
    return failed ? OD_EDEVICE : OD_OK;
}

/* Calls a target task's code, whose launch answers that the host version is to run. */
static void call_host_version(od_job *job)
{
    od_thread saved = od_self;
    od_icvs icvs = od_launch_begin_code(0);
    od_self = (od_thread){.mode = OD_HOST_VERSION, .job = job, .place = OD_HOST, .kernels = 1};
    job->entry(REAL(__kmpc_global_thread_num)(NULL), job->kmp_task);
    od_self = saved;
    od_icvs_end(&icvs);
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
    job->task.from_ns = start;
    job->task.to_ns = now;
    job->seconds = (double)(now - start) * 1e-9;
}

/* Of each device: whether kernels that were to be left running have been, and whether some had ended when their launch
 * came back. On host devices all have, since libomptarget waits in the launch; on a GPU a short one may have. */
static atomic_bool left_running[OD_MAX_DEVICES], had_ended[OD_MAX_DEVICES];

static void note_launch(const od_job *job, int place)
{
    atomic_store(job->handle ? &left_running[place] : &had_ended[place], true);
}

/* libomptarget gives the memory that a reduction takes back when it waits for the kernel, not when it is asked for its
 * end. */
static bool is_reduction(const od_job *job)
{
    od_entry *entry = job->cost;
    od_answer answer = entry ? atomic_load(&entry->reduces) : OD_NOT_ASKED;
    if (job->kind != OD_JOB_KERNEL || answer != OD_NOT_ASKED)
        return answer == OD_YES;
    bool reduces = od_images_kernel_reduces(job->launch.call.kernel);
    if (entry)
        atomic_store(&entry->reduces, reduces ? OD_YES : OD_NO);
    return reduces;
}

static bool blocks(const od_job *job, int place)
{
    if (place == OD_HOST)
        return true;
    return is_reduction(job) || (atomic_load(&had_ended[place]) && !atomic_load(&left_running[place]));
}

static bool only_launches(const od_job *job, int place)
{
    return job->kind == OD_JOB_KERNEL && place != OD_HOST && atomic_load(&left_running[place]) && !is_reduction(job);
}

/* OD_EBUSY while the kernel runs. What is asked after an error would end the process: the handle of a kernel whose
 * device has failed is never given back. */
static od_status query_kernel(od_job *job)
{
    unsigned k = (unsigned)job->running_on;
    if (od_remote_is_on()) {
        od_status status = od_remote_poll(&job->handle);
        if (status && status != OD_EBUSY)
            od_runtime_probe(job->running_on);
        return status;
    }
    if (od_queue_enter_device(k)) {
        job->handle = NULL;
        od_apart_leave();
        od_runtime_probe(job->running_on);
        return OD_EDEVICE;
    }
    REAL(__tgt_target_nowait_query)(&job->handle);
    od_queue_leave_device(k);
    if (job->handle)
        return OD_EBUSY;
    od_apart_leave();
    return OD_OK;
}

od_status od_job_poll(od_job *job)
{
    const od_backend *backend = od_runtime_backend();
    bool was_running = job->handle != NULL;
    od_status status = was_running ? query_kernel(job) : OD_OK;
    if (status == OD_EBUSY)
        return status;
    if (job->ticket) {
        status = backend->ops->poll(backend->state, job->ticket);
        if (status == OD_EBUSY)
            return status;
        job->ticket = NULL;
        if (status)
            od_runtime_probe(job->running_on);
    }
    note_time(job, job->running_on);
    if (was_running && !status)
        od_stored_look(job->cost, &job->task, (unsigned)job->running_on);
    return status;
}

static od_status run(od_job *job, int place)
{
    od_status status = OD_OK;
    job->start_ns = od_clock_ns();
    job->running_on = place;
    if (place == OD_HOST && job->kind == OD_JOB_KERNEL && od_launch_outside(job)) {
        status = OD_OK;
    } else if (place == OD_HOST) {
        call_host_version(job);
    } else {
        bool waits = is_reduction(job);
        status = run_kernel(job, place, waits ? NULL : &job->handle);
        if (!status && !waits)
            note_launch(job, place);
    }
    if (!status && job->handle)
        return OD_EBUSY;
    note_time(job, place);
    return status;
}

/* --- once more (OMPDARTS_RECOMPUTE) -------------------------------------- */

static od_status copy_job(od_job *to, const od_job *from)
{
    const od_slice *slice = from->launch.call.slice;
    od_status status = od_launch_copy(&to->launch, &from->launch.call);
    size_t bytes = from->task.naccess * sizeof *from->task.access;
    to->task.access = od_malloc(bytes + 1);
    if (status || !to->task.access)
        return OD_ENOMEM;
    if (to->launch.call.map.count != from->launch.call.map.count || (slice && slice->count > 1))
        return OD_EINVAL;
    to->launch.call.slice = NULL; /* these are there as long as the first run */
    to->launch.call.runner = NULL;
    memcpy(to->task.access, from->task.access, bytes);
    memcpy(to->launch.access_of, from->launch.access_of,
           (size_t)from->launch.call.map.count * sizeof *from->launch.access_of);
    return OD_OK;
}

/* Once more what the job does, for the engine. NULL: out of memory. */
static od_job *run_again(const od_job *job)
{
    od_job *again = od_calloc(1, sizeof *again);
    if (!again)
        return NULL;
    again->kind = OD_JOB_KERNEL;
    again->cost = job->cost;
    again->code = job->code;
    again->name = job->name;
    again->task = (od_task){.bound = OD_NOWHERE,
                            .priority = job->task.priority,
                            .duration = job->task.duration,
                            .speed_class = job->task.speed_class,
                            .kind = job->task.kind,
                            .naccess = job->task.naccess,
                            .user = again};
    if (copy_job(again, job) == OD_OK)
        return again;
    od_job_destroy(again);
    return NULL;
}

const od_job_ops od_jobs = {.run = run,
                            .poll = od_job_poll,
                            .blocks = blocks,
                            .only_launches = only_launches,
                            .finish = finish,
                            .again = run_again,
                            .destroy = od_job_destroy};

/* --- on the program's thread -------------------------------------------- */

static int wait_granted_and_unlock(od_job *job)
{
    od_runtime_revoke_for(job);
    od_runtime_wait(&job->granted);
    int place = job->granted_place;
    od_runtime_unlock();
    return place;
}

int od_job_acquire(od_job *job, od_uses *uses, const void *code)
{
    od_thread_note_grant(true);
    od_job_submit(od_runtime_lock_to_wait(&job->granted), job, uses, code);
    return wait_granted_and_unlock(job);
}

void od_job_end_sync(od_job *job, od_status status)
{
    const bool *flag = status ? &job->granted : &job->completed;
    od_engine *engine = od_runtime_lock_to_wait(flag);
    job->granted = false;
    od_engine_task_done(engine, &job->task, status);
    od_runtime_wait(flag);
    if (!status) {
        od_recorder_waited(job->number);
        od_thread_note_grant(false);
    }
    od_runtime_unlock();
}

/* OD_EBUSY: its data cannot be named now. OD_ENOMEM: there is no job. */
static od_status make_sync_job(const od_kernel_call *call, od_uses *uses, od_job **made)
{
    od_job *job = *made = od_job_create(OD_JOB_SYNC);
    if (!job)
        return OD_ENOMEM;
    od_status status = od_launch_copy(&job->launch, call);
    job->task.uses_spill = true;
    if (!status) {
        od_args_push_always(&job->launch.call.map);
        status = od_launch_resolve(&job->launch, NULL, 0, od_serial_user(), uses);
    }
    if (!status)
        od_structs_relocate(job->launch.call.structs, job->launch.access_of, uses->access);
    return status;
}

static void leave_structs(od_structs *structs)
{
    if (structs) {
        od_engine *engine = od_runtime_lock();
        od_runtime_request_and_unlock(engine, od_structs_leave(engine, structs));
    }
}

static od_status run_kernel_here(od_job *job, int place)
{
    uint64_t start_ns = od_clock_ns();
    od_task *outer = od_self.awaited;
    od_self.awaited = &job->task;
    od_runtime_enter_libomptarget();
    od_status status = run_kernel(job, place, NULL);
    od_runtime_leave_libomptarget();
    od_self.awaited = outer;
    job->task.from_ns = start_ns;
    job->task.to_ns = od_clock_ns();
    return status;
}

/* Not 0: its data are on the host, where the caller goes on. */
static int run_sync(od_job *job, int place)
{
    while (place != OD_HOST && run_kernel_here(job, place)) { /* it is granted another place, at last the host */
        od_job_end_sync(job, OD_EDEVICE);
        place = job->granted_place;
    }
    int failed = place == OD_HOST && !od_launch_outside(job);
    od_job_end_sync(job, OD_OK);
    return failed;
}

/* Its data have been named. As run_sync(). */
static int launch_named(od_job *job, od_uses *uses, od_job *outer)
{
    const void *code = job->launch.call.kernel;
    job->number = od_recorder_create(0, NULL, 0);
    od_runtime_lock();
    od_uses_trust(uses, NULL, 0, true);
    uint64_t owner = od_recorder_own(job->number);
    od_request *after = od_args_pull_always(&job->launch.call.map, uses, job->launch.access_of);
    od_recorder_own(owner);
    if (after)
        after->inside = outer != NULL;
    od_runtime_unlock();
    job->task.bound = od_launch_place(&job->launch, uses->access, uses->count);
    job->task.outer = outer ? &outer->task : NULL;
    int failed = run_sync(job, od_job_acquire(job, uses, code));
    bool beside = false;
    while (job->again && !beside) {
        beside = resolve_again(job, uses) == OD_EBUSY;
        failed = beside ? 0 : run_sync(job, od_job_acquire(job, uses, code));
    }
    if (beside)
        od_launch_beside(&job->launch, use_range, outer);
    od_runtime_request(after);
    return failed;
}

int od_job_launch_sync(const od_kernel_call *call, od_job *outer)
{
    od_uses uses = {0};
    od_job *job;
    int failed = 0;
    od_status status = make_sync_job(call, &uses, &job);
    od_expect_memory(!status || status == OD_EBUSY);
    if (status == OD_EBUSY)
        run_beside(job, outer);
    else
        failed = launch_named(job, &uses, outer);
    leave_structs(job->launch.call.structs);
    od_job_destroy(job);
    return failed;
}
