/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two threads are shown device addresses of one array at the same time, the one beside other arrays of its own: both
 * get an address that a kernel can use, whatever device the array was on.
 * What fits on no device is shown where its contents are in host memory.
 *
 * run: OMPDARTS_MEM=2Ki
 */
#include "check.h"

#include <omp.h>
#include <time.h>

enum { ARRAYS = 8 };

static double y[TILE], x[ARRAYS][TILE];

/* Spreads the arrays over the devices: each kernel takes a while. */
static void fill(void)
{
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < ARRAYS; k++)
#pragma omp target nowait map(tofrom : x[k]) depend(inout : x[k])
    {
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        for (int i = 0; i < TILE; i++)
            x[k][i] = k;
    }
}

static void show_to_two(int k)
{
    double *shown = x[k];
#pragma omp target data use_device_ptr(shown)
    {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            double *mine = omp_get_mapped_ptr(y, omp_get_default_device());
            double *also = omp_get_mapped_ptr(x[k], omp_get_default_device());
            CHECK(mine && also);
            if (mine && also)
#pragma omp target is_device_ptr(mine, also)
                for (int i = 0; i < TILE; i++)
                    mine[i] += also[i];
        }
        CHECK(shown != x[k]);
    }
}

int main(void)
{
#pragma omp target enter data map(to : y)
    for (int k = 0; k < ARRAYS; k++) {
#pragma omp target enter data map(to : x[k])
    }
    fill();
    for (int k = 0; k < ARRAYS; k++)
        show_to_two(k);
    for (int k = 0; k < ARRAYS; k++) {
#pragma omp target exit data map(from : x[k])
    }
#pragma omp target exit data map(from : y)
    for (int i = 0; i < TILE; i++)
        CHECK(y[i] == ARRAYS * (ARRAYS - 1) / 2);
    return check_result();
}
