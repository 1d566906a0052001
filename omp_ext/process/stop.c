/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The end of the process. When it begins to end (a handler of exit()) what is under way is awaited, and from then on
 * nothing is left to other threads; constructs in destructors of static objects and in other exit handlers are still
 * carried out. All ends with the last of the program's device images, before that is unloaded. A signal that ends the
 * process leaves the figures.
 */
#define _GNU_SOURCE
#include "omp_ext/runtime/internal.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/libomp/teams/pool.h"
#include "omp_ext/libomp/thread.h"
#include "omp_ext/process/signals/interrupt.h"
#include "omp_ext/remote/remote.h"
#include "omp_ext/services/profile.h"
#include "omp_ext/services/progress.h"
#include "omp_ext/services/services.h"
#include "util/clock.h"
#include "util/fair.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool figures_are_given;

static bool is_idle(const void *arg)
{
    (void)arg;
    return od_engine_is_idle(od_runtime.engine);
}

/* Only what the calling thread itself is inside of is still being carried out. */
static bool is_quiet(const void *arg)
{
    (void)arg;
    return od_runtime.busy <= od_own_jobs;
}

typedef struct job_filter {
    bool (*is)(const od_job *job, const void *arg);
    const void *arg;
} job_filter;

static bool none_is_live(const void *filter)
{
    const job_filter *f = filter;
    od_list_each(node, &od_runtime.live) {
        if (f->is(od_container_of(node, od_job, live), f->arg))
            return false;
    }
    return true;
}

void od_runtime_await_jobs(bool (*is)(const od_job *job, const void *arg), const void *arg)
{
    if (atomic_load_explicit(&od_process_self.activity, memory_order_acquire) != OD_ON)
        return;
    od_lock_take(&od_runtime.lock);
    od_runtime.onlookers++;
    od_runtime_wait_patiently(none_is_live, &(job_filter){is, arg});
    od_runtime.onlookers--;
    od_lock_give(&od_runtime.lock);
}

/* Under the lock, which is given away meanwhile. */
static void await_count(const atomic_uint *count, unsigned own)
{
    enum { NAP_NS = 20000 };
    uint64_t limit_ns = od_clock_ns() + OD_PATIENCE_S * OD_NS_PER_S;
    while (atomic_load(count) > own && od_clock_ns() < limit_ns) {
        od_lock_give(&od_runtime.lock);
        od_thread_nap(NAP_NS);
        od_lock_take(&od_runtime.lock);
    }
}

/* The tasks of libomp's whose completion a thread of ours is in the middle of: a program that has waited for a task may
 * end while the thread that has completed it is still at it. */
static void await_reports(void)
{
    await_count(&od_runtime.reporting, 0);
}

/* libomp ends, too, and runs and awaits what tasks it still has: those that will not run any more are complete. Under
 * the lock, which is gone at the end; what ends later is not reported to libomp, which is no longer there. */
static void abandon_jobs(void)
{
    size_t n = 0;
    od_runtime.abandoned = true;
    od_detached *tasks = od_malloc((od_runtime.live.count + 1) * sizeof *tasks);
    od_list_each(node, &od_runtime.live) {
        if (tasks)
            tasks[n++] = od_container_of(node, od_job, live)->detached;
    }
    od_lock_give(&od_runtime.lock);
    for (size_t i = 0; i < n; i++)
        od_detached_report((od_detached){.event = tasks[i].event, .task = tasks[i].task, .team = tasks[i].team});
    free(tasks);
    od_team_abandon_all();
}

static void say_who_ran_tasks(void)
{
    const od_libomp_counts *n = &od_libomp_counted;
    od_log(OD_LOG_INFO, "libomp",
           "%llu target tasks handed over by libomp, %llu made detachable; %llu waits for tasks before libomp's, %llu "
           "for threads, %llu completions left with a team; of host tasks with depend %llu recorded, %llu left to "
           "libomp; %llu tasks of lone threads left uncounted; of launches and data constructs %llu asked about, %llu "
           "intercepted",
           atomic_load(&n->claimed), atomic_load(&n->detached), atomic_load(&n->waits), atomic_load(&n->gathers),
           atomic_load(&n->posted), atomic_load(&n->recorded), atomic_load(&n->unrecorded), atomic_load(&n->uncounted),
           atomic_load(&n->asked), atomic_load(&n->intercepted));
}

/* Other threads may be in the middle of anything: nothing is torn down, the process ends with its threads. */
static void stop(int status)
{
    od_ends_process = true;
    if (getpid() != od_runtime.process || atomic_exchange(&od_process_self.activity, OD_ENDED) != OD_ON)
        return;
    od_lock_take(&od_runtime.lock);
    od_runtime.onlookers++;
    od_runtime.stopping = true;
    od_runtime_wait_patiently(is_quiet, NULL);
    await_count(&od_process_self.inside, od_own_inside);
    od_transfer_queues_halt(od_runtime.transfers);
    od_run run = od_runtime_run();
    od_services_stop(&run);
    atomic_store(&figures_are_given, true);
    say_who_ran_tasks();
    if (od_own_jobs) { /* libomp cannot be ended from a thread unknown to it while a team is active */
        fflush(NULL);
        _exit(status);
    }
    await_reports();
    od_workers_end(od_runtime.workers, OD_PATIENCE_S);
    od_remote_end();
    abandon_jobs();
    od_images_free();
}

