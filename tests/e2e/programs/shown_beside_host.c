/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that write through a device address which the program keeps, between others that use the same array and fit on
 * no device: what is copied out, and what the others compute with, is what the first ones have written.
 *
 * memory: 12Ki
 */
#include "check.h"

enum { ROUNDS = 5 };

static double a[TILE], b[TILE];

static bool are(const double *x, double value)
{
    for (int i = 0; i < TILE; i++)
        if (x[i] != value)
            return false;
    return true;
}

int main(void)
{
    double *kept = NULL;
#pragma omp target enter data map(to : a)
#pragma omp target data use_device_addr(a)
    kept = a;
#pragma omp target enter data map(alloc : b)
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp target map(tofrom : a, b)
        for (int i = 0; i < TILE; i++)
            b[i] = a[i] += 1;
#pragma omp target is_device_ptr(kept)
        for (int i = 0; i < TILE; i++)
            kept[i] += 10;
        if (round % 2) {
#pragma omp target update from(a)
            CHECK(are(a, 11 * round));
        }
#pragma omp target update from(b)
        CHECK(are(b, 11 * round - 10));
    }
#pragma omp target exit data map(from : a, b)
    CHECK(are(a, 11 * ROUNDS) && are(b, 11 * ROUNDS - 10));
    return check_result();
}
