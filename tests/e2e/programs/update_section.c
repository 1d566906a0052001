/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * update to and from of sections of an array that is mapped as a whole, synchronous and with nowait: only the section
 * travels, the rest of the host's and of the device's contents stays.
 *
 * memory: 48Ki
 */
#include "check.h"

enum { COUNT = 4, LENGTH = COUNT * TILE };

static void add_one(double *x)
{
#pragma omp target map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        x[i] += 1;
}

static void synchronous(void)
{
    double *x = make_tiles(COUNT, 0);
#pragma omp target data map(tofrom : x[0 : LENGTH])
    {
        add_one(x);
#pragma omp target update from(x[TILE : TILE])
        CHECK(all_are(x + TILE, TILE, 1));
        for (int i = 0; i < TILE; i++)
            x[2 * TILE + i] = 100;
#pragma omp target update to(x[2 * TILE : TILE])
        add_one(x);
#pragma omp target update from(x[2 * TILE : TILE])
#pragma omp target update from(x[10 : 5])
        CHECK(all_are(x + 2 * TILE, TILE, 101));
        CHECK(all_are(x + 10, 5, 2));
    }
    CHECK(all_are(x, 2 * TILE, 2));
    CHECK(all_are(x + 2 * TILE, TILE, 101));
    CHECK(all_are(x + 3 * TILE, TILE, 2));
    free(x);
}

static void asynchronous(void)
{
    double *x = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    {
#pragma omp target enter data nowait depend(out : x[0 : LENGTH]) map(to : x[0 : LENGTH])
#pragma omp target nowait depend(inout : x[0 : LENGTH]) map(tofrom : x[0 : LENGTH])
        for (int i = 0; i < LENGTH; i++)
            x[i] += 1;
#pragma omp target update nowait depend(inout : x[0 : LENGTH]) from(x[TILE : TILE])
#pragma omp task depend(inout : x[0 : LENGTH])
        for (int i = 0; i < TILE; i++)
            x[TILE + i] *= 50;
#pragma omp target update nowait depend(inout : x[0 : LENGTH]) to(x[TILE : TILE])
#pragma omp target nowait depend(inout : x[0 : LENGTH]) map(tofrom : x[0 : LENGTH])
        for (int i = 0; i < LENGTH; i++)
            x[i] += 1;
#pragma omp target exit data nowait depend(inout : x[0 : LENGTH]) map(from : x[0 : LENGTH])
    }
    CHECK(all_are(x, TILE, 2));
    CHECK(all_are(x + TILE, TILE, 51));
    CHECK(all_are(x + 2 * TILE, 2 * TILE, 2));
    free(x);
}

int main(void)
{
    synchronous();
    asynchronous();
    return check_result();
}
