/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A task that runs inside of a barrier creates one with a detach clause, and target tasks, and ends before these: the
 * barrier waits for all of them. Libomp alone waits for neither, and crashes.
 *
 * run: OMP_NUM_THREADS=3
 * run: OMP_CANCELLATION=true
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static int x[4], y[4];

typedef union box {
    omp_event_handle_t event;
    void *pointer;
} box;

static void *fulfil(void *event)
{
    usleep(5000);
    omp_fulfill_event((box){.pointer = event}.event);
    return NULL;
}

static void fulfil_later(omp_event_handle_t event)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fulfil, (box){.event = event}.pointer) || pthread_detach(thread))
        abort();
}

/* A task that waits for the event, and a target task behind it. */
static omp_event_handle_t create_chain(void)
{
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(inout : x)
    x[0] = 5;
#pragma omp target nowait depend(inout : x) map(tofrom : x)
    x[0] = x[0] * 3 + 1;
    return event;
}

static void leave(void)
{
    omp_event_handle_t event = create_chain();
#pragma omp target nowait map(tofrom : y) depend(inout : y) /* ends first */
    y[0]++;
    fulfil_later(event);
}

static void leave_on_event(void)
{
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event)
    x[0] = 16;
#pragma omp target nowait map(tofrom : y)
    y[0]++;
    fulfil_later(event);
}

static omp_event_handle_t left;

static void leave_for_later(void)
{
    left = create_chain();
}

/* In larger teams, threads wait for each other in a reduction, which is none of the program's barriers. */
static void reduce(void)
{
    int sum = 0;
#pragma omp parallel num_threads(6)
    {
#pragma omp masked
        {
#pragma omp task
            leave_for_later();
#pragma omp taskwait
        }
#pragma omp for reduction(+ : sum) nowait
        for (int i = 0; i < 60; i++)
            sum += i;
#pragma omp masked
        omp_fulfill_event(left);
    }
    CHECK(x[0] == 16 && sum == 1770);
}

static void leave_late(void)
{
    usleep(2000);
#pragma omp task
    leave();
}

static void stay(void)
{
    usleep(2000);
#pragma omp task
    {
        usleep(1000);
        leave();
    }
    usleep(4000);
}

typedef enum shape { TIED, UNTIED, UNDEFERRED, ALONE, EVENT_ALONE, STAYS, GROUPED, SHAPES } shape;

static void create(shape s)
{
    switch (s) {
    case TIED:
#pragma omp task
        leave_late();
        break;
    case UNTIED:
#pragma omp task untied
    {
        usleep(2000);
#pragma omp task
        leave();
    }
    break;
    case UNDEFERRED:
#pragma omp task untied
    {
        usleep(2000);
#pragma omp task if (0)
        leave_late();
    }
    break;
    case ALONE:
#pragma omp task
        leave();
        break;
    case EVENT_ALONE:
#pragma omp task
        leave_on_event();
        break;
    case STAYS:
#pragma omp task
        stay();
        break;
    case GROUPED:
#pragma omp task
    {
#pragma omp taskgroup
        leave_late();
#pragma omp task
        usleep(1000);
    }
    break;
    default:
        break;
    }
}

static void run(void)
{
    for (shape s = TIED; s < SHAPES; s++) {
        x[0] = y[0] = 0;
#pragma omp parallel num_threads(2)
        {
#pragma omp masked
            create(s);
#pragma omp barrier
            if (x[0] != 16 || y[0] != 1)
                printf("shape %d: %d %d\n", (int)s, x[0], y[0]);
            CHECK(x[0] == 16 && y[0] == 1);
        }
    }
    for (int i = 0; i < 5; i++)
        reduce();
}

/* It does not end: libomp's threads would still know it as the owner of memory that they have given back. */
static void *run_there(void *done)
{
    run();
    sem_post(done);
    pause();
    return NULL;
}

int main(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    for (int i = 0; preloaded && *preloaded && i < 5; i++) {
        pthread_t thread;
        sem_t done;
        run();
        if (sem_init(&done, 0, 0) || pthread_create(&thread, NULL, run_there, &done) || sem_wait(&done))
            abort();
    }
    return check_result();
}
