/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See activity.h. */
#include "omp_ext/process/activity.h"

#include "util/log.h"
#include "util/thread.h"

#include <pthread.h>
#include <unistd.h>

atomic_bool od_runtime_watches;
od_process od_process_self = {.activity = OD_OFF};
_Thread_local unsigned od_own_inside;
_Thread_local bool od_ends_process;
static _Thread_local int cancellation __attribute__((tls_model("initial-exec"))); /* before it went inside */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static od_activity current(void)
{
    if (atomic_load_explicit(&od_process_self.activity, memory_order_acquire) == OD_FORKED)
        od_process_self.revive();
    return (od_activity)atomic_load_explicit(&od_process_self.activity, memory_order_acquire);
}

/* A thread that is cancelled (pthread_cancel) finishes its construct first. */
static void start(void)
{
    int before = od_thread_defer_cancellation();
    od_process_self.start();
    od_thread_admit_cancellation(before);
}

bool od_runtime_active(void)
{
    od_activity now = current();
    if (now == OD_UNSTARTED) {
        pthread_once(&once, start);
        now = current();
    }
    return now == OD_ON;
}

bool od_runtime_started(void)
{
    return current() == OD_ON;
}

void od_runtime_switch_off(const char *why)
{
    od_log(OD_LOG_INFO, "runtime", "%s: ompdarts is off", why);
    atomic_store(&od_process_self.activity, OD_OFF);
}

static atomic_bool has_images;

void od_runtime_has_images(void)
{
    atomic_store(&has_images, true);
}

bool od_runtime_offloads(void)
{
    return atomic_load_explicit(&has_images, memory_order_relaxed) &&
           /* OD_ENDED, too: tasks must still be known */
           atomic_load_explicit(&od_process_self.activity, memory_order_acquire) != OD_OFF;
}

bool od_runtime_ending(void)
{
    return atomic_load_explicit(&od_process_self.ending, memory_order_acquire);
}

bool od_runtime_drops_tasks(void)
{
    return od_runtime_ending() && current() != OD_ON;
}

bool od_runtime_was_left_inside(void)
{
    return od_process_self.left_inside;
}

bool od_runtime_ended(void)
{
    return atomic_load_explicit(&od_process_self.activity, memory_order_acquire) == OD_ENDED;
}

void od_runtime_settle_if_ended(void)
{
    bool late = atomic_load(&od_process_self.activity) == OD_ENDED && od_runtime_ending() && !od_ends_process;
    while (late)
        pause();
}

void od_runtime_enter_libomptarget(void)
{
    atomic_fetch_add(&od_process_self.inside, 1);
    if (atomic_load(&od_process_self.activity) == OD_ENDED && od_runtime_ending() && !od_ends_process) {
        atomic_fetch_sub(&od_process_self.inside, 1);
        od_runtime_settle_if_ended();
    }
    if (!od_own_inside++)
        cancellation = od_thread_defer_cancellation();
}

void od_runtime_leave_libomptarget(void)
{
    atomic_fetch_sub(&od_process_self.inside, 1);
    if (!--od_own_inside)
        od_thread_admit_cancellation(cancellation);
}
