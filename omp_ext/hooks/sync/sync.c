/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronisation points: after a taskwait, a taskgroup, a barrier or a parallel region, what
 * finished tasks wrote outside regions is on the host, and device copies that the host may now change are forgotten.
 */
#include "omp_ext/hooks/kernel.h"
#include "omp_ext/hooks/sync/barrier.h"
#include "omp_ext/libomp/call.h"
#include "omp_ext/libomp/ompt.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/libomp/teams/regions.h"
#include "omp_ext/libomp/teams/serial.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/signals/faults.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/services/watchdog.h"
#include "omp_ext/slices/slice.h"
#include "omp_ext/slices/variables.h"
#include "omp_ext/tasks/reservation.h"
#include "util/tsan.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* The calling thread begins or ends to wait for other tasks. */
static void note_wait(bool waits)
{
    od_watchdog_note_wait(waits);
    if (waits)
        od_reservation_before_wait();
    if (!od_self.kernels)
        od_runtime_await(waits);
}

/* Around a scheduling point. In a kernel that runs on a thread of the program libomp may run tasks of the program
 * there, and its taskwait waits for children of the task that waits for the kernel, too: these may want the kernel's
 * device. */
static void block_kernel(bool waits)
{
    if (od_self.kernels && od_self.awaited)
        od_runtime_block_kernel(waits);
}

int32_t __kmpc_omp_taskwait(od_ident *ident, int32_t gtid)
{
    int32_t result = 0;
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_taskwait)(ident, gtid);
    od_thread_leave_capture();
    od_runtime_kernel_schedules();
    note_wait(true);
    block_kernel(true);
    od_detach_await_children(ident);
    if (!od_detach_is_beside_events()) {
        OD_PROGRAM_CALL;
        OD_WAITS_FOR_CHILDREN;
        result = REAL(__kmpc_omp_taskwait)(ident, gtid);
    }
    block_kernel(false);
    note_wait(false);
    od_barrier_synchronise();
    return result;
}

int32_t __kmpc_omp_taskyield(od_ident *ident, int32_t gtid, int32_t end_part)
{
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_taskyield)(ident, gtid, end_part);
    od_thread_leave_capture();
    od_runtime_kernel_schedules();
    if (!od_self.kernels)
        od_detach_pass_on();
    OD_PROGRAM_CALL;
    block_kernel(true);
    int32_t result = REAL(__kmpc_omp_taskyield)(ident, gtid, end_part);
    block_kernel(false);
    return result;
}

/* All threads of a program see the same begins and ends: it is idle from the start, or until a library brings device
 * code. */
static bool has_groups(void)
{
    return od_runtime_offloads() && !od_self.kernels;
}

void __kmpc_taskgroup(od_ident *ident, int32_t gtid)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_taskgroup)(ident, gtid);
        return;
    }
    od_thread_leave_capture();
    od_runtime_kernel_schedules();
    if (has_groups())
        od_detach_begin_group();
    OD_PROGRAM_CALL;
    REAL(__kmpc_taskgroup)(ident, gtid);
}

void __kmpc_end_taskgroup(od_ident *ident, int32_t gtid)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_end_taskgroup)(ident, gtid);
        return;
    }
    note_wait(true);
    od_detach_await_group(ident);
    {
        OD_PROGRAM_CALL;
        OD_WAITS_FOR_GROUP;
        REAL(__kmpc_end_taskgroup)(ident, gtid);
    }
    if (!od_self.kernels)
        od_detach_end_group();
    note_wait(false);
    od_barrier_synchronise();
}

void __kmpc_barrier(od_ident *ident, int32_t gtid)
{
    if (od_barrier_is_as_written()) {
        REAL(__kmpc_barrier)(ident, gtid);
        return;
    }
    od_barrier_begin(ident, gtid);
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_barrier)(ident, gtid);
    }
    od_barrier_end();
}

int32_t __kmpc_cancel_barrier(od_ident *ident, int32_t gtid)
{
    int32_t cancelled;
    if (od_barrier_is_as_written())
        return REAL(__kmpc_cancel_barrier)(ident, gtid);
    od_barrier_begin(ident, gtid);
    {
        OD_PROGRAM_CALL;
        cancelled = REAL(__kmpc_cancel_barrier)(ident, gtid);
    }
    od_barrier_end();
    return cancelled;
}

