/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Nested parallel regions whose threads offload at once, synchronously and with tasks.
 *
 * memory: 40Ki
 */
#include "check.h"

#include <omp.h>

enum { OUTER = 2, INNER = 2, ROUNDS = 10 };

static void work(double *x)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 2;
#pragma omp taskwait
        CHECK(x[1] == (double)((2 << (round + 1)) - 2));
        x[0] = x[1];
    }
}

int main(void)
{
    double *x = make_tiles(OUTER * INNER, 0);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(OUTER)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(INNER)
        work(x + (outer * INNER + omp_get_thread_num()) * TILE);
    }
#pragma omp parallel for num_threads(4)
    for (int t = 0; t < OUTER * INNER; t++) {
        double *tile = x + t * TILE;
#pragma omp target map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
    CHECK(all_are(x, OUTER * INNER * TILE, 2047));
    free(x);
    return check_result();
}
