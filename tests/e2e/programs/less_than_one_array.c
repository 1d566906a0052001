/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Devices that cannot hold even the first array: the host version runs, whatever the construct, also where the program
 * has written output before.
 *
 * memory: 4Ki
 * variants: task sync region update device_address mapped_pointer beside_shown nested enter_nowait host_task always
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { N = 4 * TILE };

static void task(double *x, double *y)
{
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 4; r++) {
#pragma omp target nowait depend(inout : x[0 : N]) map(tofrom : x[0 : N])
        for (int i = 0; i < N; i++)
            x[i] += 1;
#pragma omp target nowait depend(in : x[0 : N]) depend(inout : y[0 : N]) map(to : x[0 : N]) map(tofrom : y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] += x[i];
    }
    CHECK(all_are(x, N, 5) && all_are(y, N, 15));
}

static void sync(double *x, double *y)
{
    double sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : x[0 : N]) map(to : y[0 : N])
    for (int i = 0; i < N; i++)
        x[i] += y[i];
#pragma omp target map(to : x[0 : N]) map(tofrom : sum)
    for (int i = 0; i < N; i++)
        sum += x[i];
    CHECK(all_are(x, N, 2) && all_are(y, N, 1) && sum == 2 * N);
}

static void region(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : N]) map(to : y[0 : N])
    for (int r = 0; r < 3; r++)
#pragma omp target map(tofrom : x[0 : N]) map(to : y[0 : N])
        for (int i = 0; i < N; i++)
            x[i] += y[i];
    CHECK(all_are(x, N, 4) && all_are(y, N, 1));
}

static void update(double *x, double *y)
{
#pragma omp target enter data map(to : x[0 : N]) map(alloc : y[0 : N])
#pragma omp target
    for (int i = 0; i < N; i++)
        y[i] = 2 * x[i];
#pragma omp target update from(y[0 : TILE])
    CHECK(all_are(y, TILE, 2));
    for (int i = 0; i < N; i++)
        x[i] = 7;
#pragma omp target update to(x[TILE : TILE])
#pragma omp target
    for (int i = 0; i < N; i++)
        y[i] += x[i];
#pragma omp target exit data map(release : x[0 : N]) map(from : y[0 : N])
    CHECK(all_are(y + TILE, TILE, 9));
}

static void device_address(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : N]) map(to : y[0 : N])
    {
#pragma omp target data use_device_ptr(x, y)
#pragma omp target is_device_ptr(x, y)
        for (int i = 0; i < N; i++)
            x[i] += y[i];
#pragma omp target
        for (int i = 0; i < N; i++)
            x[i] *= 3;
    }
    CHECK(all_are(x, N, 6) && all_are(y, N, 1));
}

static void mapped_pointer(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : N])
    {
        double *shown = omp_get_mapped_ptr(x, omp_get_default_device());
        CHECK(shown != NULL);
        CHECK(omp_target_memcpy(shown, y, N * sizeof *y, 0, 0, omp_get_default_device(), omp_get_initial_device()) ==
              0);
#pragma omp target
        for (int i = 0; i < N; i++)
            x[i] += 5;
    }
    CHECK(all_are(x, N, 6));
}

/* What is shown fits; the kernel beside it does not. */
static void beside_shown(double *x, double *y)
{
    double *host_x = x;
#pragma omp target data map(tofrom : x[0 : 256]) use_device_ptr(x)
    {
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < 256; i++)
            x[i] += 1;
#pragma omp target map(tofrom : y[0 : N]) is_device_ptr(x)
        for (int i = 0; i < N; i++)
            y[i] += x[i % 256];
#pragma omp target map(tofrom : y[0 : N], host_x[0 : 256])
        for (int i = 0; i < N; i++) {
            y[i] += host_x[i % 256];
            host_x[i % 256] = 4;
        }
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < 256; i++)
            x[i] += 1;
    }
    CHECK(all_are(x, 256, 5) && all_are(y, 256, 5) && all_are(y + 256, N - 256, 7));
}

static void nested(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : N])
#pragma omp target data map(tofrom : y[0 : N]) map(tofrom : x[0 : TILE])
    {
#pragma omp target map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target map(tofrom : x[TILE : TILE], y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] += x[TILE + i % TILE];
    }
    CHECK(all_are(x, TILE, 2) && all_are(x + TILE, N - TILE, 1) && all_are(y, N, 2));
}

static void enter_nowait(double *x, double *y)
{
#pragma omp parallel
#pragma omp single
    {
#pragma omp target enter data nowait depend(out : x[0 : N]) map(to : x[0 : N])
#pragma omp target enter data nowait depend(out : y[0 : N]) map(alloc : y[0 : N])
#pragma omp target nowait depend(in : x[0 : N]) depend(out : y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] = x[i] + 1;
#pragma omp target nowait depend(inout : x[0 : N])
        for (int i = 0; i < N; i++)
            x[i] *= 4;
#pragma omp target exit data nowait depend(inout : x[0 : N]) map(from : x[0 : N])
#pragma omp target exit data nowait depend(inout : y[0 : N]) map(from : y[0 : N])
    }
    CHECK(all_are(x, N, 4) && all_are(y, N, 2));
}

static void host_task(double *x, double *y)
{
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 4; r++)
#pragma omp task depend(inout : x[0 : N]) depend(in : y[0 : N])
#pragma omp target data map(tofrom : x[0 : N]) map(to : y[0 : N]) use_device_ptr(x, y)
#pragma omp target is_device_ptr(x, y)
        for (int i = 0; i < N; i++)
            x[i] += y[i];
    CHECK(all_are(x, N, 5) && all_are(y, N, 1));
}

static void always(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : N])
    {
        for (int i = 0; i < N; i++)
            x[i] = 10;
#pragma omp target map(always, tofrom : x[0 : N]) map(to : y[0 : N])
        for (int i = 0; i < N; i++)
            x[i] += y[i];
        CHECK(all_are(x, N, 11));
    }
    CHECK(all_are(x, N, 11));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(double *x, double *y);
    } variants[] = {{"task", task},
                    {"sync", sync},
                    {"region", region},
                    {"update", update},
                    {"device_address", device_address},
                    {"mapped_pointer", mapped_pointer},
                    {"beside_shown", beside_shown},
                    {"nested", nested},
                    {"enter_nowait", enter_nowait},
                    {"host_task", host_task},
                    {"always", always}};
    puts("output before the first construct");
    fflush(stdout);
    double *x = make_tiles(N / TILE, 1), *y = make_tiles(N / TILE, 1);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (argc > 1 && strcmp(argv[1], variants[i].name) == 0)
            variants[i].run(x, y);
    free(x);
    free(y);
    return check_result();
}
