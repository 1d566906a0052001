/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks become detached ordinary tasks that only report what they would launch.
 *
 * A target task is allocated detachable, with target_trampoline() as its entry. libomp tracks its dependences; when it
 * is ready, the trampoline runs the compiled entry in capture mode, gives the launch to the engine, asks for the task's
 * completion event and returns (omp_ext/libomp/returned.h). The task completes in libomp when the engine has completed
 * it. One that libomp discards never asks, and completes as usual. One without dependences need not wait for a thread.
 * Host tasks with dependences: host_tasks.c. The entry points of both are here.
 */
#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/parent.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/maps/structs/structs.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/slices/early.h"
#include "omp_ext/split/split.h"
#include "omp_ext/tasks/constructs.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/tasks/task_table.h"
#include "omp_ext/tasks/tasks.h"
#include "util/tsan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- target tasks ------------------------------------------------------- */

/* libomp would destroy the task's private objects at the end of the trampoline, before the kernel or the host version
 * uses them. Returns what does it, or NULL: there is nothing to destroy. */
static od_task_entry take_destructor(const od_record *record)
{
    od_kmp_task *task = (void *)(uintptr_t)record->task;
    if (!(record->flags & OD_TASK_DESTRUCTORS))
        return NULL;
    od_task_entry destructor = (od_task_entry)(uintptr_t)task->destructor;
    od_task_set_destructor(task, od_do_nothing);
    return destructor;
}

static bool are_in_regions(const od_uses *uses)
{
    for (uint32_t i = 0; i < uses->count; i++)
        if (!uses->access[i].datum->region)
            return false;
    return true;
}

/* All that the kernel reads is seen: data of open regions, values, and private copies, of which the launch holds
 * copies. Other memory of the program may change until the kernel runs again, and so may variables of device code. */
static bool is_pure(const od_job *job, const od_uses *uses)
{
    const od_launch *launch = &job->launch;
    bool sees_all = !launch->call.structs && !launch->hidden && !(launch->call.map.any & OD_MAP_FOREIGN);
    return od_runtime_options()->sched.recompute && sees_all && !job->after && job->task.bound == OD_NOWHERE &&
           are_in_regions(uses) && !od_images_have_variables();
}

static void submit_launch(od_record *record, od_launch *launch)
{
    od_uses uses = {0};
    od_job *job = od_job_create_for(OD_JOB_KERNEL, record);
    job->launch = *launch;
    job->task.uses_spill = true;
    job->modes = od_thread_task_modes();
    job->detached = record->detached;
    job->destructor = take_destructor(record);
    const od_map_args *map = &job->launch.call.map;
    od_args_push_always(map);
    od_status status = od_launch_resolve(&job->launch, record->depends, record->ndepends, NULL, &uses);
    if (status == OD_EBUSY) {
        od_job_run_beside(job);
        return;
    }
    od_expect_memory(!status);
    od_structs_relocate(launch->call.structs, job->launch.access_of, uses.access);
    job->task.bound = od_launch_place(&job->launch, uses.access, uses.count);
    od_engine *engine = od_runtime_lock_inline();
    od_uses_save(&uses, record->depends, record->ndepends);
    od_uses_trust(&uses, record->depends, record->ndepends, false);
    uint64_t owner = od_recorder_own(job->number);
    job->after = od_args_pull_always(map, &uses, job->launch.access_of);
    od_recorder_own(owner);
    job->task.pure = is_pure(job, &uses);
    od_job_submit(engine, job, &uses, launch->call.kernel);
    od_runtime_unlock();
}

/* What capture mode has seen is carried out; then the task is complete. */
static void dispatch(od_record *record, od_capture *capture)
{
    switch (capture->what) {
    case OD_CAPTURED_LAUNCH:
        submit_launch(record, &capture->launch);
        return;
    case OD_CAPTURED_REQUESTS:
        od_recorder_done(record->number);
        od_request_group_end(capture->requests, record->detached);
        return;
    case OD_CAPTURED_NOTHING: /* if(0): the region has just run on the host */
        od_task_host_access(record->depends, record->ndepends);
        break;
    case OD_CAPTURED_DONE:
        break;
    }
    od_recorder_done(record->number);
    od_detached_report(record->detached);
}

static void run_entry(int32_t gtid, const od_record *record)
{
    void *task = (void *)(uintptr_t)record->task;
    if (record->detached.team)
        od_offered_table.run_body(task);
    else
        record->entry(gtid, task);
}

