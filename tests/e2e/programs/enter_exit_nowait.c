/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * enter data and exit data with nowait and depend around chains of kernels, from(…) and release at the end. A host
 * task after the exit sees the result; what is released without `from` stays as the host left it (unless it
 * had to be evicted, docs/openmp.md: hence the memory).
 *
 * memory: 1Mi
 * stats: stats.tasks == 64
 */
#include "check.h"

enum { COUNT = 16 };

static void chain(double *x, double *y)
{
#pragma omp target enter data nowait depend(out : x[0 : TILE]) map(to : x[0 : TILE])
#pragma omp target enter data nowait depend(out : y[0 : TILE]) map(to : y[0 : TILE])
    for (int step = 0; step < 4; step++) {
#pragma omp target nowait depend(inout : x[0 : TILE], y[0 : TILE]) map(tofrom : x[0 : TILE], y[0 : TILE])
        for (int j = 0; j < TILE; j++) {
            x[j] = 2 * x[j] + y[j];
            y[j] += 1;
        }
    }
#pragma omp target exit data nowait depend(inout : x[0 : TILE]) map(from : x[0 : TILE])
#pragma omp target exit data nowait depend(inout : y[0 : TILE]) map(release : y[0 : TILE])
#pragma omp task depend(inout : x[0 : TILE])
    x[0] += 1;
}

int main(void)
{
    double *x = make_tiles(COUNT, 1), *y = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < COUNT; i++)
        chain(x + i * TILE, y + i * TILE);
    for (int i = 0; i < COUNT; i++) {
        CHECK(x[i * TILE] == 28); /* 1, 2, 5, 12, 27; and the host task's 1 */
        CHECK(all_are(x + i * TILE + 1, TILE - 1, 27));
    }
    CHECK(all_are(y, COUNT * TILE, 0));
    free(x);
    free(y);
    return check_result();
}
