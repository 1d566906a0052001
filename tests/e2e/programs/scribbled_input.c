/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(to: x) beside depend(inout: x): the task may write to its device copy, which nobody is to see afterwards, also where
 * the task before it has left the newest contents of x on that device.
 *
 * memory: 24Ki
 */
#include "check.h"

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int round = 0; round < 5; round++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0]) map(to : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] = -1;
    }
#pragma omp taskwait
    CHECK(all_are(x, TILE, 5));
    free(x);
    return check_result();
}
