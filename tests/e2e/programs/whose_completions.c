/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Who passes completions on, and when. What they release may run on that thread: descendants of the task that waits,
 * nothing at all where a region begins in a critical section, and everything at barriers.
 *
 * variants: group_in_barrier alone_waits alone_yields region_in_critical kept
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int begun, flag;

static void compute(double *x)
{
    for (int i = 0; i < 30 * 1000 * 1000; i++)
        x[1] = x[1] * 0.5 + 1;
    x[0] = 1;
}
#pragma omp declare target to(compute)

/* B leaves E behind, whose event F fulfils: for that nobody looks but this taskgroup, in the barrier of the region. */
static void group(void)
{
    int k;
    omp_event_handle_t event;
#pragma omp taskgroup
    {
#pragma omp task shared(event) depend(out : k) /* B */
        {
            omp_event_handle_t own;
#pragma omp task detach(own) /* E */
            ;
            event = own;
        }
#pragma omp task shared(event) depend(in : k) /* F */
        omp_fulfill_event(event);
    }
}

static void group_in_barrier(void)
{
    double x[2] = {0};
#pragma omp target map(tofrom : x)
    x[0] = 1;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp task /* on the other thread, in the barrier */
        {
            begun = 1;
            usleep(50000);
        }
        while (!begun)
            usleep(100);
#pragma omp task
        {
            usleep(150000);
            group();
        }
    }
    CHECK(x[0] == 1);
}

static int of_thread;
#pragma omp threadprivate(of_thread)

/* The task that waits has no children; what the kernel releases is no part of it. */
static void alone(bool waits)
{
    double x[2] = {0};
    int seen = 0;
#pragma omp target nowait map(tofrom : x) depend(out : x)
    compute(x);
#pragma omp task depend(in : x)
    of_thread = 2;
#pragma omp task shared(seen)
    {
        of_thread = 1;
        usleep(300000);
        if (waits) {
#pragma omp taskwait
        } else {
#pragma omp taskyield
        }
        seen = of_thread;
    }
#pragma omp taskwait
    CHECK(seen == 1);
    CHECK(x[0] == 1);
}

static void region_in_critical(void)
{
    double x[2] = {0}, y = 0;
#pragma omp parallel num_threads(1)
    {
#pragma omp target nowait map(tofrom : x) depend(out : x)
        compute(x);
#pragma omp task depend(in : x) shared(x, y)
#pragma omp critical
        y += x[0];
#pragma omp critical
        {
#pragma omp parallel num_threads(2)
#pragma omp atomic
            y += 10;
        }
    }
    CHECK(y == 21);
}

/* A completion that only this thread may pass on keeps nobody else from tasks. */
static void *on_a_thread(void *arg)
{
    double x[2] = {0};
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 0) {
#pragma omp target nowait map(tofrom : x) depend(out : x)
        compute(x);
        for (int i = 0; i < 60; i++)
#pragma omp task
        {
            usleep(10000);
            flag += 1;
        }
        while (flag < 60)
            usleep(100);
    }
    CHECK(x[0] == 1);
    return arg;
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "alone_waits";
    pthread_t thread;
    if (!strcmp(variant, "group_in_barrier")) {
        group_in_barrier();
    } else if (!strcmp(variant, "region_in_critical")) {
        region_in_critical();
    } else if (!strcmp(variant, "kept")) {
        pthread_create(&thread, NULL, on_a_thread, NULL);
        pthread_join(thread, NULL);
    } else {
        alone(!strcmp(variant, "alone_waits"));
    }
    return check_result();
}
