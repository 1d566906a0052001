/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Detached tasks, and waiting for them before barriers. See detach.h. */
#include "omp_ext/detach.h"

#include "memmgr/clock.h"
#include "omp_ext/real.h"
#include "omp_ext/serial.h"
#include "omp_ext/thread.h"

#include <sched.h>
#include <time.h>

_Thread_local od_member *od_member_self;

od_member *od_detached_join(void)
{
    if (!od_member_self || !od_member_self->counts)
        return NULL;
    atomic_fetch_add_explicit(&od_member_self->team->pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&od_member_self->pending, 1, memory_order_relaxed);
    return od_member_self;
}

void od_detached_leave(od_member *creator)
{
    if (!creator)
        return;
    atomic_fetch_sub_explicit(&creator->team->pending, 1, memory_order_release);
    atomic_fetch_sub_explicit(&creator->pending, 1, memory_order_release); /* last: the member may end now */
}

void od_detached_complete(od_detached task)
{
    if (task.event)
        REAL(omp_fulfill_event)(task.event);
    od_detached_leave(task.creator);
}

/* --- waiting -------------------------------------------------------------- */

/* As libomp does, which sleeps after 200 ms. While tasks end it naps, which the kernel makes some 50 us: who sleeps longer releases
 * successors late, and devices take other tasks out of turn meanwhile. */
enum { PAUSE_AFTER_NS = 200000000, PAUSE_NS = 100000, NAP_NS = 1000 };

typedef struct waiting {
    uint64_t since_ns; /* 0: it begins now */
    uint64_t idle_ns;  /* since when nothing has ended */
    uint64_t pending;  /* tasks of the team, then */
} waiting;

/* Runs tasks of the team, or else gives the processor away. */
static void do_other_things(od_ident *ident, int32_t gtid, const od_team *team, waiting *w)
{
    uint64_t pending = atomic_load_explicit(&team->pending, memory_order_relaxed), now = od_clock_ns();
    if (!w->since_ns)
        w->since_ns = now;
    if (w->since_ns == now || pending != w->pending)
        w->idle_ns = now;
    w->pending = pending;
    REAL(__kmpc_omp_taskyield)(ident, gtid, 0);
    bool idle = od_clock_ns() - w->idle_ns >= PAUSE_AFTER_NS;
    if (od_clock_ns() - w->since_ns < PAUSE_AFTER_NS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = idle ? PAUSE_NS : NAP_NS}, NULL);
}

/* libomp's taskwait never gives the processor away: it comes when devices have no more of this thread's tasks. */
static void await_pending(od_ident *ident, int32_t gtid, const od_member *member)
{
    waiting w = {0};
    while (atomic_load_explicit(&member->pending, memory_order_acquire))
        do_other_things(ident, gtid, member->team, &w);
}

static void await_team(od_ident *ident, int32_t gtid, const od_member *member)
{
    od_team *team = member->team;
    waiting w = {0};
    uint64_t before = atomic_fetch_add(&team->arrivals, 1);
    uint64_t all = (before / member->nthreads + 1) * member->nthreads;
    while (atomic_load_explicit(&team->opened, memory_order_acquire) < all &&
           !atomic_load_explicit(&team->cancelled, memory_order_relaxed)) {
        /* Who arrived earlier may have run a task since then that created others. Once for all: tasks that are created
         * after the barrier are not to be waited for by a thread that is late to see it open. */
        if (atomic_load_explicit(&team->arrivals, memory_order_acquire) >= all &&
            !atomic_load_explicit(&team->pending, memory_order_acquire))
            atomic_store_explicit(&team->opened, all, memory_order_release);
        else
            do_other_things(ident, gtid, team, &w);
    }
}

/* Of a team of one thread: until the detached tasks have ended, and until libomp has released what depends on them. */
static void finish_alone(od_ident *ident, int32_t gtid, const od_member *member)
{
    if (!member->counts || atomic_load_explicit(&member->pending, memory_order_relaxed))
        REAL(__kmpc_omp_taskwait)(ident, gtid);
    od_depend all = {.flags = OD_DEPEND_ALL_MEMORY};
    REAL(__kmpc_omp_taskwait_deps_51)(ident, gtid, 1, &all, 0, NULL, 0);
}

void od_detach_before_barrier(od_ident *ident, int32_t gtid)
{
    if (od_self.kernels)
        return;
    if (od_serial_is_alone()) {
        if (od_member_self) /* after the barrier libomp would not find the rests of completions any more */
            finish_alone(ident, gtid, od_member_self);
        od_serial_before_barrier(ident, gtid);
        return;
    }
    if (od_member_self)
        await_pending(ident, gtid, od_member_self);
    REAL(__kmpc_omp_taskwait)(ident, gtid);
    if (od_member_self)
        await_team(ident, gtid, od_member_self);
}

/* --- regions ---------------------------------------------------------------- */

void od_member_begin(od_member *member, od_team *team)
{
    unsigned nthreads = (unsigned)REAL(omp_get_num_threads)();
    bool counts = !REAL(omp_get_cancellation)();
    *member = (od_member){.outer = od_member_self, .team = team, .nthreads = nthreads, .counts = counts};
    od_member_self = member;
}

void od_detach_before_region(od_ident *ident)
{
    const od_member *member = od_member_self;
    if (od_self.kernels || !member || member->nthreads > 1)
        return;
    finish_alone(ident, REAL(__kmpc_global_thread_num)(ident), member);
}

void od_member_end(od_ident *ident, int32_t gtid, od_member *member)
{
    await_pending(ident, gtid, member); /* who completes a task counts it out last */
    od_member_self = member->outer;
}
