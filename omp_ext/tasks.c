/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks: target tasks become detached ordinary tasks that only tell what they would launch, and host tasks
 * with depend clauses meet current data on the host.
 *
 * A target task is allocated detachable, with target_trampoline() as its entry. libomp tracks its
 * dependences; when it is ready, the trampoline asks for its completion event, runs the compiled entry in capture mode, gives
 * the launch to the engine and returns. The task completes in libomp when the engine has completed it. One that libomp
 * discards never asks, and completes as usual.
 *
 * A host task's entry is exchanged when it is submitted with dependences. Its first run, in place, learns whether it
 * offloads from inside; if so, later instances are detached and run on a device worker.
 */

#include "omp_ext/job.h"

#include "omp_ext/real.h"
#include "omp_ext/recall.h"
#include "omp_ext/record.h"
#include "omp_ext/records.h"
#include "omp_ext/serial.h"
#include "omp_ext/tracing.h"
#include "omp_ext/virtual.h"
#include "util/tsan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- what the host may use --------------------------------- */

static void bring_home(const od_depend *depend, od_request_kind kind)
{
    od_request *request = NULL;
    od_engine *engine = od_runtime_lock();
    const od_datum *d = od_directory_find(od_engine_directory(engine), depend->base, 0);
    od_status status = OD_OK;
    if (d && !d->region)
        od_record_range(d->base, d->size, kind);
    if (d && !d->region && (d->nreplicas || !(d->valid & OD_BIT(OD_HOST))))
        status = od_engine_range_request(engine, d->base, d->size, kind, &request);
    od_runtime_unlock();
    if (status)
        od_runtime_fatal("out of host memory for a host task");
    od_runtime_request(request);
}

/* The host is about to use what tasks before it have written, or has just written what tasks after it will use. With
 * OMPDARTS_COHERENCE=depend that is what the items name; otherwise it may be anything that was written by a task
 * before one of them: order goes from task to task, names do not. */
static void host_access(const od_depend *depends, int32_t ndepends)
{
    if (!od_runtime_started())
        return;
    if (od_runtime_options()->coherence != OD_COHERENCE_DEPEND) {
        od_runtime_synchronise();
        return;
    }
    for (int32_t j = 0; j < ndepends; j++)
        if (depends[j].flags & OD_DEPEND_ALL_MEMORY)
            od_runtime_synchronise();
        else
            bring_home(&depends[j], depends[j].flags == OD_DEPEND_IN ? OD_REQUEST_READ : OD_REQUEST_WRITE);
}

enum { USES_AT_ONCE = 32 };

/* The depend items as the scheduler sees them. `few` has room for USES_AT_ONCE; what is returned may be malloc'ed. */
static od_level_use *scheduler_uses(const od_record *record, od_level_use *few)
{
    size_t n = (size_t)record->ndepends;
    od_level_use *uses = n > USES_AT_ONCE ? malloc(n * sizeof *uses) : few;
    if (!uses)
        od_runtime_fatal("out of host memory for a task's dependences");
    for (size_t j = 0; j < n; j++)
        uses[j] = (od_level_use){record->depends[j].base, record->depends[j].flags != OD_DEPEND_IN,
                                 record->depends[j].flags == OD_DEPEND_OUT};
    return uses;
}

/* The scheduler is not told of data constructs: no device needs data for them, so they are no reason to keep any there. */
static void submit(od_record *record)
{
    od_level_use few[USES_AT_ONCE];
    if (!od_runtime_started())
        return;
    od_level_use *uses = scheduler_uses(record, few);
    od_engine *engine = od_runtime_lock();
    od_recall_cost(record->code);
    double seconds = record->shares_nothing ? 0 : od_entry_weight(record->code);
    record->submitted = seconds > 0;
    record->number = od_record_create(seconds, record->depends, record->ndepends);
    if (record->submitted)
        record->submission = od_engine_submit(engine, record->code, seconds, uses, (uint32_t)record->ndepends);
    od_runtime_unlock();
    if (uses != few)
        free(uses);
}

/* The task is ready, or will never be. */
static void unsubmit(od_record *record)
{
    if (!record->submitted)
        return;
    od_engine *engine = od_runtime_lock();
    record->bottom = od_engine_unsubmit(engine, &record->submission);
    od_runtime_unlock();
}

/* No job has come of it: the program has run it itself, or nobody will. */
static void withdraw(od_record *record)
{
    if (!record->submission)
        return;
    od_engine_withdraw(od_runtime_lock(), record->submission);
    od_runtime_unlock();
    record->submission = NULL;
}

