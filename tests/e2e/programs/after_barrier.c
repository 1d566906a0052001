/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that are created after a barrier and follow one that has completed while threads waited in that barrier: they
 * are released, in each of many rounds.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { ROUNDS = 150 };

int main(void)
{
    double *x = make_tiles(1, 0);
#pragma omp parallel num_threads(4)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp master
        {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
#pragma omp barrier
#pragma omp master
        {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
#pragma omp barrier
    }
    CHECK(all_are(x, TILE, 2 * ROUNDS));
    free(x);
    return check_result();
}
