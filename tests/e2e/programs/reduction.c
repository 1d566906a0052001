/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reductions over a mapped array into a scalar of the host, synchronous and as tasks with a scalar each.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { TASKS = 16 };

int main(void)
{
    double *x = make_tiles(TASKS, 2), total = 1, part[TASKS] = {0};
    for (int round = 0; round < 4; round++) {
#pragma omp target teams distribute parallel for reduction(+ : total) map(to : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            total += x[i];
    }
    CHECK(total == 1 + 4 * 2 * TILE);
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *tile = x + t * TILE, *sum = &part[t];
#pragma omp target nowait depend(in : tile[0 : TILE]) depend(out : sum[0]) map(to : tile[0 : TILE])                    \
    map(tofrom : sum[0 : 1])
        for (int i = 0; i < TILE; i++)
            *sum += tile[i] + t;
    }
    for (int t = 0; t < TASKS; t++)
        CHECK(part[t] == (2 + t) * TILE);
    free(x);
    return check_result();
}