/* libomp has discarded a task (cancel taskgroup) and gives its memory to a new one: its record is still there. */
static void forget_discarded(const void *task)
{
    od_record *stale = REAL(omp_get_cancellation)() ? od_records_take(task) : NULL;
    if (stale) {
        unsubmit(stale);
        withdraw(stale);
        od_record_done(stale->number);
        od_record_free(stale);
    }
}

/* --- explicit tasks that create target tasks ------------------------------ */

/* libomp's barriers wait for a detached task only if its parent is an implicit task. So an explicit task that has created
 * target tasks, or others that may be detached, waits for them at its end. Its entry is exchanged for that; part_id, which compiled code uses in untied tasks
 * alone, tells the trampoline which entry it was, in the copies that a taskloop makes, too. */
static void end_family(int32_t gtid)
{
    if (od_self.family.has_children)
        REAL(__kmpc_omp_taskwait)(NULL, gtid);
}

/* True where somebody waits for a detached task that is created now, before the next barrier ends. */
static bool is_awaited(void)
{
    return od_self.family.tracked || !REAL(omp_in_explicit_task)();
}

static int32_t parent_trampoline(int32_t gtid, void *task)
{
    OD_TSAN_ACQUIRE(task); /* its memory was another task's, which libomp knows and nobody tells */
    od_kmp_task *t = task;
    od_family outer = od_self.family;
    const od_entry *code = od_entry_numbered(t->part_id);
    od_self.family = (od_family){.tracked = true};
    t->part_id = 0;
    OD_TSAN_RELEASE(task);
    ((od_task_entry)(uintptr_t)code->code)(gtid, task);
    end_family(gtid);
    od_self.family = outer;
    return 0;
}

static void track(od_kmp_task *task, const od_entry *code)
{
    if (!code->number)
        return;
    task->part_id = code->number;
    task->entry = parent_trampoline;
}

static void untrack(od_kmp_task *task)
{
    if (task->entry != parent_trampoline)
        return;
    task->entry = (od_task_entry)(uintptr_t)od_entry_numbered(task->part_id)->code;
    task->part_id = 0;
}

/* Compiled code calls an undeferred task's entry itself. */
void __kmpc_omp_task_begin_if0(od_ident *ident, int32_t gtid, void *task)
{
    if (od_runtime_offloads() && !od_self.kernels) {
        od_family *outer = malloc(sizeof *outer);
        if (!outer)
            od_runtime_fatal("out of host memory for a task");
        *outer = od_self.family;
        od_self.family = (od_family){.tracked = true, .outer = outer};
    }
    REAL(__kmpc_omp_task_begin_if0)(ident, gtid, task);
}

void __kmpc_omp_task_complete_if0(od_ident *ident, int32_t gtid, void *task)
{
    od_family *outer = od_self.kernels ? NULL : od_self.family.outer;
    if (outer) {
        end_family(gtid);
        od_self.family = *outer;
        free(outer);
    }
    REAL(__kmpc_omp_task_complete_if0)(ident, gtid, task);
}

/* A task that we complete. libomp 19 never ends to complete one where all tasks of the team had priorities: those are in no
 * queue of a thread, and the rest of the completion is put into such a queue. So libomp is not told of them; the scheduler
 * is. */
static int32_t detachable(int32_t flags)
{
    return (flags | OD_TASK_DETACHABLE) & ~OD_TASK_PRIORITY;
}

/* --- target tasks ------------------------------------------------------- */

/* A program that gives priorities gives them all: with OMPDARTS_PRIORITY=auto bottom levels count in programs without. */
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

/* The job of a libomp task that is ready; its data are still to be named. */
static od_job *make_job(od_job_kind kind, od_record *record)
{
    od_job *job = od_job_create(kind);
    if (!job)
        od_runtime_fatal("out of host memory for a task");
    const od_kmp_task *task = record->task;
    job->entry = record->entry;
    job->kmp_task = (void *)(uintptr_t)task;
    job->task.priority = priority_of(record);
    job->code = record->code;
    job->task.kind = record->code;
    job->task.submission = record->submission;
    record->submission = NULL;
    job->number = record->number;
    job->task.created_ns = record->created_ns;
    job->name = record->name;
    return job;
}

