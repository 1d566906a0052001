/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Detached tasks, and waiting for them before barriers. See detach.h. */
#include "omp_ext/detach.h"

#include "omp_ext/real.h"
#include "omp_ext/serial.h"
#include "omp_ext/thread.h"

#include <sched.h>
#include <time.h>

/* Of this thread's innermost implicit task; apart from od_self, which is exchanged for each explicit task that runs here. */
static _Thread_local od_brood *current;

od_brood *od_brood_join(void)
{
    if (current)
        atomic_fetch_add_explicit(&current->pending, 1, memory_order_relaxed);
    return current;
}

void od_brood_leave(od_brood *brood)
{
    if (brood)
        atomic_fetch_sub_explicit(&brood->pending, 1, memory_order_release);
}

void od_detached_complete(od_detached task)
{
    if (task.event)
        REAL(omp_fulfill_event)(task.event);
    od_brood_leave(task.brood);
}

void od_brood_begin(od_brood *brood, od_brood **outer)
{
    *outer = current;
    atomic_init(&brood->pending, 0);
    current = od_serial_is_alone() || REAL(omp_get_cancellation)() ? NULL : brood;
}

enum { YIELDS = 10000, PAUSE_NS = 100000 };

/* libomp's taskwait runs tasks, but never gives the processor away: while the tasks that devices work at are pending, this
 * does both. */
static void await_brood(od_ident *ident, int32_t gtid)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (unsigned n = 0; current && atomic_load_explicit(&current->pending, memory_order_acquire); n++) {
        REAL(__kmpc_omp_taskyield)(ident, gtid, 0);
        if (n < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

void od_brood_end(od_ident *ident, int32_t gtid, od_brood *outer)
{
    await_brood(ident, gtid); /* who completes a task counts it out last */
    current = outer;
}

void od_detach_before_barrier(od_ident *ident, int32_t gtid)
{
    if (od_self.kernels)
        return;
    if (od_serial_is_alone()) {
        od_serial_before_barrier(ident, gtid);
        return;
    }
    await_brood(ident, gtid);
    REAL(__kmpc_omp_taskwait)(ident, gtid);
}