/* It may be the host branch of an if clause. */
static void run_in_place(int32_t gtid, od_record *record)
{
    od_task_unsubmit(record);
    od_task_host_access(record->depends, record->ndepends);
    run_entry(gtid, record);
}

static void begin_at_end(int32_t gtid, od_record *record)
{
    od_detached detached = record->detached;
    od_construct_begin(record);
    if (od_runtime_drops_tasks()) {
        od_record_free(record);
    } else {
        run_in_place(gtid, record);
        od_target_task_discard(record);
    }
    od_detached_report(detached);
}

void od_target_task_begin(int32_t gtid, od_record *record)
{
    if (od_runtime_ending()) {
        begin_at_end(gtid, record);
        return;
    }
    od_task_unsubmit(record);
    if (!record->number)
        record->number = od_recorder_create(0, NULL, 0);
    od_capture capture = {.what = OD_CAPTURED_NOTHING};
    if (record->code->kind != OD_ENTRY_OFFLOADS) /* it may be the host branch of an if clause */
        od_task_host_access(record->depends, record->ndepends);
    od_thread saved = od_self;
    capture.outside = &saved;
    od_self = (od_thread){.mode = OD_CAPTURE, .capture = &capture, .own_default_device = saved.own_default_device};
    uint64_t owner = od_recorder_own(record->number);
    run_entry(gtid, record);
    od_reduction_end_turn(&capture);
    od_recorder_own(owner);
    od_self = saved;
    record->code->kind = capture.what == OD_CAPTURED_NOTHING ? OD_ENTRY_HOST : OD_ENTRY_OFFLOADS;
    if (capture.what == OD_CAPTURED_NOTHING)
        atomic_store_explicit(&record->code->branches, true, memory_order_relaxed);
    if (capture.what == OD_CAPTURED_REQUESTS)
        od_construct_learn(record);
    bool was = od_thread_at_scheduling_point(!record->detached.team);
    dispatch(record, &capture);
    od_task_withdraw(record);
    od_thread_at_scheduling_point(was);
    od_record_free(record);
}

/* Where it may be complete as soon as its code has returned: libomp runs what a task releases on top of it, in a team
 * of one or where queues are full, and so on along a chain of tasks, until the stack ends. */
static bool may_end_here(const od_record *record)
{
    return !record->ndepends || (!od_serial_is_alone() && od_detach_is_at_barrier());
}

static void run_detachable(int32_t gtid, od_record *record)
{
    od_kmp_task *task = (void *)(uintptr_t)record->task;
    bool ends_here = may_end_here(record);
    if (ends_here)
        record->detached.task = task;
    else
        record->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, task);
    od_target_task_begin(gtid, record);
    if (ends_here)
        od_task_returns(task, gtid);
}

static int32_t target_trampoline(int32_t gtid, void *task)
{
    od_record *record = od_task_table_take(task);
    od_task_begins(record);
    od_detach_task_begins();
    if (record->in_place) {
        run_in_place(gtid, record);
        od_target_task_discard(record);
    } else {
        run_detachable(gtid, record);
    }
    return 0;
}

_Thread_local od_record *od_task_claims;

/* libomp keeps its order and hands it over when it is ready. NULL: this libomp does not. Neither where it may come
 * after tasks that wait for events of the program's: libomp's barriers would wait for it, and nobody would be left in
 * ours to pass on what fulfils these; nor where tasks of gcc's code may come after it. */
static void *create_claimed(od_record *record, od_ident *ident, int32_t gtid, size_t size, size_t shareds,
                            int64_t device)
{
    if ((record->flags & OD_TASK_DETACHABLE) || od_thread_in_final() || od_runtime_ending() || !od_team_claims())
        return NULL;
    od_team *team = record->detached.team = od_member_begun()->team;
    od_libomp_count(&od_libomp_counted.claimed);
    if (!atomic_load_explicit(&team->has_tasks, memory_order_relaxed))
        atomic_store(&team->has_tasks, true);
    od_task_claims = record;
    void *task = REAL(__kmpc_omp_target_task_alloc)(ident, gtid, record->flags, size, shareds, record->entry, device);
    od_task_claims = NULL;
    od_self.claimed = record->detached.event = task;
    return task;
}

