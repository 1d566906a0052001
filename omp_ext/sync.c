/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronisation points: after a taskwait, a taskgroup, a barrier or a parallel region, what
 * finished tasks wrote outside regions is on the host, and device copies that the host may now change are forgotten.
 */
#include "omp_ext/real.h"
#include "omp_ext/serial.h"
#include "omp_ext/thread.h"
#include "omp_ext/watchdog.h"

#include <stdarg.h>

/* The calling thread begins or ends to wait for other tasks. A job that does so keeps no device from running them. */
static void note_wait(bool waits)
{
    od_watchdog_note_wait(waits);
    if (od_self.mode != OD_ON_DEVICE)
        return;
    od_engine *engine = od_runtime_lock();
    od_engine_task_block(engine, &od_self.job->task, waits);
    od_runtime_unlock();
}

/* What a kernel on a host device synchronises are its own threads: no point of the program's. */
static void synchronise(void)
{
    if (!od_self.kernels)
        od_runtime_synchronise();
}

int32_t __kmpc_omp_taskwait(od_ident *ident, int32_t gtid)
{
    if (od_runtime_is_idle())
        return REAL(__kmpc_omp_taskwait)(ident, gtid);
    note_wait(true);
    int32_t result = REAL(__kmpc_omp_taskwait)(ident, gtid);
    note_wait(false);
    synchronise();
    return result;
}

void __kmpc_end_taskgroup(od_ident *ident, int32_t gtid)
{
    if (od_runtime_is_idle()) {
        REAL(__kmpc_end_taskgroup)(ident, gtid);
        return;
    }
    note_wait(true);
    REAL(__kmpc_end_taskgroup)(ident, gtid);
    note_wait(false);
    synchronise();
}

/* True where barriers are none of ours. All threads of a team must agree: so a region that was begun with ours ends with them. */
static bool is_as_written(void)
{
    return od_runtime_is_idle() && !od_member_self;
}

static void before_barrier(od_ident *ident, int32_t gtid)
{
    od_watchdog_note_wait(true);
    od_detach_before_barrier(ident, gtid);
}

static void after_barrier(void)
{
    od_watchdog_note_wait(false);
    if (!od_runtime_is_idle())
        synchronise();
}

void __kmpc_barrier(od_ident *ident, int32_t gtid)
{
    if (is_as_written()) {
        REAL(__kmpc_barrier)(ident, gtid);
        return;
    }
    before_barrier(ident, gtid);
    REAL(__kmpc_barrier)(ident, gtid);
    after_barrier();
}

int32_t __kmpc_cancel_barrier(od_ident *ident, int32_t gtid)
{
    if (is_as_written())
        return REAL(__kmpc_cancel_barrier)(ident, gtid);
    before_barrier(ident, gtid);
    int32_t cancelled = REAL(__kmpc_cancel_barrier)(ident, gtid);
    after_barrier();
    return cancelled;
}

/* All threads of the team get to know of it at the next cancellation point. */
int32_t __kmpc_cancel(od_ident *ident, int32_t gtid, int32_t kind)
{
    int32_t cancelled = REAL(__kmpc_cancel)(ident, gtid, kind);
    if (cancelled && kind == OD_CANCEL_PARALLEL && od_member_self && !od_self.kernels)
        atomic_store(&od_member_self->team->cancelled, true);
    return cancelled;
}

/* Its barrier is here or in __kmpc_end_reduce, which not all threads call. */
int32_t __kmpc_reduce(od_ident *ident, int32_t gtid, int32_t nvars, size_t size, void *data, od_reduction reduce,
                      void *lock)
{
    if (!is_as_written()) {
        before_barrier(ident, gtid);
        od_watchdog_note_wait(false);
    }
    return REAL(__kmpc_reduce)(ident, gtid, nvars, size, data, reduce, lock);
}

void __kmpc_end_reduce(od_ident *ident, int32_t gtid, void *lock)
{
    REAL(__kmpc_end_reduce)(ident, gtid, lock);
    if (!od_runtime_is_idle())
        synchronise();
}

/* Has barriers inside. */
void __kmpc_copyprivate(od_ident *ident, int32_t gtid, size_t size, void *data, od_copyprivate copy, int32_t is_source)
{
    if (is_as_written()) {
        REAL(__kmpc_copyprivate)(ident, gtid, size, data, copy, is_source);
        return;
    }
    before_barrier(ident, gtid);
    REAL(__kmpc_copyprivate)(ident, gtid, size, data, copy, is_source);
    after_barrier();
}

