/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that use one array in ways that overlap each other: a section of it that is mapped, all of it by a pointer,
 * and sections in depend clauses, which need not begin or end where the mapped one does.
 *
 * memory: 768Ki
 * stats: stats.tasks == 4 * (16 + 16 + 15 + 15)
 */
#include "check.h"

#include <stdint.h>

enum { N = 64 * TILE, B = N / 16, ROUNDS = 4 };

static double *a, *expected;

static void expect(int o)
{
    for (int i = 0; i < B; i++)
        expected[o + i] += 2;
}

static void mapped(int o)
{
    double *x = a, *y = a;
#pragma omp target nowait map(tofrom : x[o : B])
    for (int i = 0; i < B; i++) {
        x[o + i] += 5;
        y[o + i] -= 3;
    }
    expect(o);
}

static void mapped_and_named(int o)
{
    double *x = a, *y = a;
#pragma omp target nowait depend(inout : a[o : B]) map(tofrom : x[o : B])
    for (int i = 0; i < B; i++) {
        x[o + i] += 5;
        y[o + i] -= 3;
    }
    expect(o);
}

static void mapped_and_named_otherwise(int o)
{
    double *x = a, *y = a;
#pragma omp target nowait depend(inout : a[o + B / 3 : B]) map(tofrom : x[o : B])
    for (int i = 0; i < B; i++) {
        x[o + i] += 5;
        y[o + i] -= 3;
    }
    expect(o);
}

static void named_twice(int o)
{
    double *x = a;
#pragma omp target nowait depend(inout : x[o : B]) depend(in : x[o + B / 2 : B])
    for (int i = 0; i < B; i++)
        x[o + i] += 2;
    expect(o);
}

static void each(void (*task)(int), int n)
{
    for (int t = 0; t < n; t++)
        task(t * B);
#pragma omp taskwait
}

int main(void)
{
    a = make_tiles(N / TILE, 1);
    expected = make_tiles(N / TILE, 1);
#pragma omp target enter data map(to : a[0 : N])
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < ROUNDS; r++) {
        each(mapped, 16);
        each(mapped_and_named, 16);
        each(mapped_and_named_otherwise, 15);
        each(named_twice, 15);
    }
#pragma omp target exit data map(from : a[0 : N])
    for (int i = 0; i < N; i++)
        CHECK(a[i] == expected[i]);
    free(a);
    free(expected);
    return check_result();
}
