/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs whose device the program chooses, on an array that is in an open region of the default device: they work on
 * the program's memory, which the region's contents do not reach, and the region keeps what its kernels have written.
 *
 * memory: 24Ki
 * run: OMPDARTS_MEM=24Ki OMPDARTS_SPILL=0
 */
#include "check.h"

#include <omp.h>

static double *x;

static void set(double value)
{
    for (int i = 0; i < TILE; i++)
        x[i] = value;
}

static void add_on(int device, double amount)
{
#pragma omp target device(device) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += amount;
}

static double sum_on(int device)
{
    double sum = 0;
#pragma omp target device(device) map(to : x[0 : TILE]) map(tofrom : sum)
    for (int i = 0; i < TILE; i++)
        sum += x[i];
    return sum;
}

/* A second copy, beside the region's. */
static void keep_on(int device)
{
#pragma omp target enter data device(device) map(to : x[0 : TILE])
#pragma omp target update device(device) from(x[0 : TILE / 2])
#pragma omp target exit data device(device) map(delete : x[0 : TILE])
}

static void add_later_on(int device, double amount)
{
#pragma omp target nowait device(device) depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += amount;
#pragma omp taskwait
}

/* Kernels have made the region's contents `inside`; the host's are 7. */
static void pass(int device, double inside)
{
    set(7);
    CHECK(sum_on(device) == 7 * TILE);
    CHECK(all_are(x, TILE, 7));
    add_on(device, 1);
    CHECK(all_are(x, TILE, 8));
    keep_on(device);
    CHECK(all_are(x, TILE, 8));
    add_later_on(device, 1);
    CHECK(all_are(x, TILE, 9));
    double y = 0;
#pragma omp target map(tofrom : y)
    y = x[0] + x[TILE - 1];
    CHECK(y == 2 * inside);
}

int main(void)
{
    x = make_tiles(1, 1);
    double inside = 1;
#pragma omp target enter data map(to : x[0 : TILE])
    for (int device = 1; device <= omp_get_num_devices(); device++) { /* the last one is the host */
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] += 2;
        inside += 2;
        pass(device, inside);
    }
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(all_are(x, TILE, inside));
    free(x);
    return check_result();
}