static void submit_launch(od_record *record, od_launch *launch)
{
    od_uses uses = {0};
    od_job *job = make_job(OD_JOB_KERNEL, record);
    job->launch = *launch;
    job->detached = record->detached;
    od_map_args map = od_kernel_map_args(&job->launch.call.args);
    od_args_push_always(&map);
    if (od_args_resolve(&map, record->depends, record->ndepends, &uses, job->launch.access_of))
        od_runtime_fatal("out of host memory for a task's data");
    od_uses_save(&uses, record->depends, record->ndepends);
    od_runtime_lock();
    od_uses_trust(&uses, record->depends, record->ndepends, false);
    uint64_t owner = od_record_own(job->number);
    job->after = od_args_pull_always(&map, &uses, job->launch.access_of);
    od_record_own(owner);
    od_runtime_unlock();
    job->task.bound = od_launch_bound(&job->launch);
    od_job_submit(job, &uses, launch->call.kernel);
}

static od_entry *entry_of(od_task_entry entry)
{
    od_entry *known = od_entry_get((const void *)(uintptr_t)entry, 0);
    if (!known)
        od_runtime_fatal("out of host memory for a task");
    return known;
}

/* What capture mode has seen is carried out; then the task is complete. */
static void dispatch(od_record *record, od_capture *capture)
{
    switch (capture->what) {
    case OD_CAPTURED_LAUNCH:
        submit_launch(record, &capture->launch);
        return;
    case OD_CAPTURED_REQUESTS:
        od_record_done(record->number);
        od_runtime_request_async(capture->requests, capture->nrequests, record->detached);
        free(capture->requests);
        return;
    case OD_CAPTURED_NOTHING: /* if(0): the region has just run on the host */
        host_access(record->depends, record->ndepends);
        break;
    case OD_CAPTURED_DONE:
        break;
    }
    od_record_done(record->number);
    od_detached_complete(record->detached);
}

static int32_t target_trampoline(int32_t gtid, void *task)
{
    od_record *record = od_records_take(task);
    if (record->in_place) {
        unsubmit(record);
        host_access(record->depends, record->ndepends); /* it may be the host branch of an if clause */
        record->entry(gtid, task);
        withdraw(record);
        od_record_done(record->number);
        od_record_free(record);
        return 0;
    }
    record->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, task);
    if (od_runtime_ended()) {
        od_detached_complete(record->detached);
        od_record_free(record);
        return 0;
    }
    unsubmit(record);
    if (!record->number)
        record->number = od_record_create(0, NULL, 0);
    od_capture capture = {.what = OD_CAPTURED_NOTHING};
    if (record->code->kind != OD_ENTRY_OFFLOADS) /* it may be the host branch of an if clause */
        host_access(record->depends, record->ndepends);
    od_thread saved = od_self;
    od_self = (od_thread){.mode = OD_CAPTURE, .capture = &capture, .own_default_device = saved.own_default_device};
    uint64_t owner = od_record_own(record->number);
    record->entry(gtid, task);
    od_record_own(owner);
    od_self = saved;
    record->code->kind = capture.what == OD_CAPTURED_NOTHING ? OD_ENTRY_HOST : OD_ENTRY_OFFLOADS;
    dispatch(record, &capture);
    withdraw(record);
    od_record_free(record);
    return 0;
}

void *__kmpc_omp_target_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                                   od_task_entry entry, int64_t device)
{
    if (!od_runtime_active())
        return REAL(__kmpc_omp_target_task_alloc)(ident, gtid, flags, size, shareds, entry, device);
    int32_t ordinary = detachable(flags) & ~(OD_TASK_PROXY | OD_TASK_HIDDEN_HELPER);
    od_record *record = calloc(1, sizeof *record);
    if (!record)
        od_runtime_fatal("out of host memory for a task");
    od_self.unsuited = true;
    od_self.family.has_children = true;
    void *task = REAL(__kmpc_omp_task_alloc)(ident, gtid, ordinary, size, shareds, target_trampoline);
    *record = (od_record){.task = task,
                          .entry = entry,
                          .code = entry_of(entry),
                          .flags = flags,
                          .shares_nothing = shareds == 0,
                          .created_ns = od_tracing_creation(),
                          .name = od_tracing_take_name()};
    forget_discarded(task);
    record->in_place = od_self.serial_loops > 0 || !is_awaited();
    if (!record->in_place)
        record->detached.creator = od_detached_join();
    od_records_add(record);
    return task;
}

/* --- host tasks --------------------------------------------------------- */

