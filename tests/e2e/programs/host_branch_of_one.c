/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The host branch of a target task has a parallel region, in a team of one thread: its barrier does not wait for the
 * task that it is in.
 *
 * run: OMP_NUM_THREADS=1
 */
#include "check.h"

static volatile int offload = 0;

int main(void)
{
    double s = 0, *x = make_tiles(1, 0);
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp parallel num_threads(1)
    {
#pragma omp target parallel for nowait depend(inout : s) map(tofrom : s) if (target : offload)
        for (int i = 0; i < 1; i++)
            s += 3;
    }
#pragma omp taskwait
    CHECK(s == 3 && x[0] == 1);
    free(x);
    return check_result();
}