/* All threads of the team get to know of it at the next cancellation point. */
int32_t __kmpc_cancel(od_ident *ident, int32_t gtid, int32_t kind)
{
    if (od_barrier_is_as_written())
        return REAL(__kmpc_cancel)(ident, gtid, kind);
    OD_PROGRAM_CALL;
    int32_t cancelled = REAL(__kmpc_cancel)(ident, gtid, kind);
    if (cancelled && kind == OD_CANCEL_PARALLEL && od_member_self && !od_self.kernels) {
        atomic_store(&od_member_self->team->cancelled, true);
        od_team_wake_all(od_member_self->team);
    }
    return cancelled;
}

/* Teams of a league, which have no barrier, combine one after the other. libomp would go through a barrier of the team
 * around the league. It fails an assertion where an earlier region of a kernel had tasks; where that team is of one
 * thread it takes its task team out of use, though tasks of the program's may be under way; and where it is of several
 * it waits for threads that do not come. */
static pthread_mutex_t combining = PTHREAD_MUTEX_INITIALIZER;

static bool reduces_league(void)
{
    return od_self.league && od_self.league == 1 + REAL(omp_get_level)();
}

/* Whoever waits for other slices does so before. */
static int32_t begin_combining(void)
{
    int32_t method = od_slice_may_reduce() ? od_slice_reduces(OD_COMBINES) : OD_COMBINES;
    pthread_mutex_lock(&combining);
    return method;
}

static void end_combining(void)
{
    pthread_mutex_unlock(&combining);
    od_slice_has_reduced();
}

/* Its barrier is here or in __kmpc_end_reduce, which not all threads call. */
int32_t __kmpc_reduce(od_ident *ident, int32_t gtid, int32_t nvars, size_t size, void *data, od_reduction reduce,
                      void *lock)
{
    if (reduces_league())
        return begin_combining();
    if (od_slice_may_reduce())
        return od_slice_reduces(REAL(__kmpc_reduce)(ident, gtid, nvars, size, data, reduce, lock));
    if (od_barrier_is_as_written())
        return REAL(__kmpc_reduce)(ident, gtid, nvars, size, data, reduce, lock);
    od_barrier_begin(ident, gtid);
    od_watchdog_note_wait(false);
    OD_PROGRAM_CALL;
    return REAL(__kmpc_reduce)(ident, gtid, nvars, size, data, reduce, lock);
}

void __kmpc_end_reduce(od_ident *ident, int32_t gtid, void *lock)
{
    if (reduces_league()) {
        end_combining();
        return;
    }
    if (od_runtime_is_idle()) {
        REAL(__kmpc_end_reduce)(ident, gtid, lock);
        return;
    }
    od_slice_has_reduced();
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_end_reduce)(ident, gtid, lock);
    }
    od_barrier_synchronise();
}

/* Of larger teams it has a barrier inside. */
int32_t __kmpc_reduce_nowait(od_ident *ident, int32_t gtid, int32_t nvars, size_t size, void *data, od_reduction reduce,
                             void *lock)
{
    if (od_slice_may_reduce())
        return od_slice_reduces(REAL(__kmpc_reduce_nowait)(ident, gtid, nvars, size, data, reduce, lock));
    if (od_barrier_is_as_written() || !od_detach_reduces_in_barrier())
        return REAL(__kmpc_reduce_nowait)(ident, gtid, nvars, size, data, reduce, lock);
    od_barrier_begin_reduction(ident, gtid);
    int32_t result;
    {
        OD_PROGRAM_CALL;
        result = REAL(__kmpc_reduce_nowait)(ident, gtid, nvars, size, data, reduce, lock);
    }
    od_barrier_end();
    return result;
}

/* Has barriers inside. */
void __kmpc_copyprivate(od_ident *ident, int32_t gtid, size_t size, void *data, od_copyprivate copy, int32_t is_source)
{
    if (od_barrier_is_as_written()) {
        REAL(__kmpc_copyprivate)(ident, gtid, size, data, copy, is_source);
        return;
    }
    od_barrier_begin(ident, gtid);
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_copyprivate)(ident, gtid, size, data, copy, is_source);
    }
    od_barrier_end();
}

