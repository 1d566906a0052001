/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Data constructs that name what was mapped on a device by its number beside what was mapped without: the one is
 * libomptarget's, the other in a region of the virtual device.
 */
#include "check.h"

#include <omp.h>

enum { N = 64 };

typedef struct node {
    long a;
    double *p;
    long b;
} node;

static double *x, *y;
static int device;

static void add_to_both(void)
{
#pragma omp target map(tofrom : x[0 : N], y[0 : N])
    for (int i = 0; i < N; i++) {
        x[i] += 100;
        y[i] += 100;
    }
}

static void add_to_x(void)
{
#pragma omp target map(tofrom : x[0 : N])
    for (int i = 0; i < N; i++)
        x[i] += 1;
}

static void begin(void)
{
    for (int i = 0; i < N; i++)
        x[i] = y[i] = i;
#pragma omp target enter data map(to : y[0 : N]) device(device)
#pragma omp target enter data map(to : x[0 : N])
}

static void end(double of_x, double of_y)
{
    CHECK(omp_target_is_present(x, device) && omp_target_is_present(y, device));
#pragma omp target exit data map(from : x[0 : N])
#pragma omp target exit data map(from : y[0 : N]) device(device)
    CHECK(!omp_target_is_present(x, device) && !omp_target_is_present(y, device));
    for (int i = 0; i < N; i++)
        CHECK(x[i] == i + of_x && y[i] == i + of_y);
}

static void regions(void)
{
    begin();
#pragma omp target data map(to : x[0 : N], y[0 : N])
    {
        add_to_x();
        add_to_both();
        add_to_x();
    }
    end(102, 100);
    begin();
#pragma omp target data map(present, alloc : x[0 : N]) map(to : y[0 : N])
    {
        add_to_both();
        add_to_x();
    }
    end(101, 100);
}

static void enter_and_exit(void)
{
    begin();
#pragma omp target enter data map(present, to : x[0 : N], y[0 : N])
    add_to_x();
#pragma omp target exit data map(present, from : x[0 : N], y[0 : N])
    end(1, 0);
}

static void updates(void)
{
    begin();
    for (int i = 0; i < N; i++)
        x[i] = y[i] = i + 10;
#pragma omp target update to(present : x[0 : N], y[0 : N])
    add_to_x();
    end(11, 10);
}

static void structs(void)
{
    node s = {1, x, 2};
    begin();
#pragma omp target enter data map(to : s) map(to : s.p[0 : N])
#pragma omp target enter data map(present, to : s.a, s.b) map(present, to : s.p[0 : N]) map(to : y[0 : N])
#pragma omp target
    {
        s.b += s.a;
        s.p[0] += 5;
    }
#pragma omp target exit data map(from : s.a, s.b) map(release : s.p[0 : N]) map(release : y[0 : N])
#pragma omp target exit data map(from : s) map(release : s.p[0 : N])
    CHECK(s.a == 1 && s.b == 3 && s.p == x);
#pragma omp target update from(x[0 : 1])
    CHECK(x[0] == 5);
#pragma omp target
    x[0] -= 5;
    end(0, 0);
}

int main(void)
{
    device = omp_get_default_device();
    x = make_tiles(1, 0);
    y = make_tiles(1, 0);
    regions();
    enter_and_exit();
    updates();
    structs();
    return check_result();
}
