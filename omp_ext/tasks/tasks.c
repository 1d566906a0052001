/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What target tasks and host tasks have in common. See tasks.h. */
#include "omp_ext/tasks/tasks.h"

#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/teams/events.h"
#include "omp_ext/libomp/teams/parent.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/machine/speeds.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/record/record.h"
#include "omp_ext/services/tracing.h"
#include "omp_ext/tasks/constructs.h"
#include "util/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

/* --- what the host may use --------------------------------- */

void od_task_host_access(const od_depend *depends, int32_t ndepends)
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
            od_runtime_host_range(depends[j].base, depends[j].length ? depends[j].length : 1,
                                  depends[j].flags == OD_DEPEND_IN ? OD_REQUEST_READ_OUTSIDE : OD_REQUEST_OUTSIDE);
}

enum { USES_AT_ONCE = 32 };

/* The depend items as the scheduler sees them. `few` has room for USES_AT_ONCE; what is returned may be malloc'ed. */
static od_level_use *scheduler_uses(const od_record *record, od_level_use *few)
{
    size_t n = (size_t)record->ndepends;
    od_level_use *uses = n > USES_AT_ONCE ? od_malloc(n * sizeof *uses) : few;
    od_expect_memory(uses);
    for (size_t j = 0; j < n; j++)
        uses[j] = (od_level_use){record->depends[j].base, record->depends[j].flags != OD_DEPEND_IN,
                                 record->depends[j].flags == OD_DEPEND_OUT};
    return uses;
}

/* --- what waits before a task ------------------------------------------------ */

enum { NAMED_BITS = 12 };

static atomic_uint awaited;                /* tasks that schedule something and are not ready */
static atomic_uint named[1 << NAMED_BITS]; /* depend items of submitted tasks that are not, by a hash of the address */
static atomic_uint named_all;              /* those of them that name all memory */

static atomic_uint *names_of(const od_depend *item)
{
    uint64_t hash = (uint64_t)item->base * UINT64_C(0x9e3779b97f4a7c15);
    return item->flags & OD_DEPEND_ALL_MEMORY ? &named_all : &named[hash >> (64 - NAMED_BITS)];
}

static void count_names(const od_record *record, unsigned change)
{
    for (int32_t j = 0; j < record->ndepends; j++)
        atomic_fetch_add_explicit(names_of(&record->depends[j]), change, memory_order_relaxed);
}

static bool schedules(const od_record *record)
{
    return !record->is_host || record->code->kind != OD_ENTRY_HOST;
}

static bool is_whole_graph_wanted(void)
{
    const od_options *options = od_runtime_options();
    return options->sched.guard || options->memory.spill_limit || *options->record || od_tracing_is_on();
}

/* Its predecessors have been created by the thread that creates it, or before that was told to. */
static bool comes_after_none(int32_t n, const od_depend *depends)
{
    if (!atomic_load_explicit(&awaited, memory_order_relaxed))
        return true;
    bool none = !atomic_load_explicit(&named_all, memory_order_relaxed);
    for (int32_t j = 0; none && j < n; j++)
        none = !(depends[j].flags & OD_DEPEND_ALL_MEMORY) &&
               !atomic_load_explicit(names_of(&depends[j]), memory_order_relaxed);
    return none;
}

/* Long chains of host tasks are cheap: they are beside whatever the scheduler has. */
bool od_task_is_beside(int32_t ndepends, const od_depend *depends)
{
    return comes_after_none(ndepends, depends) && !is_whole_graph_wanted();
}

/* The task waits, or does not any more. */
static void note_wait(od_record *record, bool waits)
{
    if (record->waits == waits)
        return;
    record->waits = waits;
    count_names(record, waits ? 1u : -1u);
    if (record->schedules)
        atomic_fetch_add_explicit(&awaited, waits ? 1u : -1u, memory_order_relaxed);
}

/* --- submission -------------------------------------------------------------- */

