/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A thread that has arrived at a barrier runs a task of another thread, which creates target tasks in order, of its own
 * task's task: nobody passes before they are complete.
 */
#include "check.h"

enum { ROUNDS = 60, CHAIN = 3 };

static void create_chain(double *x)
{
#pragma omp task untied depend(out : x[0])
    for (int step = 0; step < CHAIN; step++)
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp taskwait
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0);
    int right = 1;
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : TILE])
    for (int i = 0; i < TILE; i++)
        y[i] += 1;
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp parallel num_threads(2) shared(right)
        {
#pragma omp single
#pragma omp task depend(inout : x[0])
            create_chain(x);
#pragma omp single
            right &= all_are(x, TILE, round * CHAIN);
        }
    }
#pragma omp taskwait
    CHECK(right);
    CHECK(all_are(x, TILE, ROUNDS * CHAIN));
    CHECK(all_are(y, TILE, 1));
    free(x);
    free(y);
    return check_result();
}