/* The datum that a depend item of a learnt host task names: a known one that begins there, or a new one of the learnt
 * size where the item itself has that size. Locked. NULL: cannot be told before it runs. */
static od_datum *predict_datum(od_engine *engine, const od_depend *depend, size_t learnt)
{
    od_datum *d = od_directory_find(od_engine_directory(engine), depend->base, 0);
    size_t size = d && d->base == depend->base ? d->size : depend->length == learnt ? learnt : 0;
    return size && !od_engine_datum(engine, depend->base, size, &d) ? d : NULL;
}

static void add_predicted(od_engine *engine, od_uses *uses, od_datum *d, od_mode mode)
{
    uint32_t i = 0;
    while (i < uses->count && uses->access[i].datum != d)
        i++;
    if (i < uses->count)
        od_engine_release(engine, d);
    else
        uses->access[uses->count++] = (od_access){d, 0};
    uses->access[i].mode |= mode;
}

/* The data of a learnt host task, from its depend list. False: not all can be told. */
static bool predict(const od_record *record, od_uses *uses)
{
    bool all = true;
    uses->access = calloc((size_t)record->ndepends + 1, sizeof *uses->access);
    if (!uses->access)
        return false;
    od_engine *engine = od_runtime_lock();
    for (int32_t j = 0; all && j < record->ndepends && j < OD_MAX_LEARNT_DEPENDS; j++) {
        const od_learnt_depend *learnt = &record->code->depend[j];
        od_datum *d = learnt->size ? predict_datum(engine, &record->depends[j], learnt->size) : NULL;
        if (d)
            add_predicted(engine, uses, d, learnt->mode);
        all = d || !learnt->size;
    }
    if (all)
        od_uses_trust(uses, record->depends, record->ndepends, false);
    od_runtime_unlock();
    if (!all)
        od_uses_release(uses);
    return all;
}

static void submit_host_task(od_record *record, int32_t gtid, od_uses *uses)
{
    od_uses_save(uses, record->depends, record->ndepends);
    od_job *job = make_job(OD_JOB_HOST_TASK, record);
    job->detached = record->detached;
    job->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, job->kmp_task);
    job->depends = record->depends;
    job->ndepends = record->ndepends;
    record->depends = NULL;
    job->task.needs_device = true; /* it works on device addresses, which a library may be given */
    od_job_submit(job, uses, (const void *)(uintptr_t)record->entry);
}

/* What its first run has shown. */
static void conclude(od_entry *entry)
{
    if (!od_self.offloads)
        entry->kind = OD_ENTRY_HOST;
    else
        entry->kind = od_self.unsuited ? OD_ENTRY_IN_PLACE : OD_ENTRY_OFFLOADS;
}

static void run_in_place(const od_record *record, int32_t gtid)
{
    od_thread saved = od_self;
    od_entry_kind kind = record->code->kind;
    od_record_resume();
    if (kind != OD_ENTRY_OFFLOADS) /* else it looks at its data through device addresses only */
        host_access(record->depends, record->ndepends);
    od_self = (od_thread){.mode = OD_PLAIN,
                          .learning = kind == OD_ENTRY_UNKNOWN ? record->code : NULL,
                          .depends = record->depends,
                          .ndepends = record->ndepends,
                          .family = {.tracked = true},
                          .serial_loops = saved.serial_loops,
                          .own_default_device = saved.own_default_device};
    record->entry(gtid, (void *)(uintptr_t)record->task);
    end_family(gtid);
    if (kind == OD_ENTRY_UNKNOWN)
        conclude(record->code);
    od_record_done(record->number);
    od_self = saved;
}

static int32_t host_trampoline(int32_t gtid, void *task)
{
    od_uses uses = {0};
    od_record *record = od_records_take(task);
    ((od_kmp_task *)task)->entry = record->entry; /* an untied task comes in parts: the next ones run as they are */
    OD_TSAN_RELEASE(task);
    if (od_runtime_ended()) {
        od_detached_leave(record->detached.creator);
        od_record_free(record);
        return 0;
    }
    unsubmit(record);
    bool schedulable = record->detachable && od_runtime_started() && record->code->kind == OD_ENTRY_OFFLOADS;
    if (schedulable && predict(record, &uses)) {
        submit_host_task(record, gtid, &uses);
    } else {
        run_in_place(record, gtid);
        withdraw(record);
        od_detached_leave(record->detached.creator);
    }
    od_record_free(record);
    return 0;
}

