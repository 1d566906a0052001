/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that offload from inside and use their data on the host as well: what they do not offload, in branches
 * that offload nothing, before a construct and after it. In turns with target tasks that use the same data on devices.
 *
 * run: OMPDARTS_COHERENCE=depend
 * run: OMPDARTS_COHERENCE=depend OMP_NUM_THREADS=1
 */
#include "check.h"

enum { COUNT = 8, ROUNDS = 20 };

/* A panel: x on a device, its pivots on the host. */
static void factorise(double *x, double *pivots, int round)
{
#pragma omp task depend(inout : x [0:TILE]) depend(out : pivots [0:TILE])
    {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        for (int i = 0; i < TILE; i++)
            pivots[i] = round + i;
    }
#pragma omp target nowait depend(in                                                                                    \
                                 : pivots [0:TILE]) depend(inout                                                       \
                                                           : x [0:TILE]) map(to                                        \
                                                                             : pivots [0:TILE]) map(tofrom             \
                                                                                                    : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += pivots[i];
}

/* tau is made on a device and read by the host in a task that offloads x. */
static void reflect(double *x, double *tau, double *sum)
{
#pragma omp target nowait depend(inout : tau [0:TILE]) map(tofrom : tau [0:TILE])
    for (int i = 0; i < TILE; i++)
        tau[i] += 1;
#pragma omp task depend(inout : x [0:TILE]) depend(in : tau [0:TILE])
    {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        for (int i = 0; i < TILE; i++)
            *sum += tau[i];
    }
}

/* Offloads in every second instance only. */
static void branch(double *x, bool offloads)
{
#pragma omp target nowait depend(inout : x [0:TILE]) map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task depend(inout : x [0:TILE])
    {
        if (offloads) {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] *= 2;
        } else {
            for (int i = 0; i < TILE; i++)
                x[i] *= 2;
        }
    }
}

/* The host uses x before the construct, and reads and writes it after it. */
static void read_after(double *x, double *sum)
{
#pragma omp target nowait depend(inout : x [0:TILE]) map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task depend(inout : x [0:TILE])
    {
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
#pragma omp target data map(tofrom : x [0:TILE])
        {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
        for (int i = 0; i < TILE; i++) {
            *sum += x[i];
            x[i] += 1;
        }
    }
}

static void check_panels(void)
{
    double *x = make_tiles(COUNT, 0), *pivots = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            factorise(x + t * TILE, pivots + t * TILE, round);
    for (int t = 0; t < COUNT; t++)
        for (int i = 0; i < TILE; i++)
            CHECK(x[t * TILE + i] == ROUNDS + ROUNDS * (ROUNDS - 1) / 2 + ROUNDS * i);
    free(x);
    free(pivots);
}

static void check_reflections(bool in_region)
{
    double *x = make_tiles(COUNT, 0), *tau = make_tiles(COUNT, 0), sum[COUNT] = {0};
#pragma omp target data map(tofrom : x [0:COUNT * TILE]) if (in_region)
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            reflect(x + t * TILE, tau + t * TILE, sum + t);
    CHECK(all_are(x, COUNT * TILE, ROUNDS));
    for (int t = 0; t < COUNT; t++)
        CHECK(sum[t] == TILE * ROUNDS * (ROUNDS + 1) / 2);
    free(x);
    free(tau);
}

static void check_branches(void)
{
    double *x = make_tiles(COUNT, 0), expected = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            branch(x + t * TILE, (round + t) % 2 == 0);
    for (int round = 0; round < ROUNDS; round++)
        expected = 2 * (expected + 1);
    CHECK(all_are(x, COUNT * TILE, expected));
    free(x);
}

static void check_reads(void)
{
    double *x = make_tiles(COUNT, 0), sum[COUNT] = {0}, expected = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            read_after(x + t * TILE, sum + t);
    CHECK(all_are(x, COUNT * TILE, 4 * ROUNDS));
    for (int round = 0; round < ROUNDS; round++)
        expected += TILE * (4 * round + 3);
    for (int t = 0; t < COUNT; t++)
        CHECK(sum[t] == expected);
    free(x);
}

int main(void)
{
    check_panels();
    check_reflections(false);
    check_reflections(true);
    check_branches();
    check_reads();
    return check_result();
}
