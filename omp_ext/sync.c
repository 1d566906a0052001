/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronisation points: after a taskwait, a taskgroup, a barrier or a parallel region, what
 * finished tasks wrote outside regions is on the host, and device copies that the host may now change are forgotten.
 */
#include "omp_ext/real.h"
#include "omp_ext/serial.h"
#include "omp_ext/thread.h"

#include <stdarg.h>

/* A job that waits for other tasks does not keep its device from running them. */
static void block_job(bool waits)
{
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
    block_job(true);
    int32_t result = REAL(__kmpc_omp_taskwait)(ident, gtid);
    block_job(false);
    synchronise();
    return result;
}

void __kmpc_end_taskgroup(od_ident *ident, int32_t gtid)
{
    block_job(true);
    REAL(__kmpc_end_taskgroup)(ident, gtid);
    block_job(false);
    synchronise();
}

void __kmpc_barrier(od_ident *ident, int32_t gtid)
{
    od_serial_before_barrier(ident, gtid);
    REAL(__kmpc_barrier)(ident, gtid);
    synchronise();
}

int32_t __kmpc_cancel_barrier(od_ident *ident, int32_t gtid)
{
    od_serial_before_barrier(ident, gtid);
    int32_t cancelled = REAL(__kmpc_cancel_barrier)(ident, gtid);
    synchronise();
    return cancelled;
}

/* Ends in a barrier. */
void __kmpc_end_reduce(od_ident *ident, int32_t gtid, void *lock)
{
    od_serial_before_barrier(ident, gtid);
    REAL(__kmpc_end_reduce)(ident, gtid, lock);
    synchronise();
}

void __kmpc_end_serialized_parallel(od_ident *ident, int32_t gtid)
{
    REAL(__kmpc_end_serialized_parallel)(ident, gtid);
    synchronise();
}

void __kmpc_fork_call_if(od_ident *ident, int32_t count, void *outlined, int32_t condition, void *args)
{
    REAL(__kmpc_fork_call_if)(ident, count, outlined, condition, args);
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
    void *args[MAX_FORK_ARGS];
} region;

#define A8(a, i) a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7]
#define A32(a, i) A8(a, i), A8(a, i + 8), A8(a, i + 16), A8(a, i + 24)
#define A128(a) A32(a, 0), A32(a, 32), A32(a, 64), A32(a, 96)

/* The region, then a barrier. libomp 19 loses count of detached tasks with dependences when they are completed while
 * threads wait in the barrier that ends a region: it hangs or crashes. In an explicit barrier it does not. */
static void run_region(int32_t *gtid, int32_t *tid, region *r)
{
    r->outlined(gtid, tid, A128(r->args));
    od_serial_before_barrier(r->ident, *gtid);
    REAL(__kmpc_barrier)(r->ident, *gtid);
}

/* The same for a parallel region of a kernel. */
static void run_region_of_kernel(int32_t *gtid, int32_t *tid, region *r)
{
    od_self.kernels++;
    r->outlined(gtid, tid, A128(r->args));
    od_self.kernels--;
}

void __kmpc_fork_call(od_ident *ident, int32_t count, void *outlined, ...);
void __kmpc_fork_call(od_ident *ident, int32_t count, void *outlined, ...)
{
    region r = {.ident = ident, .outlined = (outlined_region)outlined};
    va_list list;
    if (count > MAX_FORK_ARGS)
        od_runtime_fatal("a parallel region with more than 128 shared variables is not supported");
    va_start(list, outlined);
    for (int32_t i = 0; i < count; i++)
        r.args[i] = va_arg(list, void *);
    va_end(list);
    fork_call real = (fork_call)REAL(__kmpc_fork_call);
    if (od_self.kernels)
        real(ident, 1, (void *)run_region_of_kernel, &r);
    else if (od_runtime_offloads())
        real(ident, 1, (void *)run_region, &r);
    else
        real(ident, count, outlined, A128(r.args));
    synchronise();
}
