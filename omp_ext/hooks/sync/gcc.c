/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What code compiled by gcc calls where it waits for its team: libomp has these entry points, too, and the barriers in
 * them are none of __kmpc_barrier's. (GOMP_barrier, GOMP_taskwait and the taskgroups of GOMP_… call libomp's own
 * entry points, where we are already.) In regions that gcc has compiled nothing is to be waited for.
 */
#include "omp_ext/hooks/sync/barrier.h"
#include "omp_ext/libomp/teams/detach.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/hooks/sync/scope.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"

static int32_t number(void)
{
    return REAL(__kmpc_global_thread_num)(NULL);
}

/* --- barriers ----------------------------------------------------------------- */

/* Those that return nothing are called in the same way: what is in the register of a result is ignored. */
static bool pass_barrier(od_scoped *entry, const void *caller)
{
    bool is_libomp;
    bool (*real)(void) = (bool (*)(void))(uintptr_t)od_scope_find(entry, caller, &is_libomp);
    if (!is_libomp || od_barrier_is_as_written())
        return real();
    od_barrier_begin(NULL, number());
    bool cancelled;
    {
        OD_PROGRAM_CALL_FROM(caller);
        cancelled = real();
    }
    od_barrier_end();
    return cancelled;
}

#define PASS_BARRIER(entry)                                                                                            \
    static od_scoped self = {.name = #entry};                                                                          \
    bool cancelled = pass_barrier(&self, __builtin_return_address(0))

void GOMP_loop_end(void);
void GOMP_loop_end(void)
{
    PASS_BARRIER(GOMP_loop_end);
    (void)cancelled;
}

bool GOMP_loop_end_cancel(void);
bool GOMP_loop_end_cancel(void)
{
    PASS_BARRIER(GOMP_loop_end_cancel);
    return cancelled;
}

void GOMP_sections_end(void);
void GOMP_sections_end(void)
{
    PASS_BARRIER(GOMP_sections_end);
    (void)cancelled;
}

bool GOMP_sections_end_cancel(void);
bool GOMP_sections_end_cancel(void)
{
    PASS_BARRIER(GOMP_sections_end_cancel);
    return cancelled;
}

bool GOMP_barrier_cancel(void);
bool GOMP_barrier_cancel(void)
{
    PASS_BARRIER(GOMP_barrier_cancel);
    return cancelled;
}

/* --- single copyprivate --------------------------------------------------------- */

/* NULL on the thread that executes the construct; on the others, after they have waited for that one in its
 * GOMP_single_copy_end. Alone in its team a thread executes it. */
void *GOMP_single_copy_start(void);
void *GOMP_single_copy_start(void)
{
    static od_scoped self = {.name = "GOMP_single_copy_start"};
    bool is_libomp;
    void *symbol = od_scope_find(&self, __builtin_return_address(0), &is_libomp);
    void *(*real)(void) = (void *(*)(void))(uintptr_t)symbol;
    if (!is_libomp || od_barrier_is_as_written() || od_serial_is_alone())
        return real();
    od_barrier_begin_half(NULL, number());
    void *copied;
    {
        OD_PROGRAM_CALL;
        copied = real();
    }
    od_barrier_end();
    return copied;
}

void GOMP_single_copy_end(void *data);
void GOMP_single_copy_end(void *data)
{
    static od_scoped self = {.name = "GOMP_single_copy_end"};
    bool is_libomp;
    void *symbol = od_scope_find(&self, __builtin_return_address(0), &is_libomp);
    void (*real)(void *) = (void (*)(void *))(uintptr_t)symbol;
    if (!is_libomp || od_barrier_is_as_written()) {
        real(data);
        return;
    }
    od_barrier_begin_half(NULL, number());
    {
        OD_PROGRAM_CALL;
        real(data);
    }
    od_barrier_end();
}

/* --- tasks in teams of one thread ------------------------------------------------- */

/* Libomp allocates and runs them inside, in a way that we do not see: so they run in a task of their own, of which no
 * others are under way, and target tasks inside them are not detached (omp_ext/libomp/teams/serial.h). */
static od_own_task begin_tasks(bool is_libomp)
{
    if (!is_libomp || od_runtime_is_idle() || !od_serial_is_alone())
        return (od_own_task){0};
    od_self.serial_loops++;
    return od_serial_begin_task();
}

static void end_tasks(od_own_task own)
{
    od_self.serial_loops -= own.task != NULL;
    od_serial_end_task(own);
}

typedef void (*task_body)(void *);
typedef void (*task_copy)(void *, void *);

/* Both taskloops of gcc's: the bounds of a type of their own. */
#define PASS_TASKLOOP(entry, bound)                                                                                    \
    void entry(task_body body, void *data, task_copy copy, long size, long alignment, unsigned flags,                  \
               unsigned long tasks, int priority, bound start, bound end, bound step);                                 \
    void entry(task_body body, void *data, task_copy copy, long size, long alignment, unsigned flags,                  \
               unsigned long tasks, int priority, bound start, bound end, bound step)                                  \
    {                                                                                                                  \
        static od_scoped self = {.name = #entry};                                                                      \
        bool is_libomp;                                                                                                \
        void *symbol = od_scope_find(&self, __builtin_return_address(0), &is_libomp);                                  \
        __typeof__(&entry) real = (__typeof__(real))(uintptr_t)symbol;                                                 \
        od_own_task own = begin_tasks(is_libomp);                                                                      \
        OD_PROGRAM_CALL;                                                                                               \
        real(body, data, copy, size, alignment, flags, tasks, priority, start, end, step);                             \
        end_tasks(own);                                                                                                \
    }

PASS_TASKLOOP(GOMP_taskloop, long)
PASS_TASKLOOP(GOMP_taskloop_ull, unsigned long long)
