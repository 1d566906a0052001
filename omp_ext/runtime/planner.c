/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The thread that plans. See planner.h. */
#include "omp_ext/runtime/planner.h"

#include "util/clock.h"
#include "util/lock.h"
#include "util/thread.h"

#include <stdlib.h>

struct od_planner {
    od_lock *lock;
    pthread_cond_t wake;
    void (*done)(od_aside *aside);
    od_aside *first, **last;
    bool started;
};

static void *plan(void *arg)
{
    od_planner *planner = arg;
    od_lock_take(planner->lock);
    for (;;) {
        while (!planner->first)
            pthread_cond_wait(&planner->wake, &planner->lock->mutex);
        od_aside *aside = planner->first;
        planner->first = aside->next;
        if (!planner->first)
            planner->last = &planner->first;
        od_lock_give(planner->lock);
        uint64_t start_ns = od_clock_ns();
        aside->run(aside);
        aside->seconds = (double)(od_clock_ns() - start_ns) * 1e-9;
        planner->done(aside);
        od_lock_take(planner->lock);
    }
    return NULL;
}

od_planner *od_planner_create(od_lock *lock, void (*done)(od_aside *aside))
{
    od_planner *planner = calloc(1, sizeof *planner);
    if (!planner || od_condition_init(&planner->wake)) {
        free(planner);
        return NULL;
    }
    planner->lock = lock;
    planner->done = done;
    planner->last = &planner->first;
    return planner;
}

void od_planner_abandon(od_planner *planner)
{
    free(planner);
}

bool od_planner_submit(od_planner *planner, od_aside *aside)
{
    planner->started = planner->started || od_thread_start(NULL, "od-planner", plan, planner) == OD_OK;
    if (!planner->started)
        return false;
    aside->next = NULL;
    *planner->last = aside;
    planner->last = &aside->next;
    pthread_cond_signal(&planner->wake);
    return true;
}
