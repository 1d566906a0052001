/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that libomp discards: with OMP_CANCELLATION, those of a cancelled taskgroup or region that have not begun. It
 * does not call their code, but it does destroy their private objects. So there each task has something to destroy, and
 * what is destroyed without having begun has been discarded.
 */
#include "omp_ext/tasks/tasks.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/services/record/record.h"

int32_t od_task_destroyed(int32_t flags)
{
    return REAL(omp_get_cancellation)() ? flags | OD_TASK_DESTRUCTORS : flags;
}

void od_task_set_destructor(od_kmp_task *task, od_task_entry destructor)
{
    task->destructor = (void *)(uintptr_t)destructor;
}

void od_target_task_discard(od_record *record)
{
    od_task_unsubmit(record);
    od_task_withdraw(record);
    od_recorder_done(record->number);
    od_record_free(record);
}

static int32_t destroy(int32_t gtid, void *task)
{
    od_record *record = od_task_table_take(task);
    if (!record)
        return 0;
    od_task_entry programs = record->destructor;
    od_detached detached = record->detached;
    if (record->gate)
        od_runtime_give_up_reservation(record->gate);
    od_target_task_discard(record);
    if (!detached.team)
        od_detached_leave(detached);
    return programs(gtid, task);
}

void od_task_watch(od_record *record)
{
    od_kmp_task *task = (void *)(uintptr_t)record->task;
    if (!REAL(omp_get_cancellation)())
        return;
    bool has_own = record->flags & OD_TASK_DESTRUCTORS;
    record->destructor = has_own ? (od_task_entry)(uintptr_t)task->destructor : od_do_nothing;
    od_task_set_destructor(task, destroy);
}

void od_task_begins(const od_record *record)
{
    if (record->destructor)
        od_task_set_destructor((void *)(uintptr_t)record->task, record->destructor);
}
