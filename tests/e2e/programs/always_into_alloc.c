/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(always, to: x) on a data construct gives contents to a region that was opened without any.
 *
 * memory: 24Ki
 */
#include "check.h"

int main(void)
{
    double *x = make_tiles(1, 3);
#pragma omp target enter data map(alloc : x[0 : TILE])
#pragma omp target data map(always, tofrom : x[0 : TILE])
    {
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        CHECK(all_are(x, TILE, 3));
    }
    CHECK(all_are(x, TILE, 4));
#pragma omp target enter data map(always, to : x[0 : TILE])
#pragma omp target map(tofrom : x[0 : TILE])
    x[0] += 1;
#pragma omp target update from(x[0 : TILE])
    CHECK(x[0] == 5 && x[1] == 4);
#pragma omp target exit data map(delete : x[0 : TILE])
    free(x);
    return check_result();
}
