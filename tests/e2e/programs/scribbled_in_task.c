/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host task that works through device addresses changes data that its depend clause does not name, then maps them
 * `to` for a kernel that writes there: nobody is to see that, beside other data or alone, whether or not the task
 * changes them again.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { ROUNDS = 6 };

__attribute__((noinline)) static void add_one(double *x)
{
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void change(double *x)
{
    double *mapped = x;
#pragma omp target data map(tofrom : mapped[0 : TILE]) use_device_ptr(mapped)
    add_one(mapped);
}

static void scribble_beside(double *x, double *y)
{
    double *input = x, *other = y;
#pragma omp target data map(to : input[0 : TILE]) map(tofrom : other[0 : TILE]) use_device_ptr(input, other)
#pragma omp target is_device_ptr(input, other)
    for (int i = 0; i < TILE; i++) {
        input[i] += 100;
        other[i] += 1;
    }
}

static void scribble(double *x)
{
    double *input = x;
#pragma omp target data map(to : input[0 : TILE]) use_device_ptr(input)
#pragma omp target is_device_ptr(input)
    for (int i = 0; i < TILE; i++)
        input[i] += 100;
}

int main(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 0), *z = make_tiles(1, 0);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(inout : y[0])
        {
            change(x);
            scribble_beside(x, y);
        }
#pragma omp task depend(inout : y[0])
        {
            change(z);
            scribble(z);
            change(z);
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, TILE, ROUNDS));
    CHECK(all_are(y, TILE, ROUNDS));
    CHECK(all_are(z, TILE, 2 * ROUNDS));
    free(x);
    free(y);
    free(z);
    return check_result();
}