/* A task with a depend clause may turn out to offload: until its code has shown that it does not, it is made
 * detachable (one that is never asked for its event completes as usual). */
static bool may_detach(int32_t flags, const od_entry *code)
{
    if ((flags & (OD_TASK_DETACHABLE | OD_TASK_FINAL | OD_TASK_PROXY | OD_TASK_MERGED_IF0)) || !(flags & OD_TASK_TIED))
        return false;
    od_entry_kind kind = code->kind;
    bool may_offload = kind == OD_ENTRY_UNKNOWN || kind == OD_ENTRY_OFFLOADS;
    return code->has_depends && !od_self.serial_loops && may_offload && is_awaited();
}

void *__kmpc_omp_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                            od_task_entry entry)
{
    if (od_runtime_is_idle() || !od_runtime_offloads() || od_self.kernels)
        return REAL(__kmpc_omp_task_alloc)(ident, gtid, flags, size, shareds, entry);
    od_self.unsuited = true; /* a task inside a task: that one had better stay where it is */
    const od_entry *code = entry_of(entry);
    bool detach = may_detach(flags, code);
    int32_t given = detach ? detachable(flags) : od_serial_flags(flags);
    void *task = REAL(__kmpc_omp_task_alloc)(ident, gtid, given, size, shareds, entry);
    forget_discarded(task);
    OD_TSAN_ACQUIRE(task); /* libomp has given out the memory of a task that has ended */
    od_self.detachable = detach ? task : NULL;
    od_self.family.has_children |= detach;
    od_self.allocated = (od_allocation){task, size, shareds, flags};
    if (flags & OD_TASK_TIED)
        track(task, code);
    return task;
}

/* Code that does not offload, before the first construct: no task that it could depend on has data on a device, as that one
 * would have been created before it. */
static bool needs_no_record(const od_kmp_task *task)
{
    return !od_runtime_started() && task->entry == parent_trampoline &&
           od_entry_numbered(task->part_id)->kind == OD_ENTRY_HOST;
}

static od_record *record_host_task(od_kmp_task *task)
{
    untrack(task);
    od_record *record = calloc(1, sizeof *record);
    if (!record)
        od_runtime_fatal("out of host memory for a task");
    bool may_be_detached = od_self.detachable == task;
    *record = (od_record){.task = task,
                          .entry = task->entry,
                          .code = entry_of(task->entry),
                          .detachable = may_be_detached,
                          .flags = may_be_detached ? od_self.allocated.flags : 0,
                          .created_ns = od_tracing_creation(),
                          .name = od_tracing_take_name()};
    if (may_be_detached)
        record->detached.creator = od_detached_join();
    record->code->has_depends = true;
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

/* libomp excludes the tasks of a mutexinoutset from each other only while their bodies run, and not at all in a team of one
 * thread; a detached body ends early. As inout they run in the order of creation, which is one of the allowed ones. */
static void order_mutexinoutset(od_record *record)
{
    for (int32_t j = 0; j < record->ndepends; j++)
        if (record->depends[j].flags == OD_DEPEND_MUTEXINOUTSET)
            record->depends[j].flags = OD_DEPEND_INOUT;
}

int32_t __kmpc_omp_task_with_deps(od_ident *ident, int32_t gtid, void *task, int32_t ndepends, od_depend *depends,
                                  int32_t n_noalias, od_depend *noalias)
{
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, depends, n_noalias, noalias);
    if (od_runtime_offloads() && !od_self.kernels) {
        od_record *record = od_records_find(task);
        if (!record && ndepends + n_noalias > 0 && !needs_no_record(task))
            record = record_host_task(task);
        if (record) {
            copy_depends(record, ndepends, depends, n_noalias, noalias);
            order_mutexinoutset(record);
            submit(record);
            depends = record->depends; /* libomp reads them before it may run the task */
            noalias = record->depends + ndepends;
        }
    }
    return REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, depends, n_noalias, noalias);
}

/* --- waiting with dependences ------------------------------------------- */

static void after_wait(int32_t ndepends, const od_depend *depends, int32_t n_noalias, const od_depend *noalias)
{
    /* A host task that runs as a job looks at data through device addresses only, and would wait for what it holds itself. */
    bool as_job = od_self.mode == OD_ON_DEVICE && od_runtime_options()->coherence == OD_COHERENCE_DEPEND;
    if (od_self.kernels || as_job)
        return;
    host_access(depends, ndepends);
    host_access(noalias, n_noalias);
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
