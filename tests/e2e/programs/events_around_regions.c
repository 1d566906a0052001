/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Regions of one thread inside each other, with a task around them whose event is fulfilled inside the innermost or
 * before it: to libomp all of these have one task, and nothing waits for an event that it keeps from being fulfilled.
 *
 * run: OMP_NUM_THREADS=1
 * run: OMP_NUM_THREADS=1 OMP_CANCELLATION=true
 */
#include "check.h"

#include <omp.h>

enum { INNER = 1, MIDDLE = 2, BARRIER = 4, IN_TASK = 8, TASKWAIT = 16, ITEM = 32, BEFORE = 64, ALL = 128 };

static void fulfil(omp_event_handle_t event, int kind)
{
    if (kind & IN_TASK)
#pragma omp task
        omp_fulfill_event(event);
    else
        omp_fulfill_event(event);
}

/* A task that waits for the event, and a target task behind it. */
static omp_event_handle_t expect(double *x)
{
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(out : x[4])
    x[4] = 3;
#pragma omp target nowait depend(inout : x[4]) map(tofrom : x[4 : 4])
    x[4] *= 7;
    return event;
}

static void innermost(omp_event_handle_t event, double *x, int kind)
{
#pragma omp parallel num_threads(1)
    {
        if (kind & INNER) {
#pragma omp target nowait depend(inout : x[1]) map(tofrom : x[1 : 1])
            x[1] += 1;
        }
        if (!(kind & BEFORE))
            fulfil(event, kind);
        if (kind & TASKWAIT) {
#pragma omp taskwait
        }
        if (kind & ITEM) {
#pragma omp taskwait depend(in : x[4])
            CHECK(x[4] == 21);
        }
    }
}

static void regions(double *x, int kind)
{
#pragma omp parallel num_threads(1)
    {
        omp_event_handle_t event = expect(x);
        if (kind & BEFORE)
            fulfil(event, kind);
#pragma omp parallel num_threads(1)
        {
            if (kind & MIDDLE) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 1])
                x[0] += 1;
            }
            if (kind & BARRIER) {
#pragma omp barrier
            }
            innermost(event, x, kind);
        }
    }
    CHECK(x[4] == 21);
}

/* A taskwait binds to its own region's task, which has no children. */
static void later(double *x)
{
#pragma omp parallel num_threads(1)
    {
        omp_event_handle_t event = expect(x);
#pragma omp parallel num_threads(1)
        {
#pragma omp taskwait
        }
        omp_fulfill_event(event);
    }
    CHECK(x[4] == 21);
}

/* The task around the region is an explicit one. */
static void in_task(double *x)
{
    double sum = 0;
#pragma omp parallel num_threads(1)
    {
#pragma omp target nowait depend(inout : x[2]) map(tofrom : x[2 : 1])
        x[2] += 1;
#pragma omp task shared(sum)
        for (int i = 0; i < 3; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) shared(sum)
            sum += 5;
#pragma omp parallel num_threads(2)
#pragma omp single
            omp_fulfill_event(event);
#pragma omp taskwait
        }
    }
    CHECK(x[2] == 1 && sum == 15);
}

int main(void)
{
    int inner = 0, middle = 0;
    double *x = make_tiles(1, 0);
    for (int kind = 0; kind < ALL; kind++) {
        if ((kind & BARRIER) && (kind & MIDDLE) && !(kind & BEFORE))
            continue; /* libomp's barrier waits for the event, too */
        inner += (kind & INNER) != 0;
        middle += (kind & MIDDLE) != 0;
        regions(x, kind);
    }
    CHECK(x[0] == middle && x[1] == inner);
    later(x);
    in_task(x);
    free(x);
    return check_result();
}
