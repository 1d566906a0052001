/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Updates of what is not contiguous: two-dimensional sections with strides, both ways, synchronous and in tasks. What
 * lies between stays. (Those of one dimension are moved wrongly by code of clang 19 and 22: docs/openmp.md.)
 *
 * memory: 48Ki
 */
#include "check.h"

static double a[8][16], b[6][10];

/* In the sections below: each second row and column. */
static bool is_hit(int i, int j)
{
    return i % 2 == 0 && j % 2 == 0;
}

static void from_device(void)
{
    for (int i = 0; i < 128; i++)
        a[i / 16][i % 16] = i;
#pragma omp target data map(to : a)
    {
#pragma omp target
        for (int i = 0; i < 128; i++)
            a[i / 16][i % 16] += 1000;
#pragma omp target update from(a[0 : 4 : 2][0 : 8 : 2])
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 16; j++)
                CHECK(a[i][j] == i * 16 + j + (is_hit(i, j) ? 1000 : 0));
    }
}

static void to_device(void)
{
    for (int i = 0; i < 128; i++)
        a[i / 16][i % 16] = i;
#pragma omp target data map(to : a)
    {
#pragma omp target
        a[0][0] += 1;
        for (int i = 0; i < 128; i++)
            a[i / 16][i % 16] = 0;
#pragma omp target update to(a[0 : 4 : 2][0 : 8 : 2])
#pragma omp target
        for (int i = 0; i < 128; i++)
            a[i / 16][i % 16] += 1;
#pragma omp target update from(a)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 16; j++)
                CHECK(a[i][j] == 1 + (is_hit(i, j) ? 0 : i * 16 + j));
    }
}

static void in_tasks(void)
{
#pragma omp target enter data map(to : b)
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 4; round++) {
#pragma omp target nowait depend(inout : b) map(tofrom : b)
        for (int i = 0; i < 60; i++)
            b[i / 10][i % 10] += 1;
#pragma omp target update nowait depend(inout : b) from(b[0 : 3 : 2][0 : 5 : 2])
#pragma omp task depend(inout : b)
        for (int i = 0; i < 60; i++)
            if (is_hit(i / 10, i % 10))
                b[i / 10][i % 10] += 10;
#pragma omp target update nowait depend(inout : b) to(b[0 : 3 : 2][0 : 5 : 2])
    }
#pragma omp target exit data map(from : b)
    for (int i = 0; i < 60; i++)
        CHECK(b[i / 10][i % 10] == (is_hit(i / 10, i % 10) ? 44 : 4));
}

int main(void)
{
    from_device();
    to_device();
    in_tasks();
    return check_result();
}
