/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program's own device memory: omp_target_alloc, memcpy, memcpy_rect, memset, associate_ptr, disassociate_ptr,
 * is_present, get_mapped_ptr, and the asynchronous copies with dependence objects, between kernels and regions.
 *
 * memory: 48Ki
 * says: passed through to libomptarget
 */
#include "check.h"

#include <omp.h>

static int device, host;

static void copies(void)
{
    double x[256], back[256];
    for (int i = 0; i < 256; i++)
        x[i] = i;
    double *a = omp_target_alloc(sizeof x, device), *b = omp_target_alloc(sizeof x, device);
    CHECK(a && b);
    CHECK(!omp_target_is_present(a, device) || a == x);
    CHECK(omp_target_memcpy(a, x, sizeof x, 0, 0, device, host) == 0);
    CHECK(omp_target_memcpy(b, a, sizeof x / 2, sizeof x / 2, 0, device, device) == 0);
    CHECK(omp_target_memcpy(b, a, sizeof x / 2, 0, sizeof x / 2, device, device) == 0);
#pragma omp target teams distribute parallel for is_device_ptr(a, b)
    for (int i = 0; i < 256; i++)
        b[i] += a[i];
    CHECK(omp_target_memcpy(back, b, sizeof x, 0, 0, host, device) == 0);
    for (int i = 0; i < 256; i++)
        CHECK(back[i] == i + (i + 128) % 256);
    CHECK(omp_target_memcpy(back, x, sizeof x, 0, 0, host, host) == 0);
    CHECK(back[255] == 255);
    if (omp_get_num_devices() > 1) {
        double *other = omp_target_alloc(sizeof x, 1);
        CHECK(omp_target_memcpy(other, b, sizeof x, 0, 0, 1, device) == 0);
#pragma omp target is_device_ptr(other) device(1)
        other[0] += 1;
        CHECK(omp_target_memcpy(back, other, sizeof x, 0, 0, host, 1) == 0);
        CHECK(back[0] == 129 && back[1] == 130);
        omp_target_free(other, 1);
    }
    omp_target_free(a, device);
    omp_target_free(b, device);
    omp_target_free(NULL, device);
    double *on_host = omp_target_alloc(64, host);
    CHECK(on_host != NULL);
    on_host[0] = 1;
    omp_target_free(on_host, host);
}

/* LLVM's own allocation: tasks that are given the address run where the memory is. */
void *llvm_omp_target_alloc_device(size_t size, int device);
void llvm_omp_target_free_device(void *address, int device);

static void of_llvm(void)
{
    enum { TASKS = 16 };
    double x[TASKS][2] = {{0}}, back[TASKS];
    double *a = llvm_omp_target_alloc_device(sizeof back, device);
    for (int i = 0; i < TASKS; i++) {
        double *own = x[i];
#pragma omp target nowait is_device_ptr(a) map(tofrom : own[0 : 2])
        {
            a[i] = i + 1;
            own[1] = 2 * i;
        }
    }
#pragma omp taskwait
    CHECK(omp_target_memcpy(back, a, sizeof back, 0, 0, host, device) == 0);
    for (int i = 0; i < TASKS; i++)
        CHECK((int)back[i] == i + 1 && (int)x[i][1] == 2 * i);
    llvm_omp_target_free_device(a, device);
}

static void rectangles(void)
{
    double x[8][16], back[8][16];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++) {
            x[i][j] = i * 16 + j;
            back[i][j] = -1;
        }
    double *a = omp_target_alloc(sizeof x, device);
    const size_t all[2] = {8, 16}, part[2] = {3, 5}, from[2] = {2, 4}, to[2] = {1, 0}, origin[2] = {0, 0};
    CHECK(omp_target_memcpy_rect(NULL, NULL, 8, 2, NULL, NULL, NULL, NULL, NULL, device, host) >= 3);
    CHECK(omp_target_memcpy_rect(a, x, sizeof(double), 2, all, origin, origin, all, all, device, host) == 0);
#pragma omp target is_device_ptr(a)
    for (int i = 0; i < 128; i++)
        a[i] += 1000;
    CHECK(omp_target_memcpy_rect(back, a, sizeof(double), 2, part, to, from, all, all, host, device) == 0);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++)
            CHECK(back[i][j] == (i >= 1 && i < 4 && j < 5 ? 1000 + (i + 1) * 16 + j + 4 : -1));
    omp_target_free(a, device);
}

static void set(void)
{
    unsigned char back[100];
    unsigned char *a = omp_target_alloc(100, device);
    CHECK(omp_target_memset(a, 7, 100, device) == a);
    CHECK(omp_target_memset(a + 10, 9, 5, device) == a + 10);
    CHECK(omp_target_memcpy(back, a, 100, 0, 0, host, device) == 0);
    CHECK(back[9] == 7 && back[10] == 9 && back[14] == 9 && back[15] == 7 && back[99] == 7);
    omp_target_free(a, device);
}

