/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Critical sections and locks of the program: who is in one runs no task that may want it (thread.h), and no other
 * slice of its kernel is in one (slice.h). */
#include "omp_ext/hooks/sync/scope.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/activity.h"
#include "omp_ext/slices/slice.h"

/* Nothing is left to do after most calls: they jump to the runtime's, which sees the program as its caller. */

/* --- critical sections ----------------------------------------------------------- */

void __kmpc_critical(od_ident *ident, int32_t gtid, void *lock)
{
    od_slice_begin_section();
    od_thread_note_lock(true);
    REAL(__kmpc_critical)(ident, gtid, lock);
}

void __kmpc_critical_with_hint(od_ident *ident, int32_t gtid, void *lock, uint32_t hint)
{
    od_slice_begin_section();
    od_thread_note_lock(true);
    REAL(__kmpc_critical_with_hint)(ident, gtid, lock, hint);
}

void __kmpc_end_critical(od_ident *ident, int32_t gtid, void *lock)
{
    od_thread_note_lock(false);
    if (!od_slice_in_section()) {
        REAL(__kmpc_end_critical)(ident, gtid, lock);
        return;
    }
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_end_critical)(ident, gtid, lock);
    }
    od_slice_end_section();
}

/* --- locks ------------------------------------------------------------------------- */

/* Of gcc's runtime for callers that use that one. */
static void *real_of(od_scoped *entry, const void *caller)
{
    bool is_libomp;
    return od_scope_find(entry, caller, &is_libomp);
}

/* Takes the lock, or gives it back. */
#define CHANGE(call, is_taken)                                                                                         \
    void call(void *lock);                                                                                             \
    void call(void *lock)                                                                                              \
    {                                                                                                                  \
        static od_scoped self = {.name = #call};                                                                       \
        void *real = real_of(&self, __builtin_return_address(0));                                                      \
        if (is_taken)                                                                                                  \
            od_slice_takes_lock();                                                                                     \
        od_thread_note_lock(is_taken);                                                                                 \
        ((void (*)(void *))(uintptr_t)real)(lock);                                                                     \
    }

#define TRY(call)                                                                                                      \
    int call(void *lock);                                                                                              \
    int call(void *lock)                                                                                               \
    {                                                                                                                  \
        static od_scoped self = {.name = #call};                                                                       \
        int (*real)(void *) = (int (*)(void *))(uintptr_t)real_of(&self, __builtin_return_address(0));                 \
        return od_runtime_is_idle() ? real(lock) : try(real, lock, __builtin_return_address(0));                       \
    }

static int try(int (*real)(void *), void *lock, const void *caller)
{
    OD_PROGRAM_CALL_FROM(caller);
    od_slice_takes_lock();
    int taken = real(lock);
    if (taken)
        od_thread_note_lock(true);
    return taken;
}

CHANGE(omp_set_lock, true)
CHANGE(omp_set_nest_lock, true)
CHANGE(omp_unset_lock, false)
CHANGE(omp_unset_nest_lock, false)
TRY(omp_test_lock)
TRY(omp_test_nest_lock)
/* Fortran's */
CHANGE(omp_set_lock_, true)
CHANGE(omp_set_nest_lock_, true)
CHANGE(omp_unset_lock_, false)
CHANGE(omp_unset_nest_lock_, false)
TRY(omp_test_lock_)
TRY(omp_test_nest_lock_)
