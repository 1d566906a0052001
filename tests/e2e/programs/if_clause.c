/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * if(0) on target, target nowait and target data: that instance runs on the host, with the values that device
 * instances before it left, and those after it see what it wrote.
 *
 * memory: 16Ki
 */
#include "check.h"

#include <omp.h>

enum { STEPS = 12 };

static void synchronous(double *x)
{
    for (int step = 0; step < STEPS; step++) {
        int on_host = -1;
#pragma omp target if (step % 3 != 1) map(tofrom : x[0 : TILE]) map(from : on_host)
        {
            on_host = omp_is_initial_device();
            for (int i = 0; i < TILE; i++)
                x[i] = 2 * x[i] + step;
        }
        CHECK(on_host == (step % 3 == 1));
    }
}

static void tasks(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < STEPS; step++) {
#pragma omp target nowait if (step % 3 != 1) depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] = 2 * x[i] + step;
#pragma omp target nowait if (0) depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0);
    double expected_x = 0, expected_y = 0;
    for (int step = 0; step < STEPS; step++) {
        expected_x = 2 * expected_x + step;
        expected_y = 2 * expected_y + step + 1;
    }
#pragma omp target data if (0) map(tofrom : x[0 : TILE])
    synchronous(x);
    tasks(y);
    CHECK(all_are(x, TILE, expected_x));
    CHECK(all_are(y, TILE, expected_y));
    free(x);
    free(y);
    return check_result();
}
