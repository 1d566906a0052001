/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks among host tasks that offload from inside and, from the second round on, in the middle need data beside
 * those that they name: for that memory they wait until kernels end that were left running (async_launch.c) on their
 * device.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { COUNT = 8, ROUNDS = 12 };

static void create(double *x, double *beside, double *other, int round)
{
#pragma omp target nowait depend(inout : other[0 : TILE]) map(tofrom : other[0 : TILE])
    for (int i = 0; i < TILE; i++)
        other[i] += 1;
#pragma omp task depend(inout : x[0 : TILE])
    {
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
        {
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
        if (round > 0) {
#pragma omp target map(tofrom : beside[0 : TILE])
            for (int i = 0; i < TILE; i++)
                beside[i] += 1;
#pragma omp target map(tofrom : x[0 : TILE]) map(to : beside[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += beside[i];
        }
    }
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *beside = make_tiles(COUNT, 0), *other = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            create(x + t * TILE, beside + t * TILE, other + (t + round) % COUNT * TILE, round);
    CHECK(all_are(other, COUNT * TILE, ROUNDS));
    CHECK(all_are(beside, COUNT * TILE, ROUNDS - 1));
    CHECK(all_are(x, COUNT * TILE, ROUNDS + (ROUNDS - 1) * ROUNDS / 2));
    free(x);
    free(beside);
    free(other);
    return check_result();
}
