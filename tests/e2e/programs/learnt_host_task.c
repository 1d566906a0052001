/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that offload from inside, by a synchronous target or by use_device_ptr, or only in some instances, among
 * target tasks and plain host tasks on the same tiles.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { COUNT = 8, ROUNDS = 4 };

static void create(double *x, double *y, int round)
{
#pragma omp task depend(inout : x[0 : TILE])
    {
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
#pragma omp task depend(in : x[0 : TILE]) depend(inout : y[0 : TILE])
    {
#pragma omp target data map(to : x[0 : TILE]) map(tofrom : y[0 : TILE]) use_device_ptr(x, y)
        {
#pragma omp target is_device_ptr(x, y)
            for (int i = 0; i < TILE; i++)
                y[i] += x[i];
        }
    }
#pragma omp task depend(inout : y[0 : TILE])
    if (round % 2) {
#pragma omp target map(tofrom : y[0 : TILE])
        for (int i = 0; i < TILE; i++)
            y[i] += 1;
    } else {
        for (int i = 0; i < TILE; i++)
            y[i] += 1;
    }
#pragma omp target nowait depend(inout : y[0 : TILE]) map(tofrom : y[0 : TILE])
    for (int i = 0; i < TILE; i++)
        y[i] += 1;
#pragma omp task depend(inout : x[0 : TILE])
    x[0] += 1;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            create(x + t * TILE, y + t * TILE, round);
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] == 8 && y[t * TILE] == 1 + 3 + 5 + 7 + 8);
        CHECK(all_are(x + t * TILE + 1, TILE - 1, 4));
        CHECK(all_are(y + t * TILE + 1, TILE - 1, 1 + 2 + 3 + 4 + 8));
    }
    free(x);
    free(y);
    return check_result();
}
