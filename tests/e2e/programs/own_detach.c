/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program's own detachable host tasks, and undeferred, final and untied ones, among target tasks on the same tiles.
 * Events are fulfilled by the task itself, by a task beside it, in a final task as well, and, with the argument
 * `elsewhere`, by a thread that is none of OpenMP's, for a team of one thread; libomp alone aborts at that now and
 * then. With `alone` the program ends right after such a task, and nothing has been offloaded.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 8 };
static const int rounds = 20;

static void create(double *x)
{
    omp_event_handle_t event = 0;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task detach(event) depend(inout : x[0 : TILE])
    {
        x[0] += 1;
        omp_fulfill_event(event);
    }
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
#pragma omp task final(1) depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp task untied depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
#pragma omp task if (0) depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp task depend(mutexinoutset : x[0])
    x[0] += 1;
#pragma omp task depend(mutexinoutset : x[0])
    x[0] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
}

typedef struct fulfiller {
    omp_event_handle_t event;
    useconds_t after;
} fulfiller;

static void *fulfil(void *arg)
{
    const fulfiller *f = arg;
    usleep(f->after);
    omp_fulfill_event(f->event);
    return NULL;
}

/* Before the thread that has created the task waits, or while it does. */
static void by_another_thread(double *x)
{
    for (int round = 0; round < rounds; round++) {
        fulfiller f = {.after = round % 2 ? 3000 : 0};
        omp_event_handle_t event = 0;
        pthread_t thread;
#pragma omp task detach(event) depend(out : x[0])
        x[0] += 1;
        f.event = event;
        pthread_create(&thread, NULL, fulfil, &f);
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        x[1] += x[0];
        usleep(1000);
#pragma omp taskwait
        pthread_join(thread, NULL);
    }
    CHECK(x[0] == rounds && x[1] == rounds * (rounds + 1) / 2);
}

/* In tasks that threads run while they wait at a barrier. */
static void by_a_sibling(double *x)
{
#pragma omp parallel num_threads(4)
#pragma omp master
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp task firstprivate(tile) depend(out : tile[0])
        {
            omp_event_handle_t event = 0;
#pragma omp target nowait depend(inout : tile[1]) map(tofrom : tile[1 : 1])
            tile[1] += 1;
#pragma omp task detach(event)
            tile[0] += 1;
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
#pragma omp taskwait
            tile[0] *= 2;
        }
    }
}

/* In a team of one thread, in a final task that waits for a kernel: the waiting thread runs it when it tells of the
 * kernel's end. */
static void in_final_task(double *x)
{
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    x[1] += 1;
#pragma omp task final(1) depend(inout : x[0 : TILE])
    {
        omp_event_handle_t event = 0;
#pragma omp task detach(event)
        x[2] += 1;
#pragma omp task depend(inout : x[0 : TILE]) firstprivate(event)
        {
            x[3] += 1;
            omp_fulfill_event(event);
        }
    }
#pragma omp taskwait
    CHECK(x[1] == 1 && x[2] == 1 && x[3] == 1);
    x[1] = x[2] = x[3] = 0;
}

static void by_itself(double *x)
{
    omp_event_handle_t event = 0;
#pragma omp task detach(event) shared(x)
    {
        x[0] += 1;
        omp_fulfill_event(event);
    }
    CHECK(x[0] == 1); /* in a team of one, tasks run where they are created */
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "elsewhere") == 0) {
        by_another_thread(make_tiles(COUNT, 0));
        return check_result();
    }
    if (argc > 1 && strcmp(argv[1], "alone") == 0) {
        by_itself(make_tiles(COUNT, 0));
        return check_result();
    }
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
    in_final_task(x);
    for (int round = 0; round < rounds; round++)
        by_a_sibling(y);
    for (int t = 0; t < COUNT; t++)
        CHECK(y[t * TILE] == 2 * ((1 << rounds) - 1) && y[t * TILE + 1] == rounds);
    free(y);
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++)
        create(x + t * TILE);
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] == 30); /* ((1 + 1) * 2 + 2) * 2 + 3, twice */
        CHECK(all_are(x + t * TILE + 1, TILE - 1, 8));
    }
    free(x);
    return check_result();
}
