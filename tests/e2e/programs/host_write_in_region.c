/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The host writes to mapped arrays inside a region, before and after the first kernel, without any update: the device keeps
 * what it had when the region was opened. Exact with OMPDARTS_COHERENCE=strict.
 *
 * memory: 32Ki
 * environment: OMPDARTS_COHERENCE=strict
 */
#include "check.h"

int main(void)
{
    double *x = make_tiles(1, 1), *y = make_tiles(1, 1);
#pragma omp target data map(to : x[0 : TILE]) map(tofrom : y[0 : TILE])
    {
        x[0] = 100;
        y[1] = 50;
#pragma omp target
        y[0] += x[0];
        x[2] = 100;
        y[2] = 50;
#pragma omp target
        y[2] += x[2];
        CHECK(y[0] == 1 && y[1] == 50 && y[2] == 50);
    }
    CHECK(y[0] == 2 && y[1] == 1 && y[2] == 2);
    CHECK(x[0] == 100 && x[2] == 100);
    free(x);
    free(y);
    return check_result();
}