/* Ends the taskgroup of a reduction(task, …) clause. */
void __kmpc_task_reduction_modifier_fini(od_ident *ident, int32_t gtid, int32_t is_worksharing)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_task_reduction_modifier_fini)(ident, gtid, is_worksharing);
        return;
    }
    od_detach_await_children(ident);
    OD_PROGRAM_CALL;
    REAL(__kmpc_task_reduction_modifier_fini)(ident, gtid, is_worksharing);
}

void __kmpc_serialized_parallel(od_ident *ident, int32_t gtid)
{
    if (od_barrier_is_as_written()) {
        REAL(__kmpc_serialized_parallel)(ident, gtid);
        return;
    }
    od_thread_leave_capture();
    od_detach_before_region(ident);
    OD_PROGRAM_CALL;
    REAL(__kmpc_serialized_parallel)(ident, gtid);
    if (od_runtime_offloads() && !od_self.kernels)
        od_serialized_begin();
}

void __kmpc_end_serialized_parallel(od_ident *ident, int32_t gtid)
{
    if (od_barrier_is_as_written()) {
        REAL(__kmpc_end_serialized_parallel)(ident, gtid);
        return;
    }
    if (!od_self.kernels)
        od_serialized_end(ident);
    {
        OD_PROGRAM_CALL;
        REAL(__kmpc_end_serialized_parallel)(ident, gtid);
    }
    if (!od_slice_is_of_kernel()) /* libomp calls it, too, at the end of a team of a league */
        od_barrier_synchronise();
}

/* --- parallel regions ----------------------------------------------------- */

/* A parallel region as the program wrote it: the call is variadic. */
typedef struct region {
    od_ident *ident;
    void (*outlined)(void);
    size_t count;
    void *const *args; /* `count` */
    od_team *team;
    const od_slice *slice; /* of the kernel that it belongs to */
    bool in_section;       /* and of a critical section there */
    bool is_of_kernel;     /* a league */
    const void *from;      /* of the program, where it is called */
} region;

/* Calls function(leading…, the region's arguments…). */
static void call_with_args(const region *r, void (*function)(void), size_t nleading, void *const *leading)
{
    size_t count = nleading + r->count;
    void *words[count > OD_CALL_MIN ? count : OD_CALL_MIN];
    memset(words, 0, OD_CALL_MIN * sizeof *words);
    memcpy(words, leading, nleading * sizeof *words);
    if (r->count)
        memcpy(words + nleading, r->args, r->count * sizeof *words);
    od_call(function, count, words);
}

static void call_outlined(const region *r, int32_t *gtid, int32_t *tid)
{
    call_with_args(r, r->outlined, 2, (void *[]){gtid, tid});
}

static void fork_as_written(const region *r, void *real)
{
    void *leading[] = {r->ident, (void *)r->count, (void *)(uintptr_t)r->outlined};
    call_with_args(r, (void (*)(void))(uintptr_t)real, 3, leading);
}

/* The barrier that ends a region is none of __kmpc_barrier's. In a team of one there is none, but a wait for its
 * tasks. */
static void run_region(int32_t *gtid, int32_t *tid, region *r)
{
    od_member member;
    od_slice_note_region(false);
    od_member_begin(&member, r->team, *tid);
    call_outlined(r, gtid, tid);
    od_watchdog_note_wait(true);
    od_runtime_await(true);
    od_detach_before_barrier(r->ident, *gtid);
    if (member.nthreads == 1)
        REAL(__kmpc_barrier)(r->ident, *gtid);
    od_member_end(r->ident, &member);
    od_watchdog_note_wait(false);
    od_runtime_await(false);
}

/* A parallel region of a kernel, or a league: its barriers and tasks are the kernel's own. */
static void run_region_of_kernel(int32_t *gtid, int32_t *tid, region *r)
{
    OD_TSAN_ACQUIRE(r);
    if (!od_self.kernels) {
        od_faults_join_kernel();
        od_slice_note_region(true);
    }
    const od_slice *before = od_self.slice;
    od_self.slice = r->slice;
    od_self.kernels++;
    bool joined = od_slice_join_section(r->in_section);
    call_outlined(r, gtid, tid);
    od_slice_part_from_section(joined);
    od_self.kernels--;
    od_self.slice = before;
}

