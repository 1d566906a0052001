/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The priority clause on tasks that offload from inside (clang knows none on target itself): an order of preference,
 * results as without it.
 *
 * memory: 24Ki
 * stats: stats.tasks == 96
 * run: OMP_MAX_TASK_PRIORITY=10
 * run: OMP_MAX_TASK_PRIORITY=10 OMPDARTS_PRIORITY=none
 */
#include "check.h"

enum { COUNT = 32 };

int main(void)
{
    double *x = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 3; round++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp task priority(t % 10) depend(inout : tile[0 : TILE])
            {
#pragma omp target map(tofrom : tile[0 : TILE])
                for (int i = 0; i < TILE; i++)
                    tile[i] = 2 * tile[i] + t;
            }
        }
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x + t * TILE, TILE, 7 * t));
    free(x);
    return check_result();
}
