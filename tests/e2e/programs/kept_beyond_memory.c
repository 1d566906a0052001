/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A table of device addresses, kept beyond the constructs that showed them, of data that fill a device or more: they are
 * good as long as the regions are open, whatever other kernels need.
 *
 * memory: 6Ki
 * run: OMPDARTS_DEVICES=2 OMPDARTS_MEM=4Ki
 * run: OMPDARTS_DEVICES=1 OMPDARTS_MEM=9Ki
 */
#include "check.h"

enum { COUNT = 4, N = 256, STEPS = 3 }; /* 2 KiB each */

static double *host[COUNT], *shown[COUNT], sum[N], beside[N];

static void enter(double *x, double **at)
{
#pragma omp target enter data map(to : x[0 : N])
#pragma omp target data use_device_ptr(x)
    *at = x;
}

static void leave(double *x)
{
#pragma omp target exit data map(from : x[0 : N])
}

static void step(void)
{
#pragma omp target map(tofrom : sum) map(to : shown)
    for (int k = 0; k < COUNT; k++)
        for (int i = 0; i < N; i++) {
            sum[i] += shown[k][i];
            shown[k][i] += 1;
        }
#pragma omp target map(tofrom : beside)
    for (int i = 0; i < N; i++)
        beside[i] += 1;
}

int main(void)
{
    for (int k = 0; k < COUNT; k++) {
        host[k] = malloc(N * sizeof *host[k]);
        if (!host[k])
            return 1;
        for (int i = 0; i < N; i++)
            host[k][i] = k + i;
        enter(host[k], &shown[k]);
    }
    for (int s = 0; s < STEPS; s++)
        step();
    for (int k = 0; k < COUNT; k++) {
        leave(host[k]);
        for (int i = 0; i < N; i++)
            CHECK(host[k][i] == k + i + STEPS);
        free(host[k]);
    }
    for (int i = 0; i < N; i++) {
        CHECK(sum[i] == STEPS * (COUNT * i + COUNT * (COUNT - 1) / 2) + COUNT * STEPS * (STEPS - 1) / 2);
        CHECK(beside[i] == (double)STEPS);
    }
    return check_result();
}
