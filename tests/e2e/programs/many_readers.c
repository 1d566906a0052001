/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * More than a hundred threads, each with a kernel that reads one array of a region, at once.
 *
 * memory: 256Ki
 * run: OMPDARTS_DEVICES=1
 */
#include "check.h"

#include <omp.h>

enum { N = 16 * 1024, THREADS = 130, PASSES = 400 };

int main(void)
{
    double *x = calloc(N, sizeof *x), sums[THREADS] = {0};
    for (int i = 0; i < N; i++)
        x[i] = i % 7;
#pragma omp target data map(to : x[0 : N])
    {
#pragma omp parallel num_threads(THREADS)
        {
            double *sum = &sums[omp_get_thread_num()];
#pragma omp barrier
#pragma omp target map(tofrom : sum[0 : 1])
            for (int i = 0; i < PASSES * N; i++) /* longer than a thread has its turn */
                *sum += x[i % N];
        }
    }
    double wanted = 0;
    for (int i = 0; i < N; i++)
        wanted += PASSES * (i % 7);
    for (int t = 0; t < THREADS; t++)
        CHECK(sums[t] == wanted);
    free(x);
    return check_result();
}
