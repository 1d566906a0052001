/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs that pass through, to a device of their own or to the initial device, beside a region that holds the
 * same arrays: they work on the program's memory, which the region's contents on the virtual device do not touch, nor
 * they those.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

/* A region whose device contents are all 1, while the program's memory has 0. */
static double *entered(void)
{
    double *x = make_tiles(2, 0);
#pragma omp target enter data map(to : x[0 : 2 * TILE])
#pragma omp target map(tofrom : x[0 : 2 * TILE])
    for (int i = 0; i < 2 * TILE; i++)
        x[i] += 1;
    return x;
}

static void left(double *x, double first)
{
#pragma omp target map(tofrom : x[0 : 2 * TILE])
    x[0] += 1;
    CHECK(x[0] == first && x[5] == 0 && x[TILE] == 0);
#pragma omp target exit data map(from : x[0 : 2 * TILE])
    CHECK(x[0] == 2 && all_are(x + 1, 2 * TILE - 1, 1));
    free(x);
}

static void on_the_initial_device(int initial)
{
    double *x = entered(), seen = -1;
#pragma omp target map(tofrom : x[0 : TILE]) map(from : seen) device(initial)
    {
        seen = x[0];
        x[0] = 10;
    }
    CHECK(seen == 0 && x[0] == 10);
#pragma omp target device(initial)
    x[0] += 1;
    left(x, 11);
}

static void on_a_named_device(int device)
{
    double *x = entered(), seen = -1;
#pragma omp target map(tofrom : x[0 : TILE]) map(from : seen) device(device)
    {
        seen = x[0];
        x[0] = 10;
    }
    CHECK(seen == 0 && x[0] == 10);
    left(x, 10);
}

static void data_on_a_named_device(int device)
{
    double *x = entered();
#pragma omp target data map(tofrom : x[0 : TILE]) device(device)
    {
#pragma omp target map(tofrom : x[0 : TILE]) device(device)
        x[0] += 5;
        CHECK(x[0] == 0);
#pragma omp target update from(x[0 : 1]) device(device)
        CHECK(x[0] == 5);
#pragma omp target update from(x[1 : 1])
        CHECK(x[1] == 1);
        x[1] = 0;
#pragma omp target update to(x[1 : 1]) device(device)
    }
    left(x, 5);
}

static void tasks_on_both(int device)
{
    double *x = entered();
    for (int i = 0; i < 4; i++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE]) device(device)
        x[3] += 1;
#pragma omp target nowait depend(inout : x[TILE]) map(tofrom : x[TILE : TILE])
        x[TILE] += 1;
    }
#pragma omp taskwait
    CHECK(x[3] == 4 && x[TILE] == 0);
    x[3] = 0;
#pragma omp target map(tofrom : x[TILE : 1])
    x[TILE] -= 4;
    left(x, 0);
}

/* Outside of regions what tasks have left on the devices is there, also behind a pointer. */
static void after_tasks(int initial)
{
    double *x = make_tiles(2, 0), *y = x + TILE;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    x[0] += 1;
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : TILE])
    y[1] += 2;
#pragma omp target nowait depend(inout : x[0], y[0]) device(initial)
    x[0] += 10 * x[TILE + 1];
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    x[0] *= 2;
#pragma omp taskwait
    CHECK(x[0] == 42 && y[1] == 2);
    free(x);
}

int main(void)
{
    int initial = omp_get_initial_device();
    on_the_initial_device(initial);
    on_a_named_device(1);
    data_on_a_named_device(1);
    tasks_on_both(1);
    after_tasks(initial);
    return check_result();
}
