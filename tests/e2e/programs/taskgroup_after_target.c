/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The end of a taskgroup waits for a host task that comes after a target task from before the group.
 *
 * memory: 32Ki
 */
#include "check.h"

static const int rounds = 40;

static void kernel(double *x)
{
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x [0:TILE])
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < TILE; i++)
            x[i] += 0.01;
}

static void run(double *x, double *y)
{
    for (int round = 0; round < rounds; round++) {
        kernel(x);
#pragma omp taskgroup
        {
#pragma omp task depend(inout : x[0]) firstprivate(x, y)
            y[0] += x[0] > 0;
            if (round % 3 == 0)
                kernel(y + TILE);
#pragma omp task untied depend(inout : x[0]) firstprivate(x, y)
            y[1] += x[0] > 0;
        }
        CHECK((int)y[0] == round + 1 && (int)y[1] == round + 1);
    }
#pragma omp taskwait
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(2, 0);
    run(x, y);
    y[0] = y[1] = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    run(x, y);
    free(x);
    free(y);
    return check_result();
}
