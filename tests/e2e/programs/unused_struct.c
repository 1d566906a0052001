/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A struct with a mapped pointer member that the kernel does not use: inside a region the program's memory stays as it
 * is, outside both come back unchanged.
 *
 * memory: 24Ki
 */
#include "check.h"

typedef struct vector {
    double *x;
    int length;
} vector;

static void inside_a_region(double *x, double *y)
{
    vector v = {x, TILE};
#pragma omp target data map(to : x[0 : TILE])
    {
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] = 5;
#pragma omp target map(tofrom : v) map(tofrom : v.x[0 : TILE]) map(tofrom : y[0 : TILE])
        y[0] += 1;
        CHECK(all_are(x, TILE, 0));
    }
    CHECK(all_are(x, TILE, 0));
    CHECK(y[0] == 1 && v.x == x);
}

static void outside(double *x, double *y)
{
    vector v = {x, TILE};
#pragma omp target map(tofrom : v, y[0 : TILE]) map(tofrom : v.x[0 : TILE])
    y[0] += 1;
    CHECK(y[0] == 2 && v.x == x && v.length == TILE && all_are(x, TILE, 0));
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0);
    inside_a_region(x, y);
    outside(x, y);
    free(x);
    free(y);
    return check_result();
}
