/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks larger than a device that use a declare target variable, which no clause names: they run on a device all the
 * same, whose variable it is.
 *
 * memory: 8Ki
 */
#include "check.h"

enum { N = 5000 };

int own[4] = {1, 2, 3, 4};
#pragma omp declare target to(own)
static int results[N];

static void synchronous(void)
{
#pragma omp target map(tofrom : results)
    for (int i = 0; i < N; i++) {
        results[i] = own[0];
        if (i == N - 1)
            own[1] = 77;
    }
    CHECK(results[7] == 1);
#pragma omp target update from(own)
    CHECK(own[0] == 1 && own[1] == 77);
}

static void in_tasks(void)
{
    for (int round = 0; round < 2; round++) {
#pragma omp target nowait map(tofrom : results) depend(inout : results)
        for (int i = 0; i < N; i++)
            results[i] = own[2]++;
#pragma omp taskwait
        CHECK(results[7] == 3 + round * N + 7);
    }
}

int main(void)
{
    own[0] = 1000; /* the host's */
    synchronous();
    in_tasks();
    return check_result();
}
