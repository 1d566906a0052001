/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device addresses that the program keeps beyond the construct that showed them, in a table and in a private struct, while
 * other kernels use the arrays by name: they are good as long as the region is open.
 */
#include "check.h"

enum { LARGE = 16, STEPS = 3 };

typedef struct view {
    double *data;
    int n;
} view;

static void add(double *x, int n, double amount)
{
    for (int i = 0; i < n; i++)
        x[i] += amount;
}

/* Several devices, where there are. */
static void add_apart(double *a, double *b, double *large)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait depend(inout : *large) map(large[0 : LARGE * TILE])
        for (int k = 0; k < 20; k++)
            add(large, LARGE * TILE, 1);
#pragma omp target nowait depend(inout : *a) map(a[0 : TILE])
        for (int k = 0; k < 200; k++)
            add(a, TILE, 1);
#pragma omp target nowait depend(inout : *b) map(b[0 : TILE])
        for (int k = 0; k < 200; k++)
            add(b, TILE, 2);
    }
}

static void add_by_table(view table[2])
{
#pragma omp target map(to : table[0 : 2])
    for (int t = 0; t < 2; t++)
        add(table[t].data, table[t].n, 1);
    view first = table[0];
#pragma omp target firstprivate(first)
    add(first.data, first.n, 1);
}

int main(void)
{
    double *a = make_tiles(1, 0), *b = make_tiles(1, 0), *large = make_tiles(LARGE, 0);
    view table[2] = {{NULL, TILE}, {NULL, TILE}};
#pragma omp target enter data map(to : a[0 : TILE], b[0 : TILE], large[0 : LARGE * TILE])
#pragma omp target data use_device_ptr(a, b)
    {
        table[0].data = a;
        table[1].data = b;
    }
    for (int step = 0; step < STEPS; step++) {
        add_apart(a, b, large);
#pragma omp target map(a[0 : TILE], b[0 : TILE], large[0 : LARGE * TILE])
        for (int i = 0; i < TILE; i++) {
            a[i] += large[i];
            b[i] -= large[i];
        }
        add_by_table(table);
    }
#pragma omp target exit data map(from : a[0 : TILE], b[0 : TILE]) map(release : large[0 : LARGE * TILE])
    CHECK(all_are(a, TILE, STEPS * 202 + 20 + 40 + 60));
    CHECK(all_are(b, TILE, STEPS * 401 - 20 - 40 - 60));
    free(a);
    free(b);
    free(large);
    return check_result();
}
