/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Synchronous target regions with map(tofrom), from one thread outside of any parallel region: the host reads and
 * writes the array between them.
 *
 * memory: 16Ki
 * stats: stats.tasks == 20
 */
#include "check.h"

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 1);
    for (int round = 0; round < 20; round++) {
        x[round] = 1000;
#pragma omp target map(tofrom : x[0 : TILE]) map(to : y[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += y[i];
        CHECK(x[round] == 1001);
        CHECK(x[TILE - 1] == round + 1);
        y[round + 1] = 0;
        x[round] = round + 1;
        CHECK(x[round + 1] == round + 1);
        x[round + 1] = round + 1;
        y[round + 1] = 1;
    }
    CHECK(all_are(x, TILE, 20));
    free(x);
    free(y);
    return check_result();
}
