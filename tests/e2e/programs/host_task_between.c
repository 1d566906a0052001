/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Ordinary host tasks with depend that read and write tiles between target tasks that do the same.
 *
 * memory: 24Ki
 * stats: stats.tasks == 16 * 6
 */
#include "check.h"

enum { COUNT = 16, STEPS = 6 };

int main(void)
{
    double *x = make_tiles(COUNT, 1), sum[COUNT] = {0};
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < STEPS; step++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] *= 2;
#pragma omp task depend(in : tile[0 : TILE]) shared(sum)
            for (int i = 0; i < TILE; i++)
                sum[t] += tile[i];
#pragma omp task depend(inout : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += 1;
        }
    /* 1 -> 2, 3 -> 6, 7 -> 14, … : after step k the tile is 2^(k+2) - 1 */
    for (int t = 0; t < COUNT; t++) {
        CHECK(all_are(x + t * TILE, TILE, 127));
        CHECK(sum[t] == TILE * (2 + 6 + 14 + 30 + 62 + 126));
    }
    free(x);
    return check_result();
}
