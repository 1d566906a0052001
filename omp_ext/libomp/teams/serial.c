/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Around libomp's count of tasks in teams of one thread. See serial.h. */
#include "omp_ext/libomp/teams/serial.h"

#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"

bool od_serial_is_alone(void)
{
    return od_runtime_offloads() && !od_self.kernels && REAL(omp_get_num_threads)() == 1;
}

static _Thread_local bool region_is_beside_events;

void od_serial_set_beside_events(bool is)
{
    region_is_beside_events = is;
}

bool od_serial_is_beside_events(void)
{
    return region_is_beside_events && od_serial_is_alone();
}

const void *od_serial_user(void)
{
    return od_self.mode == OD_PLAIN && !od_self.family.parent && od_serial_is_alone() ? &od_self : NULL;
}

int32_t od_serial_flags(int32_t flags)
{
    return od_serial_is_alone() && !od_serial_is_beside_events() ? flags | OD_TASK_DETACHABLE : flags;
}

int32_t od_do_nothing(int32_t gtid, void *task)
{
    (void)gtid;
    (void)task;
    return 0;
}

void od_serial_before_barrier(od_ident *ident, int32_t gtid)
{
    int32_t flags = OD_TASK_TIED | OD_TASK_DETACHABLE;
    REAL(__kmpc_omp_task)
    (ident, gtid, REAL(__kmpc_omp_task_alloc)(ident, gtid, flags, sizeof(od_kmp_task), 0, od_do_nothing));
}

/* --- tasks of our own --------------------------------------------------------- */

od_own_task od_serial_begin_task(void)
{
    od_own_task own;
    int32_t gtid = REAL(__kmpc_global_thread_num)(NULL), flags = OD_TASK_TIED | OD_TASK_DETACHABLE;
    own.task = REAL(__kmpc_omp_task_alloc)(NULL, gtid, flags, sizeof(od_kmp_task), 0, od_do_nothing);
    own.event = REAL(__kmpc_task_allow_completion_event)(NULL, gtid, own.task);
    REAL(__kmpc_omp_task_begin_if0)(NULL, gtid, own.task);
    return own;
}

/* Detached at its very end: in teams of one libomp frees the parents of no others. */
void od_serial_end_task(od_own_task own)
{
    if (!own.task)
        return;
    REAL(__kmpc_omp_task_complete_if0)(NULL, REAL(__kmpc_global_thread_num)(NULL), own.task);
    REAL(omp_fulfill_event)(own.event);
}

od_own_task od_serial_begin_kernel(bool has_children)
{
    bool beside = od_self.family.parent ? od_self.family.has_children : has_children;
    bool needs = beside && od_serial_is_alone() && !od_serial_is_beside_events();
    return needs ? od_serial_begin_task() : (od_own_task){0};
}
