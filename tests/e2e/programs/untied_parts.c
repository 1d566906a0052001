/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Untied tasks, which run in parts: what a later part waits for are the task's own children, not those of the task on
 * which libomp has put it, which may wait for it.
 *
 * memory: 32Ki
 */
#include "check.h"

enum { COUNT = 4 };
static const int rounds = 4;

static void create(double *x, double *y)
{
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x [0:TILE])
    x[0] += 1;
#pragma omp task untied depend(inout : x[0]) firstprivate(x, y)
    {
#pragma omp taskwait depend(in : y[0])
#pragma omp target enter data map(to : y [0:TILE])
#pragma omp taskwait
#pragma omp target map(tofrom : y [0:TILE])
        y[0] += 1;
#pragma omp target exit data map(from : y [0:TILE])
#pragma omp taskwait
        x[0] *= 2;
    }
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x [0:TILE])
    x[0] += 1;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup
        for (int t = 0; t < COUNT; t++)
            create(x + t * TILE, y + t * TILE);
    }
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] == 45); /* 3 = (0 + 1) * 2 + 1, 9, 21, 45 */
        CHECK(y[t * TILE] == rounds);
    }
    free(x);
    free(y);
    return check_result();
}
