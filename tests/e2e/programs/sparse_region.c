/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A region larger than any device, of which kernels use a few pages: what they do not touch takes no memory, and is
 * copied nowhere. Host writes inside the region stay the host's.
 *
 * memory: 1Mi
 * run: OMPDARTS_MEM=1Mi OMPDARTS_COHERENCE=depend
 */
#include "check.h"

#include <sys/resource.h>

enum { N = 8 << 20, FEW = 1000, STEPS = 8 }; /* 64 MiB */

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int main(void)
{
    double *a = malloc(N * sizeof *a);
    if (!a)
        return 1;
    a[5] = 3;
    a[N - 1] = 7;
    double sum = 0;
#pragma omp target map(tofrom : sum) /* the runtimes have started */
    sum += 1;
    long before = peak_kib();
#pragma omp target enter data map(alloc : a[0 : N])
    for (int step = 0; step < STEPS; step++) {
#pragma omp target map(tofrom : sum)
        {
            for (int i = 0; i < FEW; i++)
                a[i] = i + step;
            a[N / 2] = step;
            sum += a[FEW - 1];
        }
    }
    CHECK(a[5] == 3);
#pragma omp target update from(a[0 : FEW])
#pragma omp target update from(a[N / 2 : 1])
#pragma omp target exit data map(delete : a[0 : N])
    CHECK(peak_kib() - before < N / 1024 * 4);
    for (int i = 0; i < FEW; i++)
        CHECK(a[i] == i + STEPS - 1);
    CHECK(a[N / 2] == STEPS - 1);
    CHECK(a[N - 1] == 7);
    CHECK(sum == 1 + STEPS * (FEW - 1) + STEPS * (STEPS - 1) / 2);
    free(a);
    return check_result();
}
