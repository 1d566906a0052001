/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * In a team of one thread, a task that has created a target task with a depend clause runs a league of teams while that
 * one is under way: on a device, on the host, or with a limit of threads, which is none of the task's afterwards.
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 10, STEPS = 5000 }; /* some milliseconds each */

static void on_device(double *x)
{
#pragma omp target teams distribute parallel for map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void on_host(double *x)
{
#pragma omp target teams distribute if (0) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void limited(double *x)
{
    int limit = omp_get_thread_limit();
#pragma omp target teams distribute thread_limit(2) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(omp_get_thread_limit() == limit);
}

static void beside_task(double *x, void (*league)(double *))
{
#pragma omp parallel num_threads(1)
#pragma omp task
    {
#pragma omp target nowait depend(out : x[0]) map(tofrom : x[0 : TILE])
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        league(x + TILE);
#pragma omp taskwait
    }
}

int main(void)
{
    double *x = make_tiles(2, 0);
    for (int round = 0; round < ROUNDS; round++) {
        beside_task(x, on_device);
        beside_task(x, on_host);
        beside_task(x, limited);
    }
    CHECK(all_are(x, TILE, 3 * ROUNDS * STEPS));
    CHECK(all_are(x + TILE, TILE, 3 * ROUNDS));
    free(x);
    return check_result();
}
