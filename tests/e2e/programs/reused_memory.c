/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host memory that is freed and given out again for arrays of other sizes, and arrays on the stack: what was mapped
 * there before says nothing about the new contents, and nothing beyond the new array is copied in or out.
 *
 * memory: 64Ki
 */
#include "check.h"

static void on_the_heap(size_t tiles, double value)
{
    double *x = make_tiles(tiles, value);
    size_t length = tiles * TILE;
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < 3; step++) {
#pragma omp target nowait depend(inout : x[0 : length]) map(tofrom : x[0 : length])
        for (size_t i = 0; i < length; i++)
            x[i] += 1;
    }
    CHECK(all_are(x, length, value + 3));
    free(x);
}

static void on_the_stack(double value)
{
    double x[TILE];
    for (int i = 0; i < TILE; i++)
        x[i] = value;
    for (int step = 0; step < 2; step++) {
#pragma omp target nowait depend(inout : x)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
#pragma omp taskwait
    CHECK(all_are(x, TILE, value + 2));
}

int main(void)
{
    for (int round = 0; round < 30; round++) {
        on_the_heap(1 + (size_t)(round * 7 % 5), round);
        on_the_stack(round);
    }
    return check_result();
}
