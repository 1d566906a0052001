/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Static variables of kernels, and of functions that these call, which nothing names in a map list: there is one value,
 * as there is one device without the library.
 *
 * memory: 80Ki
 */
#include "check.h"

enum { TASKS = 40, WAYS = 4 };

static int next_number(void)
{
    static int number;
    return ++number;
}

int main(void)
{
    static double work[WAYS][TILE];
    int own = 0, called = 0;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
        double *w = work[t % WAYS];
#pragma omp target nowait depend(inout : w[0 : TILE]) map(tofrom : w[0 : TILE])
        for (int i = 0; i < TILE; i++)
            w[i] += 1;
#pragma omp target nowait depend(inout : own) map(tofrom : own)
        {
            static int count;
            count += 3;
            own = count;
        }
#pragma omp target nowait depend(inout : called) map(tofrom : called)
        called = next_number();
    }
    CHECK(own == 3 * TASKS);
    CHECK(called == TASKS);
    for (int w = 0; w < WAYS; w++)
        CHECK(all_are(work[w], TILE, TASKS / WAYS));
    return check_result();
}
