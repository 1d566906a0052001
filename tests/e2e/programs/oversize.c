/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that use three times a device's memory, page by page within its limit: one after the other through an array,
 * here and there in one, from one to another, beside tasks on parts and on other data, and of several threads.
 *
 * environment: OMPDARTS_OVERSIZE=page OMPDARTS_MEM=512Ki OMPDARTS_DEVICES=3
 * run: OMPDARTS_OVERSIZE=host OMPDARTS_MEM=512Ki
 * run: OMPDARTS_OVERSIZE=page OMPDARTS_MEM=40Ki OMPDARTS_DEVICES=4
 * run: OMPDARTS_OVERSIZE=page OMPDARTS_MEM=1 OMPDARTS_DEVICES=2
 * run: OMPDARTS_OVERSIZE=page OMPDARTS_MEM=512Ki OMPDARTS_COHERENCE=depend
 * stats: totals.faults > 0 and totals.fault_bytes > 3 * 512 * 1024 and totals.peak_bytes > 400 * 1024
 */
#include "check.h"

#include <stdint.h>

enum { N = 200000, PARTS = 8, PART = N / PARTS };

static uint64_t step(uint64_t x)
{
    return x * 6364136223846793005u + 1442695040888963407u;
}

/* What the host makes of it in the same way. */
static uint64_t expected(uint64_t x, int i)
{
    x = x * 3 + 1;
    x = x * 3 + 1;
    if (step((uint64_t)i) % 7 == 0)
        x += 5;
    return x + (uint64_t)(i / PART);
}

int main(void)
{
    uint64_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    int tile[64] = {0}, sum = 0;
    bool right = true;
    for (int i = 0; i < N; i++)
        a[i] = (uint64_t)i;
#pragma omp target data map(tofrom : a[0 : N]) map(from : b[0 : N])
    {
        for (int round = 0; round < 2; round++) {
#pragma omp target teams distribute parallel for
            for (int i = 0; i < N; i++)
                a[i] = a[i] * 3 + 1;
        }
#pragma omp target
        for (int n = 0; n < N; n++) {
            int i = (int)((uint64_t)n * 99991 % N); /* here and there: both have no common factor */
            if (step((uint64_t)i) % 7 == 0)
                a[i] += 5;
        }
#pragma omp parallel num_threads(3)
#pragma omp single
        {
            for (int p = 0; p < PARTS; p++) {
#pragma omp target nowait depend(inout : a[p * PART : PART]) map(to : a[0 : N])
                for (int i = p * PART; i < (p + 1) * PART; i++)
                    a[i] += (uint64_t)p;
            }
#pragma omp target nowait depend(inout : tile) map(tofrom : tile)
            for (int i = 0; i < 64; i++)
                tile[i] = i;
#pragma omp taskwait
        }
#pragma omp parallel for num_threads(2)
        for (int half = 0; half < 2; half++) {
#pragma omp target
            for (int i = half * N / 2; i < (half + 1) * N / 2; i++)
                b[i] = a[N - 1 - i];
        }
#pragma omp target map(tofrom : sum)
        for (int i = 0; i < N; i++)
            sum += b[i] == a[N - 1 - i];
    }
    for (int i = 0; i < N; i++)
        right = right && a[i] == expected((uint64_t)i, i) && b[N - 1 - i] == a[i];
    CHECK(right);
    CHECK(sum == N);
    CHECK(tile[63] == 63);
    free(a);
    free(b);
    return check_result();
}