/* libomp's task, which it does not run itself. */
static void *create(od_record *record, od_ident *ident, int32_t gtid, size_t size, size_t shareds, int64_t device)
{
    bool at_once = od_serial_is_beside_events();
    int32_t flags = at_once ? record->flags : od_task_detachable(record->flags);
    int32_t ordinary = flags & ~(OD_TASK_PROXY | OD_TASK_HIDDEN_HELPER);
    void *task = at_once ? NULL : create_claimed(record, ident, gtid, size, shareds, device);
    if (task)
        return task;
    od_libomp_count(&od_libomp_counted.detached);
    od_detach_expect_task();
    task = REAL(__kmpc_omp_task_alloc)(ident, gtid, od_task_destroyed(ordinary), size, shareds, target_trampoline);
    record->in_place = at_once || od_self.serial_loops > 0 || od_thread_in_final() || !od_task_is_awaited() ||
                       od_runtime_ending();
    return task;
}

static _Thread_local od_record *created; /* of the target task that the thread has allocated and not submitted yet */

static void settle_created(void)
{
    if (created)
        od_task_table_add(created);
    created = NULL;
}

void *__kmpc_omp_target_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                                   od_task_entry entry, int64_t device)
{
    if (!od_runtime_active())
        return REAL(__kmpc_omp_target_task_alloc)(ident, gtid, flags, size, shareds, entry, device);
    od_thread_leave_capture();
    od_early_settle();
    settle_created();
    od_record *record = od_alloc_zeroed(1, sizeof *record);
    od_thread_note_target_task();
    od_self.unsuited = od_self.family.has_children = true;
    *record = (od_record){.entry = entry,
                          .code = od_task_code(entry),
                          .flags = flags,
                          .shares_nothing = shareds == 0,
                          .created_ns = od_tracing_creation(),
                          .name = od_tracing_take_name(),
                          .split = od_split_take()};
    void *task = create(record, ident, gtid, size, shareds, device);
    record->task = task;
    if (!record->in_place && !record->detached.team)
        record->detached = od_detached_join(false);
    created = record;
    return task;
}

/* --- creation ------------------------------------------------------------------ */

/* A host task that leaves work on a device completes when that has ended. */
static bool may_detach(int32_t flags, const od_entry *code)
{
    bool can = (flags & OD_TASK_TIED) && !(flags & (OD_TASK_DETACHABLE | OD_TASK_FINAL | OD_TASK_MERGED_IF0));
    bool may_offload = code->kind == OD_ENTRY_UNKNOWN || code->kind == OD_ENTRY_OFFLOADS;
    return can && may_offload && code->has_depends && od_runtime_started() && od_runtime_backend()->ops->queues &&
           !od_self.serial_loops && !od_thread_in_final() && !od_serial_is_beside_events() && od_task_is_awaited() &&
           !od_runtime_ending();
}

/* Of a thread that is alone: see serial.h. */
static bool goes_uncounted(const od_entry *code)
{
    bool is_known = code->kind == OD_ENTRY_HOST || atomic_load_explicit(&code->has_none, memory_order_relaxed);
    return is_known && !atomic_load_explicit(&od_program_detaches, memory_order_relaxed) && od_detach_is_childless();
}

/* The flags that libomp gets. */
static int32_t flags_given(od_allocation *made, const od_entry *code, bool detach)
{
    if (detach)
        return od_task_detachable(made->flags);
    if (made->flags & OD_TASK_DETACHABLE)
        atomic_store_explicit(&od_program_detaches, true, memory_order_relaxed);
    if (!od_serial_is_alone())
        return made->flags;
    made->is_uncounted = goes_uncounted(code);
    if (!made->is_uncounted)
        return od_serial_flags(made->flags);
    od_libomp_count(&od_libomp_counted.uncounted);
    return made->flags;
}

void *__kmpc_omp_task_alloc(od_ident *ident, int32_t gtid, int32_t flags, size_t size, size_t shareds,
                            od_task_entry entry)
{
    if (od_self.kernels) {
        od_slice_makes_task();
        od_runtime_kernel_schedules();
    }
    if (od_runtime_is_idle() || !od_runtime_offloads() || od_self.kernels)
        return REAL(__kmpc_omp_task_alloc)(ident, gtid, flags, size, shareds, entry);
    od_thread_leave_capture();
    od_self.unsuited = true; /* a task inside a task: that one had better stay where it is */
    const od_entry *code = od_task_code(entry);
    bool detach = may_detach(flags, code);
    od_allocation made = {NULL, size, shareds, flags, false};
    int32_t given = flags_given(&made, code, detach);
    int32_t destroyed = od_task_destroyed(given);
    od_detach_expect_task();
    void *task = made.task = REAL(__kmpc_omp_task_alloc)(ident, gtid, destroyed, size, shareds, entry);
    if (destroyed != given)
        od_task_set_destructor(task, od_do_nothing);
    OD_TSAN_ACQUIRE(task); /* libomp has given out the memory of a task that has ended */
    od_self.detachable = detach ? task : NULL;
    od_self.family.has_children |= detach;
    od_self.allocated = made;
    if (flags & OD_TASK_TIED)
        od_task_track(task, code);
    return task;
}

