/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels that run in slices ask libomp: which iterations are theirs, and to be alone. See slice.h. */
#include "omp_ext/hooks/sync/scope.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/slices/slice.h"

/* --- loops ----------------------------------------------------------------------- */

enum { CHUNKED = 33, DISTRIBUTE_CHUNKED = 91, DISTRIBUTE = 92, MODIFIERS = 3 << 29 }; /* sched_type */

/* To a team of one thread libomp gives all iterations as one chunk. clang 19 compiles schedule(static, 1) of
 * `distribute parallel for` for teams of several threads: of that chunk its code would run the first iteration only.
 * Devices share the processors, so kernels have one thread here that have several without the library. */
static bool is_by_one(int32_t schedule, int64_t chunk)
{
    return od_self.kernels && chunk == 1 && (schedule & ~MODIFIERS) == CHUNKED;
}

static bool is_distribute(int32_t schedule)
{
    schedule &= ~MODIFIERS;
    return schedule == DISTRIBUTE || schedule == DISTRIBUTE_CHUNKED;
}

static bool see_loop(const od_slice *slice, int32_t schedule, bool plain, uint64_t n)
{
    bool chunks = (schedule & ~MODIFIERS) == DISTRIBUTE_CHUNKED;
    bool known = !chunks && plain && n == slice->trip_count;
    if (slice->teams)
        atomic_fetch_add_explicit(slice->teams, 1, memory_order_relaxed);
    od_slice_see(chunks ? OD_SEEN_CHUNKS : known ? OD_SEEN_LOOP : OD_SEEN_OTHER);
    return !chunks && plain;
}

/* *last: whether the loop's last iteration is among them, of n in all. */
static od_iterations narrow(const od_slice *slice, uint64_t n, od_iterations team, int32_t *last)
{
    od_iterations own = od_slice_cut(slice, n, team);
    if (last && (own.first > own.last || own.last + 1 != n))
        *last = 0;
    return own;
}

/* A worksharing loop's iterations are its team's, which a slice has narrowed already. */
#define STATIC_INIT(name, type, step)                                                                                  \
    void name(od_ident *ident, int32_t gtid, int32_t schedule, int32_t *last, type *lower, type *upper, step *stride,  \
              step increment, step chunk)                                                                              \
    {                                                                                                                  \
        const od_slice *slice = od_self.slice;                                                                         \
        if (!slice || !is_distribute(schedule) || *lower > *upper) {                                                   \
            REAL(name)(ident, gtid, schedule, last, lower, upper, stride, increment, chunk);                           \
            if (is_by_one(schedule, chunk) && *lower < *upper) {                                                       \
                *upper = *lower;                                                                                       \
                *stride = increment;                                                                                   \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        type first = *lower;                                                                                           \
        uint64_t n = (uint64_t)*upper - (uint64_t)first + 1;                                                           \
        REAL(name)(ident, gtid, schedule, last, lower, upper, stride, increment, chunk);                               \
        if (!see_loop(slice, schedule, increment == 1, n) || slice->count == 1)                                        \
            return;                                                                                                    \
        od_iterations team = {1, 0};                                                                                   \
        if (*lower <= *upper)                                                                                          \
            team = (od_iterations){(uint64_t)*lower - (uint64_t)first, (uint64_t)*upper - (uint64_t)first};            \
        team = narrow(slice, n, team, last);                                                                           \
        *lower = (type)((uint64_t)first + team.first);                                                                 \
        *upper = (type)((uint64_t)first + team.last);                                                                  \
        *stride = team.first <= team.last ? (step)(team.last - team.first + 1) : 1; /* which must not lead back */     \
    }

STATIC_INIT(__kmpc_for_static_init_4, int32_t, int32_t)
STATIC_INIT(__kmpc_for_static_init_4u, uint32_t, int32_t)
STATIC_INIT(__kmpc_for_static_init_8, int64_t, int64_t)
STATIC_INIT(__kmpc_for_static_init_8u, uint64_t, int64_t)

/* --- reductions ------------------------------------------------------------------- */

void __kmpc_end_reduce_nowait(od_ident *ident, int32_t gtid, void *lock)
{
    od_slice_has_reduced();
    REAL(__kmpc_end_reduce_nowait)(ident, gtid, lock);
}

/* --- numbers --------------------------------------------------------------------- */

/* Of gcc's runtime for callers that use that one. */
static int ask(od_scoped *entry, const void *caller)
{
    od_slice_asks_number();
    int (*real)(void) = (int (*)(void))(uintptr_t)od_scope_recall(entry, caller);
    return real ? real() : 0;
}

int omp_get_team_num(void)
{
    static od_scoped self = {.name = "omp_get_team_num"};
    return ask(&self, __builtin_return_address(0));
}

int omp_get_thread_num(void)
{
    static od_scoped self = {.name = "omp_get_thread_num"};
    return ask(&self, __builtin_return_address(0));
}

int omp_get_ancestor_thread_num(int level)
{
    static od_scoped self = {.name = "omp_get_ancestor_thread_num"};
    od_slice_asks_number();
    int (*real)(int) = (int (*)(int))(uintptr_t)od_scope_recall(&self, __builtin_return_address(0));
    return real ? real(level) : level ? -1 : 0;
}
