/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See early.h. */
#include "omp_ext/slices/early.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/runtime.h"
#include "util/clock.h"

#include <pthread.h>

/* Under the runtime's lock. */
static od_group *unwaited;       /* the launch that the program has not waited for */
static bool settled = true;      /* there is none, and no thread has taken it to wait for it */
static atomic_bool is_under_way; /* likewise, for those without the lock */

bool od_early_may(const od_slicing *s)
{
    if (!od_runtime_options()->slice.early)
        return false;
    (void)od_runtime_lock();
    bool is_steady = od_slicing_is_steady(s);
    od_runtime_unlock();
    return is_steady;
}

static void set_settled(bool is)
{
    atomic_store(&is_under_way, !is);
    if (is)
        od_runtime_set_flag(&settled);
    else
        settled = false;
}

void od_early_settle(void)
{
    if (!atomic_load_explicit(&is_under_way, memory_order_acquire) || od_self.kernels)
        return;
    (void)od_runtime_lock();
    od_runtime_wait(&settled);
    od_runtime_unlock();
}

/* Another thread may have taken it. */
od_group *od_early_take(void)
{
    if (!atomic_load_explicit(&is_under_way, memory_order_acquire))
        return NULL;
    (void)od_runtime_lock();
    if (!unwaited)
        od_runtime_wait(&settled);
    od_group *g = unwaited;
    unwaited = NULL;
    if (g) {
        g->unwaited = false;
        od_group_record_wait(g);
    }
    od_runtime_unlock();
    return g;
}

void od_early_note_ended(od_group *g)
{
    od_runtime_set_flag(&od_order_progress);
    if (g->left)
        return;
    g->end_ns = od_clock_ns();
    od_runtime_set_flag(&g->done);
    if (!g->unwaited)
        return;
    unwaited = NULL;
    od_group_record_wait(g);
    od_group_end(g);
    set_settled(true);
}

/* --- which slices may begin ---------------------------------------------------------- */

/* Each on a device; as far as is known they use what they did before. */
static bool have_begun_as_before(const od_group *before)
{
    bool have = od_slicing_is_steady(before->slicing) && !before->surprises;
    for (unsigned j = 0; j < before->parts.count && have; j++) {
        int place = before->of[j].turn.place;
        have = place >= 0 && place < (int)od_runtime_ndevices();
    }
    return have;
}

/* One that has not ended runs on another device, and uses other data. */
static bool may_begin(const od_group *g, unsigned i, const od_group *before)
{
    bool may = before->of[i].ended;
    for (unsigned j = 0; j < before->parts.count && may; j++)
        may = before->of[j].ended ||
              (before->of[j].turn.place != before->of[i].turn.place && !od_group_excludes(g, i, before, j));
    return may;
}

/* Slices stay where they are: those that cannot begin yet would go to devices that have nothing to do just now. */
static void stay(od_group *g, const od_group *before)
{
    for (unsigned i = 0; i < g->parts.count; i++)
        g->of[i].device = before->of[i].turn.place;
}

/* True: there are some. `before` NULL: all that are left. */
static bool submit(od_engine *engine, od_group *g, const od_group *before)
{
    bool some = false;
    od_engine_hold(engine); /* each device is asked when all are there */
    for (unsigned i = 0; i < g->parts.count; i++)
        if (!g->of[i].submitted && (!before || may_begin(g, i, before))) {
            od_group_submit(engine, g, i);
            some = true;
        }
    od_engine_resume(engine);
    return some;
}

/* --- launches --------------------------------------------------------------------------- */

/* Slices of `g` begin as those of `before` end. */
static void follow(od_engine *engine, od_group *g, od_group *before)
{
    bool alike = g->parts.count == before->parts.count, opened = false;
    while (!before->done) {
        od_order_progress = false;
        bool may = alike && have_begun_as_before(before);
        opened = opened || (may && od_order_open(before->launch));
        if (may && opened) {
            stay(g, before);
            g->early |= submit(engine, g, before);
        }
        od_runtime_wait(&od_order_progress);
    }
    od_order_close();
    od_group_end(before);
}

/* A child process has no threads that would end it. */
static void settle_before_forks(void)
{
    pthread_atfork(od_early_settle, NULL, NULL);
}

static void leave(od_group *g)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, settle_before_forks);
    bool goes_on = !g->done;
    unwaited = goes_on ? g : NULL;
    g->unwaited = goes_on;
    set_settled(!goes_on);
    if (goes_on)
        return;
    od_group_record_wait(g);
    od_group_end(g);
}

void od_early_run(od_group *g, od_group *before, bool overlaps)
{
    od_engine *engine = overlaps || before ? od_runtime_lock() : od_runtime_lock_to_wait(&g->done);
    od_slices_begin();
    if (before)
        follow(engine, g, before);
    submit(engine, g, NULL);
    if (overlaps) {
        leave(g);
    } else {
        if (before)
            set_settled(true);
        od_runtime_wait(&g->done);
        od_group_record_wait(g);
        od_group_end(g);
    }
    od_runtime_unlock();
}
