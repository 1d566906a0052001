/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Regions of one thread inside others, while target tasks with dependences of the outer region are under way: waits in
 * the inner region end. (libomp counts the tasks of both together.)
 *
 * memory: 32Ki
 */
#include "check.h"

enum { STEPS = 4 };

static void start_chain(double *x)
{
    for (int step = 0; step < STEPS; step++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0);
    for (int round = 1; round <= 5; round++) {
#pragma omp parallel num_threads(1)
        {
            start_chain(x);
#pragma omp parallel num_threads(1)
            {
                start_chain(y);
#pragma omp barrier
                CHECK(all_are(y, TILE, round * (2 * STEPS + 1) - STEPS - 1));
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : TILE])
                for (int i = 0; i < TILE; i++)
                    y[i] += 1;
#pragma omp taskwait depend(in : y[0])
            }
            start_chain(x);
#pragma omp parallel if (round < 0)
            {
                start_chain(y);
#pragma omp taskwait
            }
        }
        CHECK(all_are(x, TILE, round * 2 * STEPS));
        CHECK(all_are(y, TILE, round * (2 * STEPS + 1)));
    }
    free(x);
    free(y);
    return check_result();
}
