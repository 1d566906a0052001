/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * map(always) moves the data of a region in both directions, of a kernel that does not use them, too: of a synchronous
 * one, of a target task, and of those in host tasks that are run on a device.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { ROUNDS = 6 };

static void fill(double *x, double value)
{
    for (int i = 0; i < TILE; i++)
        x[i] = value;
}

static void add(double *x, double value)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

static void synchronous(double *x)
{
    int s = 0;
    fill(x, 1);
#pragma omp target enter data map(to : x[0 : TILE])
    fill(x, 2);
#pragma omp target map(always, to : x[0 : TILE]) map(tofrom : s)
    s = 1;
    fill(x, 3);
    add(x, 10);
#pragma omp target map(always, from : x[0 : TILE]) map(tofrom : s)
    s += 1;
    CHECK(s == 2 && all_are(x, TILE, 12));
    x[0] = 7;
#pragma omp target map(always, to : x[0 : 1]) map(tofrom : s) /* a part */
    s += 1;
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(s == 3 && x[0] == 7 && all_are(x + 1, TILE - 1, 12));
#pragma omp target map(always, tofrom : x[0 : TILE]) map(tofrom : s) /* no region: nothing changes */
    s += 1;
    CHECK(s == 4 && x[0] == 7 && all_are(x + 1, TILE - 1, 12));
}

static void target_tasks(double *x)
{
    int s = 0;
    fill(x, 1);
#pragma omp target enter data map(to : x[0 : TILE])
    fill(x, 2);
#pragma omp target nowait depend(out : x[0], s) map(always, to : x[0 : TILE]) map(tofrom : s)
    s = 1;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 10;
#pragma omp target nowait depend(inout : x[0], s) map(always, from : x[0 : TILE]) map(tofrom : s)
    s += 1;
#pragma omp taskwait
    CHECK(s == 2 && all_are(x, TILE, 12));
#pragma omp target exit data map(release : x[0 : TILE])
}

/* Of data that the kernels use, and of others, in tasks that may be run on a device once the first has been. */
static void host_tasks(double *x, double *y)
{
    int twice = 1;
    fill(x, 0);
    fill(y, 1);
#pragma omp target enter data map(to : x[0 : TILE], y[0 : TILE])
    for (int round = 0; round < ROUNDS; round++) {
        if (round)
            fill(x, 100);
#pragma omp task depend(inout : x[0 : TILE], y[0 : TILE])
        {
            if (round >= ROUNDS / 2) {
#pragma omp target map(always, to : x[0 : TILE]) map(tofrom : y[0 : TILE])
                y[0] += 1;
            }
#pragma omp target map(tofrom : x[0 : TILE], y[0 : TILE])
            for (int i = 0; i < TILE; i++)
                y[i] += x[i] += 1;
        }
#pragma omp task depend(inout : x[0 : TILE], y[0 : TILE])
        {
#pragma omp target map(always, tofrom : y[0 : TILE]) map(always, from : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                y[i] *= 2;
        }
#pragma omp taskwait
        twice *= 2;
        CHECK(all_are(x, TILE, round >= ROUNDS / 2 ? 101 : round + 1));
        CHECK(all_are(y, TILE, twice));
    }
#pragma omp target exit data map(release : x[0 : TILE], y[0 : TILE])
}

/* The same where the constructs show addresses. */
static void shown(double *x)
{
    fill(x, 1);
#pragma omp target enter data map(to : x[0 : TILE])
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(inout : x[0 : TILE])
        {
#pragma omp target data map(always, tofrom : x[0 : TILE]) use_device_ptr(x)
            {
#pragma omp target is_device_ptr(x)
                for (int i = 0; i < TILE; i++)
                    x[i] *= 2;
            }
        }
#pragma omp taskwait
        CHECK(all_are(x, TILE, 2));
        fill(x, 1);
    }
#pragma omp target exit data map(release : x[0 : TILE])
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0);
    synchronous(x);
    target_tasks(x);
    host_tasks(x, y);
    shown(x);
    free(x);
    free(y);
    return check_result();
}