/* Clang's code has just allocated it through us. One of gcc's code (GOMP_task) is allocated within libomp, and
 * called in another way: it stays as it is. */
static bool is_compiled_by_clang(const od_kmp_task *task)
{
    return od_self.allocated.task == task;
}

static od_record *record_host_task(od_kmp_task *task)
{
    od_task_untrack(task);
    return od_host_task_record(task, od_self.allocated.flags, od_self.detachable == task);
}

static void copy_depends(od_record *record, int32_t n, const od_depend *depends, int32_t n_noalias,
                         const od_depend *noalias)
{
    size_t total = (size_t)n + (size_t)n_noalias;
    record->depends = od_alloc(total * sizeof *record->depends);
    if (n)
        memcpy(record->depends, depends, (size_t)n * sizeof *depends);
    if (n_noalias)
        memcpy(record->depends + n, noalias, (size_t)n_noalias * sizeof *noalias);
    record->ndepends = (int32_t)total;
}

static bool has_mutexinoutset(int32_t n, const od_depend *depends)
{
    for (int32_t j = 0; j < n; j++)
        if (depends[j].flags == OD_DEPEND_MUTEXINOUTSET)
            return true;
    return false;
}

/* libomp excludes the tasks of a mutexinoutset from each other by locks, for which a team of one thread does not ask:
 * detached ones would be under way at the same time. As inout they run in the order of creation, which is one of the
 * allowed ones. */
static void order_mutexinoutset(od_record *record)
{
    for (int32_t j = 0; j < record->ndepends; j++)
        if (record->depends[j].flags == OD_DEPEND_MUTEXINOUTSET)
            record->depends[j].flags = OD_DEPEND_INOUT;
}

/* A record that has got the task's dependences. libomp changes those that it is given, and reads them before it may run
 * the task. */
static int32_t give_to_libomp(od_ident *ident, int32_t gtid, od_record *record, int32_t ndepends, const void *from)
{
    enum { FEW = 16 };
    size_t room = (size_t)record->ndepends + 1;
    od_depend few[FEW], *given = room <= FEW ? few : od_alloc(room * sizeof *given);
    od_task_watch(record);
    int32_t noalias = record->ndepends - ndepends;
    if (od_host_task_is_gated(record))
        noalias += od_host_task_submit_gate(ident, gtid, record, given);
    memcpy(given, record->depends, (size_t)record->ndepends * sizeof *given);
    void *task = (void *)(uintptr_t)record->task;
    OD_PROGRAM_CALL_FROM(from);
    int32_t result = REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, given, noalias, given + ndepends);
    if (given != few)
        free(given);
    return result;
}

/* As what the calling thread submits it. A claimed task's memory is another one's when it has ended. */
static od_creation creation_of(const od_kmp_task *task)
{
    bool claimed = task == od_self.claimed;
    od_self.claimed = NULL;
    return claimed ? OD_CREATES_CLAIMED : task->entry == target_trampoline ? OD_CREATES_OURS : OD_CREATES_PROGRAMS;
}

typedef struct submission {
    void *task;
    od_depend *depends, *noalias;
    int32_t ndepends, n_noalias;
    const void *from; /* of the program, where it is submitted */
} submission;

static int32_t submit_as_written(od_ident *ident, int32_t gtid, const submission *s)
{
    OD_PROGRAM_CALL_FROM(s->from);
    return REAL(__kmpc_omp_task_with_deps)(ident, gtid, s->task, s->ndepends, s->depends, s->n_noalias, s->noalias);
}

/* A task whose begin we do not see: what it may come after ends before it is submitted. */
static int32_t submit_unseen(od_ident *ident, int32_t gtid, const submission *s)
{
    if (od_detach_in_group())
        od_detach_await_children(ident);
    else
        od_detach_await_ours(ident);
    od_team_end_claims();
    od_team_await_claimed(ident, od_parent_now());
    od_runtime_synchronise();
    return submit_as_written(ident, gtid, s);
}

static bool is_beside(int32_t n, const od_depend *depends)
{
    return od_task_is_beside(n, depends) && !has_mutexinoutset(n, depends);
}

