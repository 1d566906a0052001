/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(alloc) and map(from): inside a region the contents that are present count; outside, `alloc` is scratch memory
 * that never reaches the host, and `from` brings home what the kernel wrote.
 *
 * memory: 32Ki
 */
#include "check.h"

static void inside_a_region(double *x)
{
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target map(alloc : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target map(from : x[0 : TILE])
        for (int i = 0; i < TILE / 2; i++) /* the other half must survive */
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(alloc : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 10;
#pragma omp taskwait
    }
    CHECK(all_are(x, TILE / 2, 30));
    CHECK(all_are(x + TILE / 2, TILE / 2, 20));
}

static void outside(double *x, double *y)
{
#pragma omp target map(alloc : x[0 : TILE]) map(from : y[0 : TILE])
    {
        for (int i = 0; i < TILE; i++)
            x[i] = i;
        for (int i = 0; i < TILE; i++)
            y[i] = x[TILE - 1 - i];
    }
    CHECK(all_are(x, TILE, 7));
    for (int i = 0; i < TILE; i++)
        CHECK(y[i] == TILE - 1 - i);
}

static void tasks_outside(double *x, double *y)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 8; t++) {
        double *xt = x + t * TILE, *yt = y + t * TILE;
#pragma omp target nowait depend(out : yt[0 : TILE]) map(alloc : xt[0 : TILE]) map(from : yt[0 : TILE])
        {
            for (int i = 0; i < TILE; i++)
                xt[i] = t;
            for (int i = 0; i < TILE; i++)
                yt[i] = 2 * xt[i];
        }
#pragma omp target nowait depend(inout : yt[0 : TILE]) map(tofrom : yt[0 : TILE])
        for (int i = 0; i < TILE; i++)
            yt[i] += 1;
    }
    CHECK(all_are(x, 8 * TILE, 7));
    for (int t = 0; t < 8; t++)
        CHECK(all_are(y + t * TILE, TILE, 2 * t + 1));
}

static void entered_without_contents(double *x)
{
#pragma omp target enter data map(alloc : x[0 : TILE])
#pragma omp target map(from : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = 5;
#pragma omp target map(to : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 7));
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(all_are(x, TILE, 6));
}

int main(void)
{
    double *ones = make_tiles(1, 1), *x = make_tiles(8, 7), *y = make_tiles(8, -1);
    inside_a_region(ones);
    outside(x, y);
    tasks_outside(x, y);
    entered_without_contents(x);
    free(ones);
    free(x);
    free(y);
    return check_result();
}