void __kmpc_serialized_parallel(od_ident *ident, int32_t gtid)
{
    od_detach_before_region(ident);
    REAL(__kmpc_serialized_parallel)(ident, gtid);
}

void __kmpc_end_serialized_parallel(od_ident *ident, int32_t gtid)
{
    REAL(__kmpc_end_serialized_parallel)(ident, gtid);
    synchronise();
}

void __kmpc_fork_call_if(od_ident *ident, int32_t count, void *outlined, int32_t condition, void *args)
{
    od_member *outer = od_member_self;
    od_member_self = NULL; /* its team's barriers are not those of this thread's */
    REAL(__kmpc_fork_call_if)(ident, count, outlined, condition, args);
    od_member_self = outer;
    synchronise();
}

/* --- parallel regions ----------------------------------------------------- */

enum { MAX_FORK_ARGS = 128 };

typedef void (*fork_call)(od_ident *, int32_t, void *, ...);
typedef void (*outlined_region)(int32_t *gtid, int32_t *tid, ...);

/* A parallel region as the program wrote it: the call is variadic, its arguments are passed on one by one. */
typedef struct region {
    od_ident *ident;
    outlined_region outlined;
    int32_t count;
    od_team team;
    void *args[MAX_FORK_ARGS]; /* NULL up to the next of 8, 32, 128 */
} region;

#define A8(a, i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]
#define A32(a, i) A8(a, i), A8(a, i + 8), A8(a, i + 16), A8(a, i + 24)
#define A128(a) A32(a, 0), A32(a, 32), A32(a, 64), A32(a, 96)

static int32_t passed(int32_t count)
{
    return count <= 8 ? 8 : count <= 32 ? 32 : MAX_FORK_ARGS;
}

/* The callee looks at `count` arguments; mostly they are few. */
static void call_outlined(const region *r, int32_t *gtid, int32_t *tid)
{
    if (passed(r->count) == 8)
        r->outlined(gtid, tid, A8(r->args, 0));
    else if (passed(r->count) == 32)
        r->outlined(gtid, tid, A32(r->args, 0));
    else
        r->outlined(gtid, tid, A128(r->args));
}

static void fork_as_written(const region *r)
{
    fork_call real = (fork_call)REAL(__kmpc_fork_call);
    void *outlined = (void *)(uintptr_t)r->outlined;
    if (passed(r->count) == 8)
        real(r->ident, r->count, outlined, A8(r->args, 0));
    else if (passed(r->count) == 32)
        real(r->ident, r->count, outlined, A32(r->args, 0));
    else
        real(r->ident, r->count, outlined, A128(r->args));
}

/* The barrier that ends a region is none of __kmpc_barrier's. In a team of one there is none, but a wait for its tasks. */
static void run_region(int32_t *gtid, int32_t *tid, region *r)
{
    od_member member;
    od_member_begin(&member, &r->team);
    call_outlined(r, gtid, tid);
    od_watchdog_note_wait(true);
    od_detach_before_barrier(r->ident, *gtid);
    if (member.nthreads == 1)
        REAL(__kmpc_barrier)(r->ident, *gtid);
    od_member_end(r->ident, *gtid, &member);
    od_watchdog_note_wait(false);
}

/* A parallel region of a kernel: its barriers and tasks are the kernel's own. */
static void run_region_of_kernel(int32_t *gtid, int32_t *tid, region *r)
{
    od_self.kernels++;
    call_outlined(r, gtid, tid);
    od_self.kernels--;
}

void __kmpc_fork_call(od_ident *ident, int32_t count, void *outlined, ...);
void __kmpc_fork_call(od_ident *ident, int32_t count, void *outlined, ...)
{
    region r; /* not initialised as a whole: it is large */
    va_list list;
    if (count > MAX_FORK_ARGS)
        od_runtime_fatal("a parallel region with more than 128 shared variables is not supported");
    r.ident = ident;
    r.outlined = (outlined_region)outlined;
    r.count = count;
    r.team = (od_team){0};
    va_start(list, outlined);
    for (int32_t i = 0; i < passed(count); i++)
        r.args[i] = i < count ? va_arg(list, void *) : NULL;
    va_end(list);
    fork_call real = (fork_call)REAL(__kmpc_fork_call);
    od_detach_before_region(ident);
    if (od_self.kernels)
        real(ident, 1, (void *)run_region_of_kernel, &r);
    else if (od_runtime_offloads() || od_member_self)
        real(ident, 1, (void *)run_region, &r);
    else
        fork_as_written(&r);
    synchronise();
}
