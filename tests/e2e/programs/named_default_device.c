/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * device(omp_get_default_device()) on some constructs, no clause on others: it is the same device, so data entered by
 * one are present for the other.
 *
 * environment: OMPDARTS_DEVICE_CLAUSE=pin
 * run: OMPDARTS_DEVICE_CLAUSE=auto
 * memory: 48Ki
 * says: passed through to libomptarget
 */
#include "check.h"

#include <omp.h>

static void named_enter(double *x)
{
    int device = omp_get_default_device();
#pragma omp target enter data device(device) map(to : x[0 : TILE])
    CHECK(omp_target_is_present(x, device));
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 0));
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp taskwait
#pragma omp target update from(x[0 : TILE])
    CHECK(all_are(x, TILE, 2));
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(!omp_target_is_present(x, device));
}

static void plain_enter(double *x)
{
    int device = omp_get_default_device();
#pragma omp target enter data map(to : x[0 : TILE])
    CHECK(omp_target_is_present(x, device));
#pragma omp target device(device) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 2));
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp target update device(device) from(x[0 : TILE])
    CHECK(all_are(x, TILE, 4));
#pragma omp target exit data device(device) map(from : x[0 : TILE])
    CHECK(!omp_target_is_present(x, device));
}

static void region(double *x)
{
    int device = omp_get_default_device();
#pragma omp target data device(device) map(tofrom : x[0 : TILE])
    {
#pragma omp target
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target data device(device) use_device_ptr(x)
#pragma omp target is_device_ptr(x) device(device)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        CHECK(all_are(x, TILE, 4));
    }
    CHECK(all_are(x, TILE, 6));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    named_enter(x);
    plain_enter(x);
    region(x);
    free(x);
    return check_result();
}
