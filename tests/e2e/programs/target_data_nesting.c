/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * target data inside target data: the inner construct neither copies nor drops what the outer one holds; `always`
 * copies all the same; delete at the end of an inner enter/exit pair ends all of them; use_device_ptr of what is
 * present.
 *
 * memory: 32Ki
 */
#include "check.h"

static void add(double *x, double value)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

static void inner_copies_nothing(double *x)
{
#pragma omp target data map(tofrom : x[0 : TILE])
    {
        add(x, 1);
#pragma omp target data map(tofrom : x[0 : TILE])
        add(x, 1);
        CHECK(all_are(x, TILE, 0)); /* still the host's */
#pragma omp target data map(alloc : x[0 : TILE])
        add(x, 1);
#pragma omp target data map(from : x[0 : TILE])
        add(x, 1);
        CHECK(all_are(x, TILE, 0));
    }
    CHECK(all_are(x, TILE, 4));
}

static void always_copies(double *x)
{
#pragma omp target data map(to : x[0 : TILE])
    {
        add(x, 1);
#pragma omp target map(always, from : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        CHECK(all_are(x, TILE, 6));
        for (int i = 0; i < TILE; i++)
            x[i] = 10;
#pragma omp target map(always, to : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        CHECK(all_are(x, TILE, 10));
#pragma omp target data map(always, tofrom : x[0 : TILE])
        add(x, 1);
        CHECK(all_are(x, TILE, 11));
        add(x, 1);
    }
    CHECK(all_are(x, TILE, 11)); /* mapped `to`: not copied back */
}

static void delete_ends_all(double *x)
{
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
    add(x, 1);
#pragma omp target exit data map(delete : x[0 : TILE])
    CHECK(all_are(x, TILE, 11));
    add(x, 1);
    CHECK(all_are(x, TILE, 12));
}

static void shown_address(double *x)
{
#pragma omp target data map(tofrom : x[0 : TILE])
    {
        add(x, 1);
#pragma omp target data use_device_ptr(x)
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        add(x, 1);
    }
    CHECK(all_are(x, TILE, 15));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    inner_copies_nothing(x);
    always_copies(x);
    delete_ends_all(x);
    shown_address(x);
    free(x);
    return check_result();
}