static void run_league(int32_t *gtid, int32_t *tid, region *r)
{
    int outer = od_self.league;
    od_self.league = 1 + REAL(omp_get_level)();
    if (r->is_of_kernel)
        run_region_of_kernel(gtid, tid, r);
    else
        call_outlined(r, gtid, tid);
    od_self.league = outer;
}

static void fork_team(region *r)
{
    const void *outlined = (const void *)(uintptr_t)r->outlined;
    r->team = od_region_begin(outlined);
    ((od_fork_function)REAL(__kmpc_fork_call))(r->ident, 1, (void *)run_region, r);
    od_region_end(r->team, outlined);
}

static void fork_threads(region *r)
{
    od_fork_function real = (od_fork_function)REAL(__kmpc_fork_call);
    OD_PROGRAM_CALL_FROM(r->from);
    r->in_section = od_slice_in_section();
    OD_TSAN_RELEASE(r); /* as a league's */
    if (od_self.kernels)
        real(r->ident, 1, (void *)run_region_of_kernel, r);
    else if (od_runtime_offloads() || od_member_self)
        fork_team(r);
    else
        fork_as_written(r, REAL(__kmpc_fork_call));
}

/* Compiled code always says where it is. Without that it is libomp's own region, whose hidden helper threads run tasks
 * in the barrier at its end. */
static bool is_of_libomp(const region *r)
{
    return !r->ident;
}

static void begin_region(region *r)
{
    if (is_of_libomp(r)) {
        fork_as_written(r, REAL(__kmpc_fork_call));
        return;
    }
    od_thread_leave_capture();
    od_reservation_give_up(); /* the region's threads may use the same data */
    od_detach_before_region(r->ident);
    fork_threads(r);
    od_barrier_synchronise();
}

/* The region of a variadic call, which goes on at `from`. */
static region collect(od_ident *ident, void *outlined, int32_t count, void **args, va_list list, const void *from)
{
    region r = {.ident = ident,
                .outlined = (void (*)(void))(uintptr_t)outlined,
                .args = args,
                .slice = od_self.slice,
                .from = from};
    for (int32_t i = 0; i < count; i++)
        args[r.count++] = va_arg(list, void *);
    return r;
}

void OD_FORK_CALL(od_ident *ident, int32_t count, void *outlined, ...);
void OD_FORK_CALL(od_ident *ident, int32_t count, void *outlined, ...)
{
    va_list list;
    void *args[count > 0 ? count : 1];
    va_start(list, outlined);
    region r = collect(ident, outlined, count, args, list, __builtin_return_address(0));
    va_end(list);
    begin_region(&r);
}

/* A league of teams, in a kernel or in the program. */
void OD_FORK_TEAMS(od_ident *ident, int32_t count, void *outlined, ...);
void OD_FORK_TEAMS(od_ident *ident, int32_t count, void *outlined, ...)
{
    va_list list;
    void *args[count > 0 ? count : 1];
    va_start(list, outlined);
    region r = collect(ident, outlined, count, args, list, __builtin_return_address(0));
    va_end(list);
    od_kernel_before_league(ident);
    OD_PROGRAM_CALL;
    od_variables own = {0};
    r.is_of_kernel = od_self.kernels;
    if (r.is_of_kernel)
        od_variables_share(&own, args, r.count, r.from);
    OD_TSAN_RELEASE(&r); /* only libomp knows which threads get it */
    if (r.is_of_kernel || od_runtime_offloads() || od_remote_serves())
        ((od_fork_function)REAL(__kmpc_fork_teams))(ident, 1, (void *)run_league, &r);
    else
        fork_as_written(&r, REAL(__kmpc_fork_teams));
    od_variables_give_back(&own);
}

/* With `args` NULL the region shares nothing, else it gets that one pointer. */
void __kmpc_fork_call_if(od_ident *ident, int32_t count, void *outlined, int32_t condition, void *args)
{
    region r = {.ident = ident,
                .outlined = (void (*)(void))(uintptr_t)outlined,
                .count = args != NULL,
                .args = &args,
                .slice = od_self.slice,
                .from = __builtin_return_address(0)};
    int32_t gtid = REAL(__kmpc_global_thread_num)(ident), zero = 0;
    (void)count;
    if (condition) {
        begin_region(&r);
        return;
    }
    __kmpc_serialized_parallel(ident, gtid);
    call_outlined(&r, &gtid, &zero);
    __kmpc_end_serialized_parallel(ident, gtid);
}