/* A host task that libomp gets as it is written. Before the first construct, that is what code does that has not
 * offloaded: no task that it could depend on has data on a device, as that one would have been created before it. */
static bool goes_unrecorded(const submission *s)
{
    od_kmp_task *task = s->task;
    const od_entry *code = od_task_tracked(task);
    if (!code || od_self.detachable == task)
        return false;
    if (!od_runtime_started())
        return code->kind == OD_ENTRY_HOST;
    if (od_host_task_needs_record(code) || !is_beside(s->ndepends, s->depends) || !is_beside(s->n_noalias, s->noalias))
        return false;
    od_host_task_unrecorded(task);
    return true;
}

/* Libomp's own tasks without code (patches/llvm-19, taskwait nowait) are not our concern. */
static int32_t submit_task(od_ident *ident, int32_t gtid, const submission *s)
{
    bool depends = s->ndepends + s->n_noalias > 0;
    if (depends && goes_unrecorded(s))
        return submit_as_written(ident, gtid, s);
    od_record *record = od_task_table_find(s->task);
    if (!record && depends && ((od_kmp_task *)s->task)->entry) {
        if (!is_compiled_by_clang(s->task))
            return submit_unseen(ident, gtid, s);
        record = record_host_task(s->task);
    }
    if (!record)
        return submit_as_written(ident, gtid, s);
    copy_depends(record, s->ndepends, s->depends, s->n_noalias, s->noalias);
    order_mutexinoutset(record);
    od_task_submit(record);
    return give_to_libomp(ident, gtid, record, s->ndepends, s->from);
}

int32_t __kmpc_omp_task_with_deps(od_ident *ident, int32_t gtid, void *task, int32_t ndepends, od_depend *depends,
                                  int32_t n_noalias, od_depend *noalias)
{
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, ndepends, depends, n_noalias, noalias);
    submission s = {task, depends, noalias, ndepends, n_noalias, __builtin_return_address(0)};
    settle_created();
    if (!od_runtime_offloads() || od_self.kernels)
        return submit_as_written(ident, gtid, &s);
    od_creation creation = creation_of(task);
    int32_t result = submit_task(ident, gtid, &s);
    od_self.allocated.task = NULL;
    od_detach_note_task(creation);
    return result;
}

/* Its code is known to be submitted without dependences. */
static void note_none(const od_kmp_task *task)
{
    od_entry *code = od_task_tracked(task);
    if (code && !atomic_load_explicit(&code->has_none, memory_order_relaxed))
        atomic_store_explicit(&code->has_none, true, memory_order_relaxed);
}

static void watch_discarded(const od_kmp_task *task)
{
    od_record *record = REAL(omp_get_cancellation)() ? od_task_table_find(task) : NULL;
    if (record)
        od_task_watch(record);
}

/* A target task that comes after no other is the engine's as soon as it has been created: no thread need be woken to
 * pass it on, and its creator does not wait for others at libomp's queues. But code that may run on the host is for
 * any thread. */
static bool begins_at_once(const od_record *record, const od_kmp_task *task)
{
    if (!record || record->task != task || task->entry != target_trampoline || record->in_place)
        return false;
    const od_entry *code = record->code;
    bool offloads = code->kind == OD_ENTRY_OFFLOADS && !atomic_load_explicit(&code->branches, memory_order_relaxed);
    return offloads && od_self.mode == OD_PLAIN && !od_self.kernels && !od_serial_is_alone() &&
           !od_thread_holds_locks() && !od_runtime_ending() && !REAL(omp_get_cancellation)();
}

/* To libomp it is undeferred. */
static void begin_at_once(od_ident *ident, int32_t gtid, void *task)
{
    od_record *record = created;
    created = NULL;
    REAL(__kmpc_omp_task_begin_if0)(ident, gtid, task);
    run_detachable(gtid, record);
    REAL(__kmpc_omp_task_complete_if0)(ident, gtid, task);
    od_detach_note_task(OD_CREATES_CLAIMED);
}

int32_t __kmpc_omp_task(od_ident *ident, int32_t gtid, void *task)
{
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_task)(ident, gtid, task);
    OD_PROGRAM_CALL;
    od_self.allocated.task = NULL;
    if (begins_at_once(created, task)) {
        begin_at_once(ident, gtid, task);
        return 0;
    }
    settle_created();
    note_none(task);
    watch_discarded(task);
    od_creation creation = creation_of(task);
    int32_t result = REAL(__kmpc_omp_task)(ident, gtid, task);
    if (!od_self.kernels)
        od_detach_note_task(creation);
    return result;
}
