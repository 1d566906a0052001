/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks whose writes are named by an element that stands for the array and is none of their data, beside depend(in:) of
 * the first element of what they write: that does not make it only read. Nor does it beside map(from:).
 *
 * memory: 24Ki
 * stats: stats.tasks == 3 * 6
 */
#include "check.h"

enum { COUNT = 6 };

int main(void)
{
    double *x = make_tiles(COUNT + 1, 1), *y = make_tiles(COUNT + 1, 1);
    double *all = x; /* its first element stands for all of them */
#pragma omp parallel
#pragma omp single
    for (int t = 1; t <= COUNT; t++) {
        double *tile = x + t * TILE, *other = y + t * TILE;
#pragma omp target nowait depend(in : tile[0]) depend(out : all[0]) map(from : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] = t;
#pragma omp target nowait depend(in : tile[0]) depend(inout : all[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
#pragma omp target nowait depend(in : other[0]) map(from : other[0 : TILE])
        for (int i = 0; i < TILE; i++)
            other[i] = t + 1;
    }
    for (int t = 1; t <= COUNT; t++) {
        CHECK(all_are(x + t * TILE, TILE, t + 1));
        CHECK(all_are(y + t * TILE, TILE, t + 1));
    }
    CHECK(all_are(x, TILE, 1));
    free(x);
    free(y);
    return check_result();
}
