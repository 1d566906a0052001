/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Critical sections and locks of the program: who is in one runs no task that may want it (thread.h), and no other
 * slice of its kernel is in one (slice.h). */
#include "omp_ext/hooks/sync/scope.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/slices/slice.h"

/* --- critical sections ----------------------------------------------------------- */

void __kmpc_critical(od_ident *ident, int32_t gtid, void *lock)
{
    od_slice_begin_section();
    REAL(__kmpc_critical)(ident, gtid, lock);
    od_thread_note_lock(true);
}

void __kmpc_critical_with_hint(od_ident *ident, int32_t gtid, void *lock, uint32_t hint)
{
    od_slice_begin_section();
    REAL(__kmpc_critical_with_hint)(ident, gtid, lock, hint);
    od_thread_note_lock(true);
}

void __kmpc_end_critical(od_ident *ident, int32_t gtid, void *lock)
{
    od_thread_note_lock(false);
    REAL(__kmpc_end_critical)(ident, gtid, lock);
    od_slice_end_section();
}

/* --- locks ------------------------------------------------------------------------- */

/* Of gcc's runtime for callers that use that one. */
static void *real_of(od_scoped *entry, const void *caller)
{
    bool is_libomp;
    return od_scope_find(entry, caller, &is_libomp);
}

#define TAKE(call)                                                                                                     \
    void call(void *lock);                                                                                             \
    void call(void *lock)                                                                                              \
    {                                                                                                                  \
        static od_scoped self = {.name = #call};                                                                       \
        ((void (*)(void *))(uintptr_t)real_of(&self, __builtin_return_address(0)))(lock);                              \
        od_thread_note_lock(true);                                                                                     \
    }

#define TRY(call)                                                                                                      \
    int call(void *lock);                                                                                              \
    int call(void *lock)                                                                                               \
    {                                                                                                                  \
        static od_scoped self = {.name = #call};                                                                       \
        int taken = ((int (*)(void *))(uintptr_t)real_of(&self, __builtin_return_address(0)))(lock);                   \
        if (taken)                                                                                                     \
            od_thread_note_lock(true);                                                                                 \
        return taken;                                                                                                  \
    }

#define GIVE(call)                                                                                                     \
    void call(void *lock);                                                                                             \
    void call(void *lock)                                                                                              \
    {                                                                                                                  \
        static od_scoped self = {.name = #call};                                                                       \
        od_thread_note_lock(false);                                                                                    \
        ((void (*)(void *))(uintptr_t)real_of(&self, __builtin_return_address(0)))(lock);                              \
    }

TAKE(omp_set_lock)
TAKE(omp_set_nest_lock)
TRY(omp_test_lock)
TRY(omp_test_nest_lock)
GIVE(omp_unset_lock)
GIVE(omp_unset_nest_lock)
/* Fortran's */
TAKE(omp_set_lock_)
TAKE(omp_set_nest_lock_)
TRY(omp_test_lock_)
TRY(omp_test_nest_lock_)
GIVE(omp_unset_lock_)
GIVE(omp_unset_nest_lock_)