static void association(double *x)
{
    double *a = omp_target_alloc(2 * TILE * sizeof *a, device), value = 5;
    CHECK(omp_target_associate_ptr(x, a, TILE * sizeof *x, 64, device) == 0);
    CHECK(omp_target_is_present(x, device) && omp_target_is_present(x + TILE - 1, device));
    CHECK(omp_get_mapped_ptr(x, device) == (char *)a + 64);
    CHECK(omp_target_associate_ptr(x, a, TILE * sizeof *x, 64, device) == 0); /* once more the same: allowed */
    for (int i = 0; i < TILE; i++)
        x[i] = 1;
#pragma omp target update to(x[0 : TILE])
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
    CHECK(all_are(x, TILE, 1));
#pragma omp target map(always, tofrom : x[0 : TILE])
    x[0] += 1;
    CHECK(x[0] == 2 && x[1] == 1);
#pragma omp target data map(tofrom : x[0 : TILE])
#pragma omp target
    x[1] = 9;
    CHECK(x[1] == 1);
    CHECK(omp_target_memcpy(a, &value, sizeof value, 64 + 3 * sizeof value, 0, device, host) == 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 5; round++) {
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
        x[3] += 1;
    }
#pragma omp target update from(x[0 : TILE])
    CHECK(x[0] == 2 && x[1] == 9 && x[2] == 1 && x[3] == 10);
    CHECK(omp_target_disassociate_ptr(x, device) == 0);
    CHECK(!omp_target_is_present(x, device));
    CHECK(omp_target_disassociate_ptr(x, device) != 0);
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = 4;
    CHECK(all_are(x, TILE, 4));
    omp_target_free(a, device);
}

static void asynchronous(double *x)
{
    double *a = omp_target_alloc(TILE * sizeof *a, device);
    int token = 0;
    omp_depend_t after[1];
#pragma omp parallel
#pragma omp single
    {
#pragma omp depobj(after[0]) depend(inout : token)
        for (int i = 0; i < TILE; i++)
            x[i] = 1;
        CHECK(omp_target_memcpy_async(a, x, TILE * sizeof *x, 0, 0, device, host, 1, after) == 0);
        for (int round = 0; round < 4; round++) {
#pragma omp target nowait is_device_ptr(a) depend(inout : token)
            for (int i = 0; i < TILE; i++)
                a[i] *= 2;
        }
        CHECK(omp_target_memcpy_async(x, a, TILE * sizeof *x, 0, 0, host, device, 1, after) == 0);
#pragma omp target nowait depend(inout : token) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp task depend(depobj : after[0])
        CHECK(all_are(x, TILE, 17));
#pragma omp taskwait
        CHECK(omp_target_memset_async(a, 0, TILE * sizeof *x, device, 1, after) == a);
        CHECK(omp_target_memcpy_async(x, a, TILE * sizeof *x, 0, 0, host, device, 1, after) == 0);
#pragma omp taskwait
        CHECK(all_are(x, TILE, 0));
        const size_t all[1] = {TILE}, origin[1] = {0};
        for (int i = 0; i < TILE; i++)
            x[i] = 3;
        CHECK(omp_target_memcpy_rect_async(a, x, sizeof *x, 1, all, origin, origin, all, all, device, host, 1, after) ==
              0);
#pragma omp target nowait is_device_ptr(a) depend(inout : token) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += a[i];
#pragma omp depobj(after[0]) destroy
    }
    CHECK(all_are(x, TILE, 6));
    omp_target_free(a, device);
}

static void presence(double *x)
{
    CHECK(omp_target_is_present(x, host));
    CHECK(!omp_target_is_present(x, device));
    CHECK(!omp_target_is_present(NULL, device));
#pragma omp target enter data map(to : x[0 : 100])
    CHECK(omp_target_is_present(x, device) && omp_target_is_present(x + 99, device));
    CHECK(!omp_target_is_present(x + 100, device));
#pragma omp target exit data map(delete : x[0 : 100])
    CHECK(!omp_target_is_present(x, device));
    CHECK(omp_get_mapped_ptr(x, device) == NULL && omp_get_mapped_ptr(x, host) == x);
}

/* Given back in another order than taken; what stays is known as its device's. */
static void many(void)
{
    enum { COUNT = 10000, STEP = 7919 };
    static double *address[COUNT];
    double sum = 0, *x, *y;
    for (int i = 0; i < COUNT; i++)
        address[i] = omp_target_alloc(8 * (size_t)(1 + i % 3), device);
    for (int i = 0; i < COUNT; i++)
        if (i * STEP % COUNT % 100)
            omp_target_free(address[i * STEP % COUNT], device);
    for (int i = 0; i < COUNT; i += 100) {
        double value = i;
        x = address[i];
        CHECK(omp_target_memcpy(x, &value, sizeof value, 0, 0, device, host) == 0);
    }
    for (int i = 0; i + 100 < COUNT; i += 1000) {
        x = address[i];
        y = address[i + 100];
#pragma omp target is_device_ptr(x, y) map(tofrom : sum)
        sum += y[0] - x[0];
    }
    CHECK(sum == 1000);
    for (int i = 0; i < COUNT; i += 100)
        omp_target_free(address[i], device);
}

int main(void)
{
    device = omp_get_default_device();
    host = omp_get_initial_device();
    CHECK(host == omp_get_num_devices() && omp_is_initial_device());
    double *x = make_tiles(1, 0);
    copies();
    of_llvm();
    rectangles();
    set();
    association(x);
    asynchronous(x);
    presence(x);
    many();
    free(x);
    return check_result();
}
