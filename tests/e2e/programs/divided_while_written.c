/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Inside a region, data are divided anew (a kernel names other sections than the one before it) while a task still
 * writes to them: its results stay on the devices, and the program's memory stays as it is.
 *
 * memory: 64Ki
 * run: OMPDARTS_DEBUG=jitter=0.002 OMPDARTS_DEVICES=2
 */
#include "check.h"

enum { ROUNDS = 12 };

int main(void)
{
    double *x = make_tiles(2, 0);
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target data map(to : x[0 : 2 * TILE])
        {
#pragma omp target nowait map(tofrom : x[TILE : TILE])
            for (int i = 0; i < TILE; i++)
                for (int j = 0; j < 100; j++)
                    x[TILE + i] += 1;
#pragma omp target map(tofrom : x[0 : 2 * TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
#pragma omp taskwait
        }
        CHECK(all_are(x, 2 * TILE, 0));
    }
    free(x);
    return check_result();
}
