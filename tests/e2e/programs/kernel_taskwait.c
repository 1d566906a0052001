/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels with tasks of their own that wait for these, while target tasks of the program's are under way: on host
 * devices a synchronous kernel runs in the task that waits for it, whose children these are.
 *
 * memory: 64Ki
 */
#include "check.h"

enum { ROUNDS = 20, N = 8 };

/* The kernel's task and its wait. */
static void wait_in_kernel(int *x)
{
#pragma omp target map(tofrom : x[0 : 1])
    {
#pragma omp task shared(x)
        x[0]++;
#pragma omp taskwait
        x[0]++;
    }
}

static void outside(void)
{
    int x = 0, y = 0;
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp target nowait map(tofrom : y)
        y++;
        wait_in_kernel(&x);
#pragma omp taskwait
    }
    CHECK(x == 2 * ROUNDS && y == ROUNDS);
}

static void in_team(void)
{
    int x[N] = {0}, y[N] = {0};
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < N; i++)
#pragma omp task firstprivate(i) shared(x, y)
    {
        int *own = &y[i];
        for (int r = 0; r < ROUNDS; r++) {
#pragma omp target nowait map(tofrom : own[0 : 1]) depend(inout : own[0])
            own[0]++;
            wait_in_kernel(&x[i]);
#pragma omp taskwait
        }
    }
    for (int i = 0; i < N; i++)
        CHECK(x[i] == 2 * ROUNDS && y[i] == ROUNDS);
}

int main(void)
{
    outside();
    in_team();
    return check_result();
}
