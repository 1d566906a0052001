/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Constructs of the virtual device that name an associated range beside data of open regions: both are used where they
 * are, and the program's own memory stays what the host has written inside the region.
 *
 * memory: 48Ki
 */
#include "entered.h"

#include <omp.h>

enum { COUNT = 256 };

typedef struct holder {
    double *pointee;
    double value;
} holder;

/* The program's own device memory behind y, all 1000. */
static double *associated(double *y)
{
    int device = omp_get_default_device();
    double *copy = omp_target_alloc(COUNT * sizeof *copy, device), thousand[COUNT];
    for (int i = 0; i < COUNT; i++)
        thousand[i] = 1000;
    omp_target_memcpy(copy, thousand, sizeof thousand, 0, 0, device, omp_get_initial_device());
    CHECK(omp_target_associate_ptr(y, copy, COUNT * sizeof *y, 0, device) == 0);
    return copy;
}

static void dissociated(double *y, double *copy)
{
    int device = omp_get_default_device();
    CHECK(omp_target_disassociate_ptr(y, device) == 0);
    omp_target_free(copy, device);
    free(y);
}

static void a_kernel_with_an_associated_range(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y), seen = 0;
#pragma omp target map(tofrom : x[0 : TILE]) map(tofrom : y[0 : COUNT]) map(from : seen)
    {
        seen = y[3] + x[0];
        x[0] += y[0];
        y[3] += x[1];
    }
    CHECK(seen == 1001 && y[3] == 7);
#pragma omp target map(always, from : y[0 : COUNT]) map(tofrom : x[TILE : TILE])
    x[TILE] = y[3];
    CHECK(y[3] == 1001 && y[4] == 1000);
    LEFT(x, 1001, 1001);
    dissociated(y, copy);
}

static void tasks_with_an_associated_range(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
    double *z = make_tiles(1, 1);
    for (int i = 0; i < 6; i++) {
#pragma omp target nowait depend(inout : x[0], y[0]) map(tofrom : x[0 : TILE]) map(tofrom : y[0 : COUNT])
        {
            x[0] += 1;
            y[0] += x[0];
        }
#pragma omp target nowait depend(inout : x[TILE], z[0]) map(tofrom : x[TILE : TILE], z[0 : TILE])
        {
            x[TILE] += z[0];
            z[0] += 1;
        }
#pragma omp task depend(inout : x[TILE], y[0]) shared(x, y)
#pragma omp target map(tofrom : x[TILE : TILE]) map(tofrom : y[0 : COUNT])
        {
            x[TILE] += 1;
            y[1] += x[TILE];
        }
    }
#pragma omp taskwait
    CHECK(z[0] == 7 && all_are(y, COUNT, 7));
#pragma omp target update from(y[0 : COUNT])
    CHECK(y[0] == 1000 + 2 + 3 + 4 + 5 + 6 + 7 && y[1] == 1000 + 3 + 6 + 10 + 15 + 21 + 28 && y[2] == 1000);
    LEFT(x, 7, 28);
    free(z);
    dissociated(y, copy);
}

static void data_with_an_associated_range(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y), *z = make_tiles(1, 3);
#pragma omp target data map(tofrom : x[0 : TILE]) map(tofrom : y[0 : COUNT]) map(tofrom : z[0 : TILE])
    {
        z[0] = -3;
#pragma omp target map(tofrom : x[0 : TILE]) map(tofrom : y[0 : COUNT]) map(tofrom : z[0 : TILE])
        {
            x[0] += z[0];
            y[0] += z[0];
            z[1] = y[0] + x[0];
        }
        CHECK(all_are(x, 2 * TILE, -1) && all_are(y, COUNT, 7) && z[0] == -3 && z[1] == 3);
#pragma omp target update from(y[0 : 1], z[1 : 1])
        CHECK(y[0] == 1003 && z[1] == 1007 && z[0] == -3);
        y[1] = 20;
        z[1] = 30;
#pragma omp target update to(y[1 : 1], z[1 : 1])
#pragma omp target map(tofrom : x[0 : TILE]) map(tofrom : y[0 : COUNT]) map(tofrom : z[0 : TILE])
        x[0] += y[1] + z[1];
        CHECK(x[0] == -1);
    }
    CHECK(z[0] == 3 && z[1] == 30 && y[0] == 1003 && y[1] == 20 && y[2] == 7);
    LEFT(x, 54, 1);
    free(z);
    dissociated(y, copy);
}

static void addresses_of_both(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
#pragma omp target data map(tofrom : x[0 : TILE], y[0 : COUNT]) use_device_ptr(x, y)
    {
        CHECK(y == copy);
#pragma omp target is_device_ptr(x, y)
        {
            x[0] += y[0];
            y[1] = x[0];
        }
    }
    CHECK(all_are(x, 2 * TILE, -1));
#pragma omp target update from(y[0 : COUNT])
    CHECK(y[0] == 1000 && y[1] == 1001);
    LEFT(x, 1001, 1);
    dissociated(y, copy);
}

