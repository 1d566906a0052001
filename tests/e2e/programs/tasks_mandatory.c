/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiled with -fopenmp-offload-mandatory: there are no host versions. What fits on no device runs in memory beyond the
 * limit.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <stdlib.h>

enum { N = 8 * TILE, ROUNDS = 4 };

int main(void)
{
    double *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target nowait map(tofrom : a[0 : N]) depend(inout : a[0 : N])
        for (int i = 0; i < N; i++)
            a[i] += 1;
#pragma omp target nowait map(to : a[0 : N]) map(tofrom : b[0 : N]) depend(in : a[0 : N]) depend(inout : b[0 : N])
        for (int i = 0; i < N; i++)
            b[i] += a[i];
    }
#pragma omp taskwait
#pragma omp target data map(tofrom : a[0 : N], b[0 : N])
    {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            a[i] += b[i];
    }
    CHECK(all_are(b, N, ROUNDS * (ROUNDS + 1) / 2));
    CHECK(all_are(a, N, ROUNDS + ROUNDS * (ROUNDS + 1) / 2));
    free(a);
    free(b);
    return check_result();
}
