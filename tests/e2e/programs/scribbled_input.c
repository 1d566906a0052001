/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(to: x) beside depend(inout: x): the task may write to its device copy, which nobody is to see afterwards, also
 * where the task before it has left the newest contents of x on that device.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { ROUNDS = 6 };

/* With omp_all_memory the data need not be named. Sections come and go, each time anew. */
static void with_all_memory(double *x, double *y)
{
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target nowait depend(in : y[0]) depend(out : omp_all_memory) map(to : y[0 : TILE]) map(to : x[0 : TILE / 2])
        for (int i = 0; i < TILE / 2; i++)
            x[i] += 100;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE / 2])
        for (int i = 0; i < TILE / 2; i++)
            x[i] += 0;
    }
#pragma omp taskwait
    CHECK(all_are(x, TILE, 5 + ROUNDS));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int round = 0; round < 5; round++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0]) map(to : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] = -1;
    }
#pragma omp taskwait
    CHECK(all_are(x, TILE, 5));
    double *y = make_tiles(1, 0);
    with_all_memory(x, y);
    free(y);
    free(x);
    return check_result();
}
