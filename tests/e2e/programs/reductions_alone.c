/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reductions of leagues of one team, in kernels and in the program, whose thread is alone in its team: after target
 * tasks, and while some are under way on which host tasks depend.
 *
 * run: OMP_NUM_THREADS=1
 * run: OMP_NUM_THREADS=1 OMPDARTS_SLICE=4
 */
#include "check.h"

#include <unistd.h>

enum { N = 300, ROUNDS = 20 };

static long in_kernel(long *a)
{
    long sum = 0;
#pragma omp target teams distribute reduction(+ : sum) map(tofrom : a[0 : N], sum)
    for (int i = 0; i < N; i++)
        sum += a[i]++;
    return sum;
}

static long in_program(long *a)
{
    long sum = 0;
#pragma omp teams distribute reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += a[i]++;
    return sum;
}

static void after_tasks(long *a)
{
    long extra = 0;
#pragma omp target nowait map(tofrom : extra)
    extra++;
#pragma omp taskwait
    for (int round = 0; round < ROUNDS; round += 2) {
        CHECK(in_kernel(a) == (long)N * round);
        CHECK(in_program(a) == (long)N * (round + 1));
    }
    CHECK(extra == 1);
}

static void beside_tasks(long *a)
{
    long x = 1, expected = 1, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        {
            usleep(1000);
            x = x * 3 + round;
        }
#pragma omp task depend(inout : x) shared(x)
        x++;
        expected = (expected * 3 + round + 1) % 10007;
        sum += round % 2 ? in_kernel(a) : in_program(a);
#pragma omp task depend(inout : x) shared(x)
        x %= 10007;
        if (round % 5 == 4) {
#pragma omp taskwait
            CHECK(x == expected);
        }
    }
    CHECK(sum == (long)N * ROUNDS * (ROUNDS - 1) / 2);
}

int main(void)
{
    long *a = calloc(N, sizeof *a);
    after_tasks(a);
    for (int i = 0; i < N; i++)
        a[i] = 0;
    beside_tasks(a);
    free(a);
    return check_result();
}
