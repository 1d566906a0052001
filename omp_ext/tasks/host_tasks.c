/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks with depend clauses.
 *
 * Their bodies run where libomp runs them, and meet current data on the host. The first runs of each piece of code show
 * whether it offloads from inside, and which of its depend items name data of which size. Later instances of code that
 * only uses data inside regions are given a reservation (reservation.h): a gate goes before them.
 */
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/cpu/alone.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/job.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/parent.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/tasks/reservation.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/tasks/tasks.h"
#include "omp_ext/services/tracing.h"
#include "util/tsan.h"

#include <stdlib.h>
#include <string.h>

/* --- gates ---------------------------------------------------------------- */

typedef struct gate_task {
    od_kmp_task task;
    od_gate *gate;
} gate_task;

static int32_t gate_discarded(int32_t gtid, void *task)
{
    (void)gtid;
    od_detached_leave(((gate_task *)task)->gate->detached);
    return 0;
}

/* All that the host task comes after is complete. */
static int32_t gate_trampoline(int32_t gtid, void *task)
{
    od_uses uses = {0};
    od_gate *gate = ((gate_task *)task)->gate;
    od_record *record = gate->record;
    od_task_set_destructor(task, od_do_nothing);
    od_detach_task_begins();
    if (od_runtime_ending()) {
        od_detached_leave(gate->detached);
        return 0;
    }
    od_task_unsubmit(record);
    od_task_host_access(record->depends, record->ndepends);
    if (record->code->kind == OD_ENTRY_OFFLOADS && od_reservation_predict(record, &uses)) {
        gate->detached.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, task);
        bool was = od_thread_at_scheduling_point(true);
        od_reservation_submit(gate, &uses);
        od_thread_at_scheduling_point(was);
    } else {
        od_detached_leave(gate->detached);
    }
    return 0;
}

/* Two tasks that only read are in no order, nor are two of an inoutset. */
static bool needs_token(const od_record *record)
{
    for (int32_t j = 0; j < record->ndepends; j++)
        if (record->depends[j].flags != OD_DEPEND_IN && record->depends[j].flags != OD_DEPEND_INOUTSET)
            return false;
    return true;
}

int32_t od_host_task_submit_gate(od_ident *ident, int32_t gtid, od_record *record, od_depend *given)
{
    od_gate *gate = record->gate = od_gate_create(record);
    int32_t flags = od_task_detachable(OD_TASK_TIED), tokens = needs_token(record);
    od_depend *token = given + record->ndepends;
    gate_task *task = REAL(__kmpc_omp_task_alloc)(ident, gtid, od_task_destroyed(flags), sizeof *task, 0,
                                                  gate_trampoline);
    od_task_set_destructor(&task->task, gate_discarded);
    task->gate = gate;
    gate->detached = od_detached_join(false);
    od_self.family.has_children = true;
    memcpy(given, record->depends, (size_t)record->ndepends * sizeof *given);
    *token = (od_depend){.base = (uintptr_t)gate, .length = 1, .flags = OD_DEPEND_OUT};
    REAL(__kmpc_omp_task_with_deps)(ident, gtid, task, record->ndepends + tokens, given, 0, NULL);
    *token = (od_depend){.base = (uintptr_t)gate, .length = 1, .flags = OD_DEPEND_IN};
    return tokens;
}

/* --- bodies --------------------------------------------------------------- */

/* What a run has shown. Code that has not offloaded may do so in another branch: its next instances are recorded, as
 * what it uses is learnt from its depend items. */
static void conclude(const od_record *record)
{
    od_entry *entry = record->code;
    od_entry_kind unknown = OD_ENTRY_UNKNOWN;
    if (od_self.offloads && !record->depends)
        entry->branches = true;
    else if (od_self.offloads)
        entry->kind = od_self.unsuited ? OD_ENTRY_IN_PLACE : OD_ENTRY_OFFLOADS;
    else
        atomic_compare_exchange_strong(&entry->kind, &unknown, OD_ENTRY_HOST);
}

/* The reservation ends first: the tasks that the body has created may wait for its data. */
static bool call_body(od_record *record, int32_t gtid)
{
    if (record->gate)
        od_reservation_begin(record->gate);
    record->entry(gtid, (void *)(uintptr_t)record->task);
    bool completed_later = od_reservation_end(gtid, record);
    od_task_end_family(gtid);
    return completed_later;
}

