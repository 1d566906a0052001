/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Modifiers and types of maps: always, close, present, ompx_hold, alloc, release, delete, counted as references:
 * presence after each step, and which contents the host sees in the end.
 *
 * memory: 32Ki
 */
#include "check.h"

#include <omp.h>

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static void add(double *x, double value)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

/* Each enter counts one up, each release one down, delete to none. */
static void counted(double *x)
{
    CHECK(!present(x));
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(alloc : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
    add(x, 1);
    CHECK(present(x) && present(x + TILE - 1));
#pragma omp target exit data map(release : x[0 : TILE])
    CHECK(present(x));
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(present(x));
    CHECK(all_are(x, TILE, 0)); /* not the last reference: nothing comes back */
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(!present(x));
    CHECK(all_are(x, TILE, 1));
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
    CHECK(present(x));
#pragma omp target exit data map(delete : x[0 : TILE])
    CHECK(!present(x));
#pragma omp target exit data map(release : x[0 : TILE])
#pragma omp target exit data map(delete : x[0 : TILE])
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(!present(x));
    CHECK(all_are(x, TILE, 1));
}

static void always_in_the_middle(double *x)
{
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
    add(x, 1);
#pragma omp target exit data map(always, from : x[0 : TILE])
    CHECK(all_are(x, TILE, 2));
    CHECK(present(x));
    for (int i = 0; i < TILE; i++)
        x[i] = 7;
#pragma omp target enter data map(always, to : x[0 : TILE])
    add(x, 1);
#pragma omp target exit data map(release : x[0 : TILE])
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(!present(x));
    CHECK(all_are(x, TILE, 8));
}

static void present_modifier(double *x)
{
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target map(present, tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target map(present, alloc : x[8 : 16])
        for (int i = 8; i < 24; i++)
            x[i] += 1;
#pragma omp target data map(present, to : x[0 : TILE])
        add(x, 1);
#pragma omp target update from(present : x[0 : TILE])
        CHECK(x[0] == 10 && x[8] == 11);
#pragma omp target update to(present : x[0 : 8])
#pragma omp target map(present, always, tofrom : x[0 : TILE])
        x[0] += 1;
        CHECK(x[0] == 11 && x[1] == 10);
    }
    CHECK(!present(x));
    CHECK(x[0] == 11 && x[8] == 11 && x[24] == 10);
}

static void hold(double *x)
{
#pragma omp target data map(ompx_hold, tofrom : x[0 : TILE])
    {
        add(x, 1);
#pragma omp target exit data map(delete : x[0 : TILE])
        CHECK(present(x));
#pragma omp target exit data map(delete : x[0 : TILE])
        CHECK(present(x));
        add(x, 1);
        CHECK(x[1] == 10); /* present still: nothing came back */
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target exit data map(delete : x[0 : TILE])
        CHECK(present(x));
    }
    CHECK(!present(x));
    CHECK(x[1] == 12);
#pragma omp target map(ompx_hold, tofrom : x[0 : TILE])
    x[1] += 1;
    CHECK(x[1] == 13);
}

/* A region of another kind with a hold inside it: one region, kernels see one set of contents. */
static void hold_inside(double *x)
{
    for (int i = 0; i < TILE; i++)
        x[i] = 1;
#pragma omp target enter data map(to : x[0 : TILE])
    add(x, 1);
#pragma omp target data map(ompx_hold, alloc : x[0 : TILE])
    {
        add(x, 1);
#pragma omp target exit data map(delete : x[0 : TILE])
        CHECK(present(x));
        add(x, 1);
#pragma omp target update from(x[0 : TILE])
    }
    CHECK(!present(x) && all_are(x, TILE, 4));
}

static void close_modifier(double *x)
{
    for (int i = 0; i < TILE; i++)
        x[i] = 1;
#pragma omp target data map(close, tofrom : x[0 : TILE])
    {
        CHECK(present(x));
#pragma omp target map(close, tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 3;
        add(x, 1);
    }
    CHECK(all_are(x, TILE, 4));
#pragma omp target enter data map(close, to : x[0 : TILE])
    add(x, 1);
#pragma omp target exit data map(close, from : x[0 : TILE])
    CHECK(all_are(x, TILE, 5));
#pragma omp target map(close, always, tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 6));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    counted(x);
    always_in_the_middle(x);
    present_modifier(x);
    hold(x);
    hold_inside(x);
    close_modifier(x);
    free(x);
    return check_result();
}
