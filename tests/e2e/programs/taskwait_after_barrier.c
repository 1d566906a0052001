/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A team of one thread waits at a barrier for a target task, then for what that task's depend items name, and makes
 * others that depend on it: its completion must be over, also where a device ended it just then.
 */
#include "check.h"

enum { ROUNDS = 40 };

int main(void)
{
    double *x = make_tiles(2, 0);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(1)
        {
#pragma omp target nowait depend(out : x[0]) depend(inout : x[TILE]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
#pragma omp barrier
#pragma omp taskwait nowait depend(inout : x[0]) depend(out : x[TILE])
#pragma omp target nowait depend(inout : x[0]) depend(inout : x[TILE]) map(tofrom : x[TILE : TILE])
            for (int i = 0; i < TILE; i++)
                x[TILE + i] += 1;
#pragma omp barrier
#pragma omp taskwait depend(in : x[TILE])
        }
    }
    CHECK(all_are(x, 2 * TILE, ROUNDS));
    free(x);
    return check_result();
}
