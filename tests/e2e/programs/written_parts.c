/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that write parts of an array of which they say `in`, no two of them the same part: no two conflict, so OpenMP
 * allows it. In a region and outside, with the whole array mapped.
 *
 * memory: 64Ki
 */
#include "check.h"

enum { TASKS = 16, PART = TILE / TASKS };

static void write_parts(double *x, int from)
{
    for (int t = from; t < TASKS; t += 2) {
#pragma omp target nowait depend(in : x[0]) map(tofrom : x[0 : TILE])
        for (int i = t * PART; i < (t + 1) * PART; i++)
            x[i] = t + 1;
    }
}

static bool all_written(const double *x)
{
    for (int i = 0; i < TILE; i++)
        if (x[i] != i / PART + 1)
            return false;
    return true;
}

static void outside(void)
{
    double *x = make_tiles(1, 0);
    write_parts(x, 0);
    write_parts(x, 1);
#pragma omp taskwait
    CHECK(all_written(x));
    free(x);
}

static void in_a_region(void)
{
    double *x = make_tiles(1, 0);
#pragma omp target data map(tofrom : x[0 : TILE])
    {
        write_parts(x, 0);
        write_parts(x, 1);
#pragma omp taskwait
    }
    CHECK(all_written(x));
    free(x);
}

/* Beside an array that is read, whose tasks have no order but through what follows. */
static void then_read(void)
{
    double *x = make_tiles(1, 0), *sum = make_tiles(1, 0);
    write_parts(x, 0);
    write_parts(x, 1);
#pragma omp target nowait depend(inout : x[0]) depend(out : sum[0]) map(tofrom : x[0 : TILE]) map(from : sum[0 : 1])
    {
        double total = 0;
        for (int i = 0; i < TILE; i++)
            total += x[i];
        sum[0] = total;
    }
#pragma omp taskwait
    CHECK(sum[0] == TILE * (TASKS + 1) / 2);
    free(x);
    free(sum);
}

int main(void)
{
    for (int round = 0; round < 5; round++) {
        outside();
        in_a_region();
        then_read();
    }
    return check_result();
}
