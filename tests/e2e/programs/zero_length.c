/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sections of length zero on data constructs take and give back references to what is present around them, and move
 * nothing; beside sections of the same region in one kernel they do not stand in each other's way.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

static bool present(const void *address)
{
    return omp_target_is_present(address, omp_get_default_device());
}

static void counted(double *x)
{
#pragma omp target enter data map(to : x[0 : 0])
    CHECK(!present(x));
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[100 : 0])
#pragma omp target exit data map(release : x[0 : TILE])
    CHECK(present(x));
#pragma omp target exit data map(release : x[0 : 0])
    CHECK(!present(x));
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target exit data map(delete : x[100 : 0])
    CHECK(!present(x));
}

static void nothing_moves(double *x)
{
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target map(tofrom : x[0 : TILE])
    x[0] = 7;
#pragma omp target exit data map(from : x[0 : 0])
    CHECK(!present(x) && x[0] == 0);
}

/* The kernel maps a part, and reaches the same region by a pointer without a section. */
static void beside_a_part(double *x)
{
    double *part = x + 8, *pointer = x + 8;
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target map(alloc : part[0 : TILE - 8])
    for (int i = 0; i < 16; i++)
        part[i] = 1 + pointer[i];
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(all_are(x, 8, 0) && all_are(x + 8, 16, 1) && all_are(x + 24, TILE - 24, 0));
}

/* The address of what an earlier kernel has divided, and has left in several places. */
static void address_of_divided(double *x)
{
#pragma omp target enter data map(alloc : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = 2;
    for (int at = 0; at < TILE / 2; at += TILE / 4) {
        double *part = x + at;
#pragma omp target update to(part[0 : TILE / 4])
    }
    for (int round = 0; round < 3; round++) {
        double *inside = x + TILE / 8, *quarter = x + TILE / 4;
#pragma omp target data use_device_ptr(inside)
#pragma omp target is_device_ptr(inside)
        inside[0] += 1;
#pragma omp target map(tofrom : quarter[0 : TILE / 4])
        quarter[0] += 1;
    }
#pragma omp target update from(x[0 : TILE / 2])
#pragma omp target exit data map(delete : x[0 : TILE])
    CHECK(x[TILE / 8] == 5 && x[TILE / 4] == 5 && x[0] == 2);
}

int main(void)
{
    double *x = make_tiles(1, 0);
    counted(x);
    nothing_moves(x);
    beside_a_part(x);
    address_of_divided(x);
    free(x);
    return check_result();
}
