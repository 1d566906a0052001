/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads of the program that wait for what the engine grants or completes. They make small copies themselves
 * meanwhile. */
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/own_copies.h"
#include "util/clock.h"
#include "util/fair.h"
#include "util/thread.h"

/* What only the calling thread will wait for: it looks before it sleeps. */
static _Thread_local const bool *awaited __attribute__((tls_model("initial-exec")));

/* Under the lock. */
void od_runtime_set_flag(bool *flag)
{
    *flag = true;
    if (flag != awaited)
        pthread_cond_broadcast(&od_runtime.changed);
}

void od_runtime_prepare_to_wait(const bool *flag)
{
    awaited = flag;
    od_own_copies_open(OD_OWN_BYTES_WAITING);
}

od_engine *od_runtime_lock_to_wait(const bool *flag)
{
    od_runtime_prepare_to_wait(flag);
    return od_runtime_lock();
}

/* What has been reserved for tasks that have not begun, or do something else just now, may be what the calling thread
 * waits for, and it may be the thread that would run them, or hold a lock that they wait for. Whoever is shown
 * addresses may be using them: it gets longer. */
static void wait_beside_reservations(void)
{
    enum { WAIT_NS = 2000000, SHOWN_NS = 20000000 };
    if (od_condition_wait_until(&od_runtime.changed, &od_runtime.lock, od_clock_ns() + WAIT_NS))
        return;
    od_runtime_revoke_before(od_clock_ns() - WAIT_NS / 2, false);
    od_runtime_revoke_before(od_clock_ns() - SHOWN_NS, true);
}

void od_runtime_await_reclaimed(void)
{
    od_runtime.waiting++;
    while (od_runtime.reclaiming)
        od_condition_wait(&od_runtime.changed, &od_runtime.lock);
    od_runtime.waiting--;
}

void od_runtime_wait(const bool *flag)
{
    od_thread_note_grant(true);
    while (!*flag && od_own_copies_are_left()) {
        od_runtime_release();
        od_runtime.copies->make(OD_OWN_BYTES_WAITING);
    }
    od_runtime.copies->leave();
    od_runtime.waiting++;
    while (!*flag) {
        /* Commands noted so far may be what lets the flag be set. */
        od_runtime_unlock();
        od_host_copies_help(od_runtime.host_copies);
        od_lock_take(&od_runtime.lock);
        if (!*flag && od_runtime.nreservations)
            wait_beside_reservations();
        else if (!*flag)
            od_condition_wait(&od_runtime.changed, &od_runtime.lock);
    }
    od_runtime.waiting--;
    od_runtime_await_reclaimed();
    awaited = NULL;
    od_thread_note_grant(false);
}

/* --- while libomp's waits are waited for --------------------------------------- */

/* In the child of a fork nothing is under way. */
static bool is_there_to_ask(void)
{
    bool is_on = atomic_load_explicit(&od_process_self.activity, memory_order_acquire) == OD_ON;
    return is_on && od_workers_have_jobs_going(od_runtime.workers);
}

/* Not where the thread is in the middle of something on a device. */
static bool may_ask(void)
{
    return is_there_to_ask() && od_self.mode == OD_PLAIN && !od_self.entered;
}

/* What has completed is left with the teams. */
static long ask(void)
{
    if (!may_ask())
        return 0;
    bool was = od_thread_at_scheduling_point(false);
    od_runtime_enter_libomptarget();
    long nap_ns = od_workers_ask(od_runtime.workers);
    od_runtime_leave_libomptarget();
    od_thread_at_scheduling_point(was);
    return nap_ns;
}

static void end_wait(void)
{
    od_workers_end_wait(od_runtime.workers);
}

const od_team_duty od_runtime_duty = {
    .is_there = is_there_to_ask, .begin = od_workers_begin_wait, .ask = ask, .end = end_wait};

/* Seconds are the process's own: what has not had its turn yet is waited for. */
bool od_runtime_wait_patiently(bool (*condition)(const void *arg), const void *arg)
{
    od_fair fair;
    uint64_t left_ns = OD_PATIENCE_S * OD_NS_PER_S;
    od_fair_begin(&fair, 0, false);
    while (!condition(arg) && left_ns) {
        uint64_t end_ns = od_clock_ns() + OD_NS_PER_S;
        while (!condition(arg) && od_condition_wait_until(&od_runtime.changed, &od_runtime.lock, end_ns))
            continue;
        uint64_t lap_ns = od_fair_lap(&fair);
        left_ns -= lap_ns < left_ns ? lap_ns : left_ns;
    }
    return condition(arg);
}
