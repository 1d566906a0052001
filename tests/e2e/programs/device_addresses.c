/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * use_device_ptr, use_device_addr and has_device_addr: of pointers, arrays, sections, scalars and struct members; the
 * address is that of omp_get_mapped_ptr, device memory functions accept it.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

static void pointer(double *x)
{
    int device = omp_get_default_device(), host = omp_get_initial_device();
    double value = 0, *shown = NULL, *host_x = x;
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target data use_device_ptr(x)
        {
            shown = x;
            CHECK(shown != host_x);
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
            CHECK(omp_target_memcpy(&value, x, sizeof value, 0, 8 * sizeof value, host, device) == 0);
            CHECK(value == 1);
            value = 100;
            CHECK(omp_target_memcpy(x, &value, sizeof value, 8 * sizeof value, 0, device, host) == 0);
        }
        CHECK(x == host_x);
    }
    CHECK(x[0] == 1 && x[8] == 100 && x[9] == 1);
}

static void array(void)
{
    double a[256], *host = a, *address = NULL;
    for (int i = 0; i < 256; i++)
        a[i] = i;
#pragma omp target data map(tofrom : a) use_device_addr(a)
    {
        address = a;
#pragma omp target has_device_addr(a)
        for (int i = 0; i < 256; i++)
            a[i] += 1;
    }
    CHECK(address != host);
    for (int i = 0; i < 256; i++)
        CHECK(a[i] == i + 1);
#pragma omp target data map(tofrom : a)
#pragma omp target data use_device_addr(a[0 : 256])
#pragma omp target has_device_addr(a[0 : 256])
    a[3] = -1;
    CHECK(a[3] == -1);
}

static void scalar(void)
{
    int s = 4;
#pragma omp target data map(tofrom : s)
#pragma omp target data use_device_addr(s)
#pragma omp target has_device_addr(s)
    s += 1;
    CHECK(s == 5);
}

static void middle(double *x)
{
    double *part = x + 100, *shown;
#pragma omp target data map(tofrom : x[0 : TILE])
    {
#pragma omp target data use_device_ptr(part)
        {
            shown = part;
#pragma omp target is_device_ptr(shown)
            shown[1] = 55;
        }
#pragma omp target data use_device_ptr(x, part)
        CHECK(part == x + 100);
    }
    CHECK(x[101] == 55);
}

static void mapped_ptr(double *x)
{
    int device = omp_get_default_device();
    double value = 3;
    CHECK(omp_get_mapped_ptr(x, device) == NULL);
#pragma omp target enter data map(to : x[0 : TILE])
    double *mapped = omp_get_mapped_ptr(x, device);
    CHECK(mapped != NULL && mapped != x);
    CHECK(omp_get_mapped_ptr(x + 10, device) == mapped + 10);
    if (mapped) {
        CHECK(omp_target_memcpy(mapped, &value, sizeof value, 0, 0, device, omp_get_initial_device()) == 0);
#pragma omp target is_device_ptr(mapped)
        mapped[1] = 4;
    }
#pragma omp target map(tofrom : x[0 : TILE])
    x[2] = x[0] + x[1];
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(x[0] == 3 && x[1] == 4 && x[2] == 7);
    CHECK(omp_get_mapped_ptr(x, device) == NULL);
    CHECK(omp_get_mapped_ptr(x, omp_get_initial_device()) == x);
}

static void in_tasks(double *x)
{
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 8; round++) {
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        x[0] += 1;
#pragma omp task depend(inout : x[0 : TILE])
#pragma omp target data use_device_ptr(x)
#pragma omp target is_device_ptr(x)
        x[0] *= 2;
    }
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(x[0] == 510 + 256 * 3);
}

/* Two pointers into one array, shown at once while the program holds its address already. */
static void twice(double *x)
{
#pragma omp target enter data map(to : x[0 : TILE])
    double *held = omp_get_mapped_ptr(x, omp_get_default_device()), *p = x, *q = x;
#pragma omp target data use_device_ptr(p, q)
#pragma omp target is_device_ptr(p, q)
    p[0] = q[1] + 40;
#pragma omp target is_device_ptr(held)
    held[1] = held[0] + 1;
#pragma omp target update from(x[0 : 2])
    CHECK(x[1] == x[0] + 1);
#pragma omp target exit data map(delete : x[0 : TILE])
}

/* Of an array of which another task has used a part, outside of any region. */
static void after_a_part(double *x)
{
    for (int i = 0; i < TILE; i++)
        x[i] = i;
#pragma omp target nowait depend(inout : x[TILE / 2]) map(tofrom : x[TILE / 2 : 10])
    x[TILE / 2] = -1;
#pragma omp taskwait
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
    x[1] = x[TILE / 2];
    CHECK(x[1] == -1 && x[TILE - 1] == TILE - 1);
    double *p = x;
#pragma omp target data map(always, tofrom : p[0 : TILE]) use_device_ptr(p)
#pragma omp target is_device_ptr(p)
    p[2] = p[1] - 1;
    CHECK(x[2] == -2);
}

/* What is shown then depends on libomptarget's version. */
static void absent(double *x)
{
    double *p = x, *q = x;
#pragma omp target data use_device_ptr(p)
    printf("absent: %s\n", p == x ? "its own address" : p ? "another one" : "none");
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(q)
    CHECK(q != NULL && q != x);
}

int main(void)
{
    double *x = make_tiles(1, 0);
    pointer(x);
    array();
    scalar();
    middle(x);
    mapped_ptr(x);
    in_tasks(x);
    twice(x);
    after_a_part(x);
    absent(x);
    free(x);
    return check_result();
}
