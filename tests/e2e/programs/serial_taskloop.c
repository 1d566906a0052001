/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A taskloop with target tasks inside an explicit task, in a team of one thread: libomp counts neither the loop's tasks
 * in the explicit one nor, then, their children out of it. And one that fulfils the event of a task that is under way, as
 * a parallel region may.
 *
 * memory: 32Ki
 */
/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#include "check.h"

#include <omp.h>

enum { COUNT = 4, ROUNDS = 6 };

/* It begins while target tasks are under way, of the same task. */
static void beside_target_tasks(double *x)
{
    int touched[COUNT] = {0};
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
#pragma omp taskloop grainsize(1) shared(touched)
    for (int t = 0; t < COUNT; t++)
        touched[t]++;
#pragma omp taskwait
    CHECK(all_are(x, COUNT * TILE, 1));
    for (int t = 0; t < COUNT; t++)
        CHECK(touched[t] == 1);
}

static void fulfils_an_event(double *x)
{
    enum { LENGTH = 64 };
    int sum = 0;
    omp_event_handle_t event = 0;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task detach(event) shared(sum)
    sum += 100;
#pragma omp taskloop grainsize(4) shared(sum)
    for (int i = 0; i < LENGTH; i++) {
        if (i == LENGTH / 2)
            omp_fulfill_event(event);
        sum++;
    }
#pragma omp taskwait
    CHECK(sum == 100 + LENGTH && all_are(x, TILE, 1));
}

static void fulfilled_in_a_region(double *x, int threads)
{
    int sum = 0, after = 0;
    omp_event_handle_t event = 0;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task detach(event) depend(out : sum) depend(inout : x[0]) shared(sum)
    sum += 100;
#pragma omp task depend(in : sum) shared(sum, after)
    after = sum;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp parallel num_threads(threads)
#pragma omp single
    omp_fulfill_event(event);
#pragma omp taskwait
    CHECK(after == 100);
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
    beside_target_tasks(x);
#pragma omp task
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskloop grainsize(1)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += 3;
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, COUNT * TILE, 1 + 3 * ROUNDS));
    double *y = make_tiles(1, 0);
    fulfils_an_event(y);
    for (int threads = 1; threads <= 2; threads++) {
        fulfilled_in_a_region(y, threads);
#pragma omp parallel num_threads(1)
        fulfilled_in_a_region(y, threads);
    }
    CHECK(all_are(y, TILE, 1 + 8));
    free(x);
    free(y);
    return check_result();
}