/* A program may end with unawaited tasks, or from inside one: they get a moment. Once nothing is under way, the library
 * stays usable as long as the program may need it. */
void od_runtime_begin_to_end(int status, void *arg)
{
    bool idle;
    (void)arg;
    if (getpid() != od_runtime.process)
        return;
    if (atomic_load(&od_process_self.activity) == OD_UNSTARTED)
        od_team_abandon_all(); /* of the program's own detached tasks, for which libomp waits when it ends */
    if (atomic_load(&od_process_self.activity) != OD_ON || atomic_exchange(&od_process_self.ending, true))
        return;
    od_lock_take(&od_runtime.lock);
    od_runtime.onlookers++;
    idle = !od_own_jobs && od_self.mode == OD_PLAIN && od_runtime_wait_patiently(is_idle, NULL);
    od_runtime.onlookers--;
    if (idle) {
        await_reports();
        od_workers_end(od_runtime.workers, OD_PATIENCE_S);
    }
    od_lock_give(&od_runtime.lock);
    if (!idle && (od_own_jobs || od_self.mode != OD_PLAIN))
        stop(status);
    if (!idle) /* other threads are at it, for which what comes later may wait: the last image is the end */
        return;
    od_runtime_synchronise();
    od_profile_save(); /* while the names of kernels are known, also those of libraries that go first */
}

void od_runtime_last_image(void)
{
    if (atomic_load(&od_process_self.ending))
        stop(0);
}

/* The program could have offloaded, and there is no summary, nor are there files. */
static void say_why_in_vain(void)
{
    const od_options *o = &od_runtime.options;
    bool unstarted = od_runtime_offloads() && atomic_load(&od_process_self.activity) == OD_UNSTARTED;
    bool files = *o->stats.file || *o->trace || *o->record;
    if (unstarted && (o->stats.summary || files) && getpid() == od_runtime.process)
        fprintf(stderr, "ompdarts: %s: nothing was scheduled: no target region was reached%s\n",
                program_invocation_short_name, files ? "; no file was written" : "");
}

/* What a library's constructor registers for exit() is called after all destructors of libraries: it may have been
 * there that all started. Libraries that were there before ours have theirs called after this. */
__attribute__((destructor)) static void unload(void)
{
    say_why_in_vain();
    od_runtime_begin_to_end(0, NULL);
    if (!od_images_exist())
        stop(0);
}

/* A signal has arrived, and the process may be anywhere: only a moment is spent on the lock. */
static bool lock_for_signal(void)
{
    return od_lock_take_until(&od_runtime.lock, od_clock_ns() + OD_PATIENCE_S * OD_NS_PER_S);
}

void od_runtime_show_state(bool internals)
{
    if (!lock_for_signal()) {
        od_log(OD_LOG_WARNING, "runtime", "SIGUSR1: the scheduler did not respond");
        return;
    }
    od_engine_explain(od_runtime.engine, stderr);
    if (internals)
        od_engine_dump(od_runtime.engine, stderr);
    else
        fprintf(stderr, "  (again within %d s: the scheduler's internals)\n", OD_ASK_AGAIN_S);
    od_lock_give(&od_runtime.lock);
}

/* They are being written, and a file that is cut is of no use. */
static void await_figures(void)
{
    enum { NAP_NS = 5 * 1000 * 1000 };
    uint64_t limit_ns = od_clock_ns() + OD_REPORT_S * OD_NS_PER_S;
    while (!atomic_load(&figures_are_given) && od_clock_ns() < limit_ns)
        od_thread_nap(NAP_NS);
}

/* The lock is kept: constructs that the program's threads meet wait for the end of the process. Not one may be carried
 * out without us, on what the host has of data that are on devices. */
void od_runtime_report_interrupted(int signal)
{
    if (atomic_load(&od_process_self.activity) != OD_ON && !od_runtime_ended())
        return;
    od_progress_end();
    bool locked = lock_for_signal();
    if (od_runtime_ended()) { /* the process ends on its own, since when does not matter */
        if (locked)
            od_lock_give(&od_runtime.lock);
        await_figures();
        return;
    }
    if (!locked) {
        od_log(OD_LOG_WARNING, "runtime", "interrupted (%s): no statistics, the scheduler did not respond",
               strsignal(signal));
        return;
    }
    od_interrupt_is_under_way();
    od_log(OD_LOG_WARNING, "runtime", "interrupted (%s): statistics so far", strsignal(signal));
    od_transfer_queues_halt(od_runtime.transfers);
    od_run run = od_runtime_run();
    od_services_interrupt(&run);
}
