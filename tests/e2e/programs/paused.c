/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * omp_pause_resource_all between constructs: a hard pause ends libomp's threads, the library's among them.
 *
 * memory: 24Ki
 */
#include <omp.h>

#include "check.h"

enum { COUNT = 8 };

static void add_one(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : *tile) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
    add_one(x);
    CHECK(omp_pause_resource_all(omp_pause_hard) == 0);
    CHECK(omp_pause_resource_all(omp_pause_hard) == 1); /* paused already */
    add_one(x);
    CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
    add_one(x);
    CHECK(all_are(x, COUNT * TILE, 3));
    free(x);
    return check_result();
}