/* With the program's own priority, where it gives any. */
static od_submission *submit(od_engine *engine, const od_record *record, double seconds, const od_level_use *uses)
{
    od_submission *submission = od_engine_submit(engine, record->code, od_kernel_speeds_class(record->code), seconds,
                                                 uses, (uint32_t)record->ndepends);
    const od_kmp_task *task = record->task;
    od_priority_mode mode = od_runtime_options()->priority;
    bool clause = record->flags & OD_TASK_PRIORITY;
    if (clause || mode != OD_PRIORITY_AUTO)
        od_engine_submission_rank(submission, clause && mode != OD_PRIORITY_NONE ? task->data.priority : 0);
    return submission;
}

/* The scheduler does not see data constructs: no device needs data for them, so they are no reason to keep any
 * there. */
void od_task_submit(od_record *record)
{
    od_level_use few[USES_AT_ONCE];
    if (!od_runtime_started() || (!schedules(record) && od_task_is_beside(record->ndepends, record->depends)))
        return;
    od_level_use *uses = scheduler_uses(record, few);
    od_engine *engine = od_runtime_lock();
    od_profile_cost(record->code);
    double seconds = record->shares_nothing ? 0 : od_entry_weight(record->code);
    record->submitted = seconds > 0;
    record->number = od_recorder_create(seconds, record->depends, record->ndepends);
    record->schedules = schedules(record);
    note_wait(record, record->submitted);
    if (record->submitted)
        record->submission = submit(engine, record, seconds, uses);
    if (record->shares_nothing)
        od_construct_submit(engine, record);
    od_runtime_unlock();
    if (uses != few)
        free(uses);
}

void od_task_unsubmit(od_record *record)
{
    od_construct_begin(record);
    if (!record->submitted)
        return;
    note_wait(record, false);
    od_engine *engine = od_runtime_lock();
    record->bottom = od_engine_unsubmit(engine, &record->submission);
    record->submitted = false;
    od_runtime_unlock();
}

void od_task_withdraw(od_record *record)
{
    od_construct_end(record);
    if (!record->submission)
        return;
    od_engine_withdraw(od_runtime_lock(), record->submission);
    od_runtime_unlock();
    record->submission = NULL;
}

/* --- families and flags ------------------------------------------------------ */

/* Behind events of the program's, which may be fulfilled after the task. Those that are before nothing of ours are
 * libomp's alone from then on. */
static bool leaves_children(void)
{
    od_detach_pass_on();
    od_parent *parent = od_parent_awaits_program();
    if (parent && od_parent_may_leave(parent))
        return true;
    if (parent)
        od_events_disown(parent);
    return false;
}

void od_task_end_family(int32_t gtid)
{
    bool awaits_program = od_parent_awaits_program();
    if ((!od_self.family.has_children && !awaits_program) || (awaits_program && leaves_children()))
        return;
    od_detach_await_children(NULL);
    if (!od_self.family.has_children || od_detach_is_childless())
        return;
    REAL(__kmpc_omp_taskwait)(NULL, gtid); /* for those that only libomp counts */
}

bool od_task_is_awaited(void)
{
    const od_parent *parent = od_self.family.parent;
    return parent ? od_parent_runs(parent) : !REAL(omp_in_explicit_task)() && od_detach_knows_region();
}

/* A task that we complete. libomp 19 never ends to complete one where all tasks of the team had priorities: those are
 * in no queue of a thread, and the rest of the completion is put into such a queue. So libomp does not learn of them;
 * the scheduler is. */
int32_t od_task_detachable(int32_t flags)
{
    return (flags | OD_TASK_DETACHABLE) & ~OD_TASK_PRIORITY;
}

od_entry *od_task_code(od_task_entry entry)
{
    od_entry *known = od_entry_of_task((const void *)(uintptr_t)entry);
    od_expect_memory(known);
    return known;
}