static void structs(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
    holder h = {x, 5}, g = {y, 6};
#pragma omp target map(tofrom : h) map(tofrom : h.pointee[0 : TILE]) map(tofrom : y[0 : COUNT])
    {
        h.pointee[0] += y[0];
        y[0] += h.value;
        h.value = 50;
    }
    CHECK(h.value == 50 && h.pointee == x && all_are(x, 2 * TILE, -1) && all_are(y, COUNT, 7));
#pragma omp target map(tofrom : g) map(tofrom : g.pointee[0 : COUNT]) map(tofrom : x[TILE : TILE])
    {
        x[TILE] += g.pointee[0];
        g.pointee[0] += g.value;
        g.value = 60;
    }
    CHECK(g.value == 60 && g.pointee == y && all_are(x, 2 * TILE, -1) && all_are(y, COUNT, 7));
#pragma omp target update from(y[0 : 1])
    CHECK(y[0] == 1011);
    LEFT(x, 1001, 1006);
    dissociated(y, copy);
}

#if __clang_major__ < 22 /* attaches it where both are present */
/* The pointer's own value is the host's, whatever the device's copy of it holds. */
static void a_struct_in_a_region(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
    holder *h = malloc(sizeof *h);
    *h = (holder){y, 1};
#pragma omp target enter data map(to : h[0 : 1])
    h->value = -5;
#pragma omp target map(tofrom : h[0 : 1]) map(tofrom : h->pointee[0 : COUNT]) map(tofrom : x[0 : 2 * TILE])
    {
        h->pointee[1] += h->value;
        x[0] += h->pointee[1];
        h->value = 3;
    }
    CHECK(h->value == -5 && h->pointee == y && y[1] == 7);
#pragma omp target map(tofrom : h[0 : 1], x[0 : 2 * TILE])
    x[TILE] += h->value;
#pragma omp target exit data map(from : h[0 : 1])
    CHECK(h->value == 3 && h->pointee == y);
    LEFT(x, 1002, 4);
    free(h);
    dissociated(y, copy);
}
#endif

static void data_with_structs(void)
{
    double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
    holder h = {y, 2};
#pragma omp target data map(tofrom : h, x[0 : 2 * TILE]) map(tofrom : h.pointee[0 : COUNT])
    {
        h.value = -2;
#pragma omp target map(tofrom : h, x[0 : 2 * TILE]) map(tofrom : h.pointee[0 : COUNT])
        {
            h.pointee[3] += h.value;
            x[0] += h.pointee[3];
            h.value++;
        }
#pragma omp target update from(h.pointee[0 : 5])
        CHECK(y[3] == 1002 && h.value == -2);
    }
    CHECK(h.value == 3 && h.pointee == y);
    LEFT(x, 1003, 1);
    dissociated(y, copy);
}

static void structs_of_several_threads(void)
{
#pragma omp parallel num_threads(4)
    {
        double *x = entered(), *y = make_tiles(1, 7), *copy = associated(y);
        for (int round = 0; round < 10; round++) {
            holder h = {x, 1}, g = {y, 2};
#pragma omp target map(tofrom : h, g) map(tofrom : h.pointee[0 : 2 * TILE]) map(tofrom : g.pointee[0 : COUNT])
            {
                h.pointee[0] += h.value;
                g.pointee[0] += g.value;
            }
#pragma omp target map(tofrom : x[0 : 2 * TILE]) map(tofrom : y[0 : COUNT])
            x[TILE] = y[0];
        }
        LEFT(x, 11, 1020);
        dissociated(y, copy);
    }
}

static void entered_together(void)
{
    double *x = make_tiles(1, 2), *y = make_tiles(1, 7), *copy = associated(y);
#pragma omp target enter data map(to : x[0 : TILE], y[0 : COUNT])
    x[0] = -2;
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE], y[0 : COUNT])
    {
        x[0] += 1;
        y[0] += x[0];
    }
#pragma omp target update nowait depend(inout : x[0]) from(x[0 : 1], y[0 : 1])
#pragma omp taskwait
    CHECK(x[0] == 3 && x[1] == 2 && y[0] == 1003 && y[1] == 7);
    x[0] = -2;
#pragma omp target exit data nowait depend(inout : x[0]) map(from : x[0 : TILE], y[0 : COUNT])
#pragma omp taskwait
    int device = omp_get_default_device();
    CHECK(x[0] == 3 && y[1] == 7 && !omp_target_is_present(x, device) && omp_target_is_present(y, device));
    free(x);
    dissociated(y, copy);
}

int main(void)
{
    a_kernel_with_an_associated_range();
    tasks_with_an_associated_range();
    data_with_an_associated_range();
    addresses_of_both();
    structs();
#if __clang_major__ < 22
    a_struct_in_a_region();
#endif
    data_with_structs();
    structs_of_several_threads();
    entered_together();
    return check_result();
}
