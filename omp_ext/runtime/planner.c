/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The thread that plans. See planner.h. */
#include "omp_ext/runtime/planner.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/memory.h"
#include "util/thread.h"

#include <stdlib.h>

struct od_planner {
    od_lock *lock;
    pthread_cond_t wake;
    void (*done)(od_background *job);
    od_background *running, *first, **last;
    bool started;
};

static void *plan(void *arg)
{
    od_planner *planner = arg;
    od_lock_take(planner->lock);
    for (;;) {
        while (!planner->first)
            pthread_cond_wait(&planner->wake, &planner->lock->mutex);
        od_background *job = planner->first;
        planner->first = job->next;
        if (!planner->first)
            planner->last = &planner->first;
        planner->running = job;
        od_lock_give(planner->lock);
        uint64_t start_ns = od_clock_ns();
        job->run(job);
        double seconds = (double)(od_clock_ns() - start_ns) * 1e-9;
        od_lock_take(planner->lock);
        planner->running = NULL;
        od_lock_give(planner->lock);
        job->seconds = seconds;
        planner->done(job);
        od_lock_take(planner->lock);
    }
    return NULL;
}

od_planner *od_planner_create(od_lock *lock, void (*done)(od_background *job))
{
    od_planner *planner = od_calloc(1, sizeof *planner);
    if (!planner)
        return NULL;
    pthread_cond_init(&planner->wake, NULL);
    planner->lock = lock;
    planner->done = done;
    planner->last = &planner->first;
    return planner;
}

void od_planner_abandon(od_planner *planner)
{
    free(planner);
}

bool od_planner_submit(od_planner *planner, od_background *job)
{
    planner->started = planner->started || od_thread_start(NULL, "od-planner", plan, planner) == OD_OK;
    if (!planner->started)
        return false;
    if (planner->running)
        atomic_store(&planner->running->hurry, true);
    for (od_background *before = planner->first; before; before = before->next)
        atomic_store(&before->hurry, true);
    job->next = NULL;
    *planner->last = job;
    planner->last = &job->next;
    pthread_cond_signal(&planner->wake);
    return true;
}
