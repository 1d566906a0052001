/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * omp_target_associate_ptr: with another device than the default one it concerns only constructs that name that, with
 * the initial device it is refused, as it is where a region begins; with the default device all constructs use the
 * program's memory there. What is not associated cannot be disassociated.
 */
#include "check.h"

#include <omp.h>

enum { COUNT = 256 };

static double *device_copy(int device)
{
    double *copy = omp_target_alloc(COUNT * sizeof *copy, device), thousand[COUNT];
    for (int i = 0; i < COUNT; i++)
        thousand[i] = 1000;
    omp_target_memcpy(copy, thousand, sizeof thousand, 0, 0, device, omp_get_initial_device());
    return copy;
}

static double add_without_clause(double *x, double value)
{
    double before;
#pragma omp target map(tofrom : x[0 : COUNT]) map(from : before)
    {
        before = x[0];
        x[0] += value;
    }
    return before;
}

static double add_on(int device, double *x, double value)
{
    double before;
#pragma omp target map(tofrom : x[0 : COUNT]) map(from : before) device(device)
    {
        before = x[0];
        x[0] += value;
    }
    return before;
}

static void with_another_device(void)
{
    double *x = make_tiles(1, 0), *copy = device_copy(1);
    CHECK(omp_target_associate_ptr(x, copy, COUNT * sizeof *x, 0, 1) == 0);
    CHECK(!omp_target_is_present(x, 0) && omp_target_is_present(x, 1));
    CHECK(add_without_clause(x, 1) == 0 && x[0] == 1);
    CHECK(add_on(1, x, 1) == 1000 && x[0] == 1);
    CHECK(add_on(1, x, 1) == 1001 && x[0] == 1);
    CHECK(add_without_clause(x, 1) == 1 && x[0] == 2);
#pragma omp target enter data map(to : x[0 : COUNT])
    CHECK(add_without_clause(x, 1) == 2 && x[0] == 2);
    CHECK(add_on(1, x, 1) == 1002 && x[0] == 2);
#pragma omp target exit data map(from : x[0 : COUNT])
    CHECK(x[0] == 3);
    CHECK(omp_target_disassociate_ptr(x, 1) == 0);
    CHECK(add_on(1, x, 1) == 3 && x[0] == 4);
    omp_target_free(copy, 1);
    free(x);
}

static void with_the_default_device(void)
{
    double *x = make_tiles(1, 0), *copy = device_copy(0), *other = device_copy(0);
    CHECK(omp_target_associate_ptr(x, copy, COUNT * sizeof *x, 0, 0) == 0);
    CHECK(add_without_clause(x, 1) == 1000 && x[0] == 0);
    CHECK(omp_target_associate_ptr(x, copy, COUNT * sizeof *x, 0, 0) == 0);
    CHECK(omp_target_associate_ptr(x, other, COUNT * sizeof *x, 0, 0) != 0);
#pragma omp target enter data map(to : x[0 : COUNT])
#pragma omp target exit data map(delete : x[0 : COUNT])
    CHECK(omp_target_is_present(x, 0));
    CHECK(omp_target_disassociate_ptr(x + 1, 0) != 0 && omp_target_is_present(x, 0));
    CHECK(add_without_clause(x, 1) == 1001 && x[0] == 0);
#pragma omp target update from(x[0 : 1])
    CHECK(x[0] == 1002);
    CHECK(omp_target_disassociate_ptr(x, 0) == 0 && omp_target_disassociate_ptr(x, 0) != 0);
    CHECK(!omp_target_is_present(x, 0));
    CHECK(add_without_clause(x, 1) == 1002 && x[0] == 1003);
    omp_target_free(copy, 0);
    omp_target_free(other, 0);
    free(x);
}

static void where_a_region_begins(void)
{
    double *x = make_tiles(1, 0), *copy = device_copy(0);
#pragma omp target enter data map(to : x[0 : COUNT])
    CHECK(omp_target_associate_ptr(x, copy, COUNT * sizeof *x, 0, 0) != 0);
    CHECK(add_without_clause(x, 1) == 0 && x[0] == 0);
    CHECK(omp_target_disassociate_ptr(x, 0) != 0 && omp_target_is_present(x, 0));
#pragma omp target exit data map(from : x[0 : COUNT])
    CHECK(x[0] == 1);
    omp_target_free(copy, 0);
    free(x);
}

static void with_the_initial_device(void)
{
    double *x = make_tiles(1, 0), *y = make_tiles(1, 5);
    CHECK(omp_target_associate_ptr(x, y, COUNT * sizeof *x, 0, omp_get_initial_device()) != 0);
    CHECK(omp_target_disassociate_ptr(x, omp_get_initial_device()) != 0);
    CHECK(add_without_clause(x, 1) == 0 && x[0] == 1 && y[0] == 5);
    free(x);
    free(y);
}

int main(void)
{
    with_another_device();
    with_the_default_device();
    where_a_region_begins();
    with_the_initial_device();
    return check_result();
}
