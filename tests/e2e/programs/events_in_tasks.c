/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * An explicit task creates one with a detach clause, and target tasks behind it. The event is fulfilled inside a region
 * in the explicit task, by another thread, or when the explicit task has ended, also by a successor of that: taskwaits,
 * taskgroups and barriers pass on what it releases, also where libomp runs the explicit task in the barrier. Libomp alone
 * does so only in taskgroups of several threads.
 *
 * run: OMP_NUM_THREADS=3
 * run: OMP_CANCELLATION=true
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <unistd.h>

enum { BETWEEN = 1, AFTER = 2, WAIT = 4, UNDEFERRED = 8, NESTED = 16, GROUP = 32, ALL = 64 };
typedef enum how { IN_REGION, IN_TEAM, BY_THREAD, DURING_WAIT, IN_REGIONS, IN_TASK, NEXT_TASK, SUCCESSOR, AT_END, HOWS } how;

static int x[4], order;
static omp_event_handle_t event;

static void *fulfil(void *delayed)
{
    if (delayed)
        usleep(2000);
    omp_fulfill_event(event);
    return NULL;
}

static pthread_t start(void *delayed)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fulfil, delayed))
        abort();
    return thread;
}

static void release(how h)
{
    switch (h) {
    case IN_REGION:
#pragma omp parallel num_threads(1)
        omp_fulfill_event(event);
        break;
    case IN_TEAM:
#pragma omp parallel num_threads(2)
#pragma omp single
        omp_fulfill_event(event);
        break;
    case BY_THREAD:
        pthread_join(start(NULL), NULL);
        break;
    case IN_REGIONS:
#pragma omp parallel num_threads(1)
#pragma omp parallel num_threads(1)
        omp_fulfill_event(event);
        break;
    case IN_TASK:
#pragma omp parallel num_threads(1)
#pragma omp task
        omp_fulfill_event(event);
        break;
    case NEXT_TASK:
#pragma omp task
        omp_fulfill_event(event);
        break;
    default:
        break;
    }
}

static void work(how h, int kind)
{
    omp_event_handle_t own = (omp_event_handle_t)0;
    pthread_t thread = 0;
#pragma omp task detach(own) depend(inout : x)
    x[0] = 5;
    event = own;
    if (kind & BETWEEN) {
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        x[0] = x[0] * 3 + 1;
    }
    if (h == DURING_WAIT)
        thread = start(&thread);
    release(h);
    if (kind & AFTER) {
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        x[0] = x[0] * 5 + 2;
    }
    if ((kind & WAIT) && h < SUCCESSOR) {
#pragma omp taskwait
    }
    if (thread)
        pthread_join(thread, NULL);
}

static void task_of(how h, int kind)
{
#pragma omp task if (!(kind & UNDEFERRED)) depend(out : order)
    work(h, kind);
    if (h == SUCCESSOR)
#pragma omp task depend(in : order)
        omp_fulfill_event(event);
    if (h != AT_END)
        return;
    if (!(kind & UNDEFERRED)) {
#pragma omp taskwait
    }
    omp_fulfill_event(event);
}

static void nest(how h, int kind)
{
    if (kind & NESTED)
#pragma omp task
        task_of(h, kind);
    else
        task_of(h, kind);
}

static void shape(how h, int kind)
{
    if (kind & GROUP)
#pragma omp taskgroup
        nest(h, kind);
    else
        nest(h, kind);
}

static int wanted(int kind)
{
    int want = 5;
    want = kind & BETWEEN ? want * 3 + 1 : want;
    return kind & AFTER ? want * 5 + 2 : want;
}

static void check(int region, how h, int kind)
{
    int want = wanted(kind);
    if (x[0] != want)
        printf("in %d threads, fulfilled in way %d, kind %d: %d, not %d\n", region, (int)h, kind, x[0], want);
    CHECK(x[0] == want);
    x[0] = 0;
}

static void in_region(int nthreads, how h, int kind)
{
#pragma omp parallel num_threads(nthreads)
    {
#pragma omp single
        shape(h, kind);
        CHECK(x[0] == wanted(kind));
    }
    check(nthreads, h, kind);
}

static void all_of(how h)
{
    const char *preloaded = getenv("LD_PRELOAD");
    bool with_library = preloaded && *preloaded;
    for (int kind = with_library ? 0 : GROUP; kind < ALL; kind++) {
        in_region(2, h, kind);
        if (with_library)
            in_region(1, h, kind);
        if (with_library && (kind & GROUP)) { /* outside of regions only taskgroups wait for all */
            shape(h, kind);
            check(0, h, kind);
        }
    }
}

int main(void)
{
    for (how h = IN_REGION; h < HOWS; h++)
        all_of(h);
    return check_result();
}
