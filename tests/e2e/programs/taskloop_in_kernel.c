/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that make tasks of their own, on a thread that is alone in its team and has target tasks under way.
 *
 * run: OMP_NUM_THREADS=1
 */
#include "check.h"

#include <unistd.h>

/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"

enum { N = 64, ROUNDS = 60 };

static void loop(long *a)
{
#pragma omp target map(tofrom : a[0 : N])
    {
#pragma omp taskloop num_tasks(4) shared(a)
        for (int i = 0; i < N; i++)
            a[i]++;
    }
}

static void reduce(long *a)
{
    long sum = 0;
#pragma omp target map(tofrom : a[0 : N], sum)
    {
#pragma omp taskgroup task_reduction(+ : sum)
        {
#pragma omp task in_reduction(+ : sum)
            sum += a[0];
#pragma omp taskloop in_reduction(+ : sum)
            for (int i = 1; i < N; i++)
                sum += a[i];
        }
    }
    CHECK(sum == N * a[0]);
}

int main(void)
{
    long *a = calloc(N, sizeof *a), x = 1, expected = 1;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait depend(inout : x) map(tofrom : x)
        {
            usleep(round % 3 ? 500 : 0);
            x = x * 3 + round;
        }
#pragma omp task depend(inout : x) shared(x)
        x %= 10007;
        expected = (expected * 3 + round) % 10007;
        loop(a);
        reduce(a);
        if (round % 4 == 3) {
#pragma omp taskwait
            CHECK(x == expected);
        }
    }
#pragma omp taskwait
    CHECK(a[0] == ROUNDS && a[N - 1] == ROUNDS && x == expected);
    free(a);
    return check_result();
}
