/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks of a final task are included ones: they have ended when the thread goes on. Also target tasks, and host tasks
 * that were seen to offload. The first comes before all parallel regions: libomp's omp_in_final() is false there, until
 * something makes it ready for such regions.
 */
#include "check.h"

#include <omp.h>

enum { N = 1000, SLOW = 1000000 };

static int a[N];

static void target_task(void)
{
    int y = 0;
#pragma omp target nowait map(tofrom : y)
    for (volatile int i = 0; i < SLOW; i++)
        y = 1;
    CHECK(y == 1);
}

static void host_task(int round)
{
    int done = 0;
#pragma omp task depend(inout : a[ : N]) shared(done)
    {
#pragma omp target map(tofrom : a)
        for (int i = 0; i < N; i++)
            for (volatile int k = 0; k < SLOW / N; k++)
                a[i] += k == 0;
        done = 1;
    }
    if (omp_in_final())
        CHECK(done && a[0] == round + 1 && a[N - 1] == round + 1);
#pragma omp taskwait
    CHECK(done && a[0] == round + 1 && a[N - 1] == round + 1);
}

static void in_task(bool is_final, int round)
{
#pragma omp task final(is_final) shared(a)
    {
        if (is_final)
            target_task();
        host_task(round);
    }
#pragma omp taskwait
}

int main(void)
{
    int round = 0;
    in_task(true, round++);
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 3; i++) {
        in_task(false, round++);
        in_task(true, round++);
    }
    for (int i = 0; i < 3; i++) {
        in_task(false, round++);
        in_task(true, round++);
    }
    return check_result();
}
