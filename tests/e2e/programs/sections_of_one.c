/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that name two sections of one array, or of what one member leads to, in a region: they reach both from one
 * pointer, so both lie in one copy.
 *
 * memory: 48Ki
 */
#include "check.h"

enum { ROWS = 6, COLUMNS = 512, STEPS = 4 };

typedef double matrix[ROWS][COLUMNS];

typedef struct holder {
    int n;
    double *x;
} holder;

static void fill(double *x)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = i % 7;
}

static void step(double *to, const double *from, int k)
{
    for (int j = 0; j < COLUMNS; j++)
        to[j] += from[(j + 1) % COLUMNS] + k;
}

static int before(int row)
{
    return row ? row - 1 : ROWS - 1;
}

static void expected(matrix a)
{
    fill(a[0]);
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < ROWS; i++)
            step(a[i], a[before(i)], k);
}

static void of_an_array(matrix a)
{
    static double b[ROWS][COLUMNS];
    fill(b[0]);
#pragma omp target enter data map(to : b)
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < ROWS; i++) {
            int l = before(i);
#pragma omp target nowait depend(in : b[l]) depend(inout : b[i]) map(to : b[l : 1]) map(tofrom : b[i : 1])
            step(b[i], b[l], k);
        }
#pragma omp target exit data map(from : b)
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a[0][i] -= b[0][i];
    CHECK(all_are(a[0], ROWS * COLUMNS, 0));
}

static void of_a_pointer(matrix a, double *x)
{
    fill(x);
#pragma omp target data map(tofrom : x[0 : ROWS * COLUMNS])
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < ROWS; i++) {
            int to = i * COLUMNS, from = before(i) * COLUMNS;
#pragma omp target map(tofrom : x[to : COLUMNS], x[from : COLUMNS])
            step(x + to, x + from, k);
        }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a[0][i] -= x[i];
    CHECK(all_are(a[0], ROWS * COLUMNS, 0));
}

static void of_a_member(matrix a, holder h)
{
    fill(h.x);
#pragma omp target data map(to : h) map(tofrom : h.x[0 : h.n])
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < ROWS; i++) {
            int to = i * COLUMNS, from = before(i) * COLUMNS;
#pragma omp target map(tofrom : h.x[from : COLUMNS], h.x[to : COLUMNS])
            step(h.x + to, h.x + from, k);
        }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a[0][i] -= h.x[i];
    CHECK(all_are(a[0], ROWS * COLUMNS, 0));
}

int main(void)
{
    static matrix a;
    double *x = make_tiles(ROWS * COLUMNS / TILE, 0);
    expected(a);
    of_an_array(a);
    expected(a);
    of_a_pointer(a, x);
    expected(a);
    of_a_member(a, (holder){ROWS * COLUMNS, x});
    free(x);
    return check_result();
}
