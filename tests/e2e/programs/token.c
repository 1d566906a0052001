/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Dependences on a variable that is none of the tasks' data (a token): host tasks ordered by it write and read the
 * tiles between target tasks, without naming them.
 *
 * memory: 24Ki
 * stats: stats.tasks == 8 * 5
 */
#include "check.h"

enum { COUNT = 8, STEPS = 5 };

int main(void)
{
    double *x = make_tiles(COUNT, 0), seen[COUNT] = {0};
    char token[COUNT];
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < STEPS; step++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp task depend(inout : token[t])
            for (int i = 0; i < TILE; i++)
                tile[i] += 1;
#pragma omp target nowait depend(inout : token[t]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] *= 2;
#pragma omp task depend(in : token[t]) shared(seen)
            seen[t] += tile[TILE - 1];
        }
    for (int t = 0; t < COUNT; t++) { /* 2, 6, 14, 30, 62 */
        CHECK(all_are(x + t * TILE, TILE, 62));
        CHECK(seen[t] == 2 + 6 + 14 + 30 + 62);
    }
    free(x);
    return check_result();
}