/* True: its completion is the engine's. */
static bool run(od_record *record, int32_t gtid)
{
    od_thread saved = od_self;
    od_entry_kind kind = record->code->kind;
    bool learns = kind == OD_ENTRY_UNKNOWN || kind == OD_ENTRY_HOST;
    od_recorder_resume();
    od_parent *self = od_parent_begin(gtid);
    if (!record->gate)
        od_task_host_access(record->depends, record->ndepends);
    od_self = (od_thread){.mode = OD_PLAIN,
                          .learning = learns ? record->code : NULL,
                          .depends = record->depends,
                          .ndepends = record->ndepends,
                          .body_name = record->name,
                          .family = {.parent = self},
                          .serial_loops = saved.serial_loops,
                          .own_default_device = saved.own_default_device};
    bool completed_later = call_body(record, gtid);
    if (learns)
        conclude(record);
    od_recorder_done(record->number);
    od_self = saved;
    od_parent_end(self);
    return completed_later;
}

static int32_t host_trampoline(int32_t gtid, void *task)
{
    od_record *record = od_task_table_take(task);
    od_task_begins(record);
    od_detach_task_begins();
    ((od_kmp_task *)task)->entry = record->entry; /* an untied task comes in parts: the next ones run as they are */
    OD_TSAN_RELEASE(task);
    if (od_runtime_drops_tasks() && !record->at_end) {
        od_detached_leave(record->detached);
        od_record_free(record);
        return 0;
    }
    od_task_unsubmit(record);
    bool completed_later = run(record, gtid);
    bool was = od_thread_at_scheduling_point(true);
    od_task_withdraw(record);
    od_thread_at_scheduling_point(was);
    if (!completed_later)
        od_detached_leave(record->detached);
    od_record_free(record);
    return 0;
}

/* part_id gives it the code (target_tasks.c). */
static int32_t unrecorded_trampoline(int32_t gtid, void *task)
{
    OD_TSAN_ACQUIRE(task); /* its memory was another task's, which only libomp knows */
    od_kmp_task *t = task;
    od_entry *code = od_entry_numbered(t->part_id);
    od_record record = {.task = task, .entry = (od_task_entry)(uintptr_t)code->code, .code = code, .is_host = true};
    t->part_id = 0;
    OD_TSAN_RELEASE(task);
    od_detach_task_begins();
    if (!od_runtime_drops_tasks())
        run(&record, gtid);
    return 0;
}

/* --- creation --------------------------------------------------------------- */

/* What a record is for, apart from the scheduler: its depend items say what is to come home before it; the end of a
 * taskgroup waits for it; instances may offload. */
bool od_host_task_needs_record(const od_entry *code)
{
    return code->kind != OD_ENTRY_HOST || code->branches || od_runtime_options()->coherence == OD_COHERENCE_DEPEND ||
           od_detach_group_waits() || od_runtime_ending();
}

void od_host_task_unrecorded(od_kmp_task *task)
{
    od_libomp_count(&od_libomp_counted.unrecorded);
    od_tracing_take_name();
    task->entry = unrecorded_trampoline;
}

od_record *od_host_task_record(od_kmp_task *task, int32_t flags, bool detachable)
{
    od_record *record = od_alloc_zeroed(1, sizeof *record);
    od_libomp_count(&od_libomp_counted.recorded);
    *record = (od_record){.task = task,
                          .entry = task->entry,
                          .code = od_task_code(task->entry),
                          .detachable = detachable,
                          .is_host = true,
                          .is_uncounted = od_self.allocated.is_uncounted,
                          .at_end = od_runtime_ending(),
                          .flags = flags,
                          .created_ns = od_tracing_creation(),
                          .name = od_tracing_take_name()};
    /* The end of a taskgroup waits for it, which may come after a task from before the group. */
    if (detachable || od_detach_in_group())
        record->detached = od_detached_join(false);
    record->code->has_depends = true;
    task->entry = host_trampoline;
    od_task_table_add(record);
    return record;
}

/* Many instances may be created before the first has run. */
bool od_host_task_is_gated(const od_record *record)
{
    const od_kmp_task *task = record->task;
    const int32_t unfit = OD_TASK_DETACHABLE | OD_TASK_FINAL | OD_TASK_PROXY | OD_TASK_MERGED_IF0;
    od_entry_kind kind = record->code->kind;
    bool fits = task->entry == host_trampoline && (record->flags & OD_TASK_TIED) && !(record->flags & unfit);
    return fits && !record->is_uncounted && (kind == OD_ENTRY_UNKNOWN || kind == OD_ENTRY_OFFLOADS) &&
           !od_self.serial_loops && !od_serial_is_beside_events() && od_runtime_started() && !od_cpu_are_alone() &&
           !od_thread_in_final() && od_task_is_awaited() && !record->at_end;
}
