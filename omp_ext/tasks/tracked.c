/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Explicit tasks that create target tasks. libomp's barriers wait for a detached task only if its parent is an implicit
 * task. So an explicit task that has created target tasks, or others that may be detached, waits for them at its end.
 * Its entry is exchanged for that; part_id, which compiled code uses in untied tasks alone, gives the trampoline its
 * entry, in the copies that a taskloop makes, too.
 */
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/parent.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/tasks.h"
#include "util/tsan.h"

#include <stdlib.h>

static void run_tracked(int32_t gtid, void *task)
{
    od_kmp_task *t = task;
    od_family outer = od_self.family;
    __typeof__(od_self.split) outer_split = od_self.split; /* of the task that waits meanwhile */
    const od_entry *code = od_entry_numbered(t->part_id);
    od_self.split = (__typeof__(outer_split)){0};
    od_detach_task_begins();
    od_parent *self = od_parent_begin(gtid);
    od_self.family = (od_family){.parent = self};
    t->part_id = 0;
    OD_TSAN_RELEASE(task);
    ((od_task_entry)(uintptr_t)code->code)(gtid, task);
    od_task_end_family(gtid);
    od_self.family = outer;
    od_self.split = outer_split;
    od_parent_end(self);
}

/* The thread may be in the middle of a kernel, or of what is captured, which is none of the task's. */
static int32_t parent_trampoline(int32_t gtid, void *task)
{
    OD_TSAN_ACQUIRE(task); /* its memory was another task's, which only libomp knows */
    if (od_self.mode == OD_PLAIN && !od_self.kernels) {
        run_tracked(gtid, task);
        return 0;
    }
    od_thread outer = od_self;
    od_self = (od_thread){
        .mode = OD_PLAIN, .serial_loops = outer.serial_loops, .own_default_device = outer.own_default_device};
    run_tracked(gtid, task);
    od_self = outer;
    return 0;
}

void od_task_track(od_kmp_task *task, const od_entry *code)
{
    if (!code->number)
        return;
    task->part_id = code->number;
    task->entry = parent_trampoline;
}

od_entry *od_task_tracked(const od_kmp_task *task)
{
    return task->entry == parent_trampoline ? od_entry_numbered(task->part_id) : NULL;
}

void od_task_untrack(od_kmp_task *task)
{
    const od_entry *code = od_task_tracked(task);
    if (!code)
        return;
    task->entry = (od_task_entry)(uintptr_t)code->code;
    task->part_id = 0;
}

/* Compiled code calls an undeferred task's entry itself. */
void __kmpc_omp_task_begin_if0(od_ident *ident, int32_t gtid, void *task)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_omp_task_begin_if0)(ident, gtid, task);
        return;
    }
    od_self.allocated.task = NULL;
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_omp_task_begin_if0)(ident, gtid, task);
    }
    if (!od_runtime_offloads() || od_self.kernels)
        return;
    od_family *outer = od_alloc(sizeof *outer);
    *outer = od_self.family;
    od_self.family = (od_family){.parent = od_parent_begin(gtid), .outer = outer};
}

void __kmpc_omp_task_complete_if0(od_ident *ident, int32_t gtid, void *task)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_omp_task_complete_if0)(ident, gtid, task);
        return;
    }
    od_family *outer = od_self.kernels ? NULL : od_self.family.outer;
    if (outer) {
        od_parent *self = od_self.family.parent;
        od_task_end_family(gtid);
        od_self.family = *outer;
        od_parent_end(self);
        free(outer);
    }
    OD_PROGRAM_CALL;
    REAL(__kmpc_omp_task_complete_if0)(ident, gtid, task);
}
