/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A struct with a mapped pointer member, which libomptarget maps itself, between tasks that use the same array by its
 * own name: each sees what the other wrote.
 *
 * memory: 24Ki
 * run: OMPDARTS_MEM=4Ki OMPDARTS_SPILL=0
 */
#include "check.h"

#include <omp.h>

typedef struct vector {
    double *x;
    int length;
    double scale;
} vector;

static void synchronous(vector v)
{
    for (int round = 0; round < 3; round++) {
#pragma omp target map(tofrom : v) map(tofrom : v.x[0 : v.length])
        {
            for (int i = 0; i < v.length; i++)
                v.x[i] += v.scale;
            v.scale += 1;
        }
        double *x = v.x;
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 2;
    }
    CHECK(v.scale == 4);
    CHECK(all_are(v.x, TILE, 22)); /* 0, 1, 2, 4, 8, 11, 22 */
}

static void inside_a_region(vector v)
{
    double *x = v.x;
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target map(to : v) map(tofrom : v.x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            v.x[i] *= 3;
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
    CHECK(all_are(x, TILE, 4));
}

static void tasks(vector v)
{
    double *x = v.x;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 4; round++) {
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(to : v) map(tofrom : v.x[0 : TILE])
        for (int i = 0; i < v.length; i++)
            v.x[i] *= v.scale;
    }
    CHECK(all_are(x, TILE, 30)); /* 2, 6, 14, 30 */
}

/* The kernel cannot run on the host, whatever the memory. */
static void beside_device_memory(vector v)
{
    const double *x = v.x;
    double *m = omp_target_alloc(sizeof *m, omp_get_default_device());
#pragma omp target map(tofrom : v) map(tofrom : v.x[0 : v.length]) is_device_ptr(m)
    for (int i = 0; i < v.length; i++) {
        *m = v.scale;
        v.x[i] += *m;
    }
    CHECK(v.x == x);
    CHECK(all_are(x, TILE, 2));
    omp_target_free(m, omp_get_default_device());
}

int main(void)
{
    for (int part = 0; part < 4; part++) {
        vector v = {make_tiles(1, 0), TILE, part == 0 ? 1 : 2};
        if (part == 0)
            synchronous(v);
        else if (part == 1)
            inside_a_region(v);
        else if (part == 2)
            tasks(v);
        else
            beside_device_memory(v);
        free(v.x);
    }
    return check_result();
}
