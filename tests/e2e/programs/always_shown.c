/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(always) of what is in an open region, in a construct that shows its device address too: kernels that get the
 * address see what the host wrote before, and the host what they wrote.
 *
 * memory: 24Ki
 * run: OMPDARTS_SPILL=0
 */
#include "check.h"

static double x[TILE], y[TILE];

static void fill(double *a, double value)
{
    for (int i = 0; i < TILE; i++)
        a[i] = value;
}

/* What another kernel of the region does, between constructs. */
static void add_in_region(double *a, double value)
{
#pragma omp target map(tofrom : a[0 : TILE])
    for (int i = 0; i < TILE; i++)
        a[i] += value;
}

static void both_ways(double *a, double *b)
{
    double *shown = a;
    fill(a, 1);
#pragma omp target data map(always, tofrom : shown[0 : TILE]) map(tofrom : b[0 : TILE]) use_device_ptr(shown)
    {
#pragma omp target is_device_ptr(shown)
        for (int i = 0; i < TILE; i++)
            shown[i] += b[i];
    }
    CHECK(all_are(a, TILE, 6) && all_are(b, TILE, 5));
    add_in_region(a, 10);
#pragma omp target update from(a[0 : TILE])
    CHECK(all_are(a, TILE, 16));
}

static void into_devices(double *a)
{
    double *shown = a;
    fill(a, 2);
#pragma omp target data map(always, to : shown[0 : TILE]) use_device_ptr(shown)
    {
#pragma omp target is_device_ptr(shown)
        for (int i = 0; i < TILE; i++)
            shown[i] *= 3;
    }
    CHECK(all_are(a, TILE, 2));
#pragma omp target update from(a[0 : TILE])
    CHECK(all_are(a, TILE, 6));
}

static void a_part(double *a)
{
    double *shown = a;
    fill(a, 4);
#pragma omp target data map(always, tofrom : shown[0 : TILE / 2]) use_device_ptr(shown)
    {
#pragma omp target is_device_ptr(shown)
        for (int i = 0; i < TILE; i++)
            shown[i] += 1;
    }
    CHECK(all_are(a, TILE / 2, 5) && all_are(a + TILE / 2, TILE / 2, 4));
#pragma omp target update from(a[0 : TILE])
    CHECK(all_are(a, TILE / 2, 5) && all_are(a + TILE / 2, TILE / 2, 7));
}

int main(void)
{
    fill(y, 5);
#pragma omp target enter data map(to : x)
    both_ways(x, y);
    into_devices(x);
    a_part(x);
#pragma omp target exit data map(from : x)
    CHECK(all_are(x, TILE / 2, 5) && all_are(x + TILE / 2, TILE / 2, 7));
    return check_result();
}
