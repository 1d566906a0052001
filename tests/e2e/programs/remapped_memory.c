/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Large tiles whose memory is given back to the system and mapped again at the same addresses, with other contents:
 * between synchronisation points, in host tasks that depend on them, and after data regions that do not fit the
 * devices. What was kept about the old pages (pins, copies) must not outlive them.
 *
 * memory: 600Ki
 * environment: CUDA_DOUBLE_WATCH_PINS=1
 * run: OMPDARTS_COHERENCE=depend
 */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

enum { COUNT = 5, ROUNDS = 4, LENGTH = 20 * TILE + 7, BYTES = 41 * 4096 };

static double *map_at(double *address, double value)
{
    double *x =
        mmap(address, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED : 0), -1, 0);
    if (x == MAP_FAILED)
        abort();
    for (int i = 0; i < LENGTH; i++)
        x[i] = value;
    return x;
}

static void unmap(double *x)
{
    CHECK(munmap(x, BYTES) == 0);
}

/* Other pages at the same address, in one step: in between another thread's might come to lie there. */
static void renew(double *x, double value)
{
    CHECK(map_at(x, value) == x);
}

static void add_one(double *x)
{
#pragma omp target nowait depend(inout : x[0 : LENGTH]) map(tofrom : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        x[i] += 1;
}

/* y += x */
static void add(double *y, const double *x)
{
#pragma omp target nowait depend(inout : y[0 : LENGTH]) depend(in : x[0 : LENGTH]) map(tofrom : y[0 : LENGTH])         \
    map(to : x[0 : LENGTH])
    for (int i = 0; i < LENGTH; i++)
        y[i] += x[i];
}

static void between_taskwaits(double **x)
{
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
#pragma omp single
        for (int t = 0; t < COUNT; t++) {
            add_one(x[t]);
            add(x[t], x[(t + 1) % COUNT]);
            add_one(x[t]);
        }
        double first = round;
        for (int t = 0; t < COUNT; t++) {
            double next = t + 1 < COUNT ? round : first;
            CHECK(all_are(x[t], LENGTH, round + 2 + next));
            if (t == 0)
                first = round + 2 + next;
            if (round % 2)
                renew(x[t], round + 1);
            else
                for (int i = 0; i < LENGTH; i++)
                    x[t][i] = round + 1;
        }
    }
}

static void in_host_tasks(double **x)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x[t];
            add_one(tile);
            add_one(tile);
#pragma omp task depend(inout : tile[0 : LENGTH])
            {
                CHECK(all_are(tile, LENGTH, ROUNDS + 2));
                renew(tile, ROUNDS);
            }
        }
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x[t], LENGTH, ROUNDS));
}

static void after_regions(double **x)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < COUNT; t++) {
            double *tile = x[t];
#pragma omp target enter data map(to : tile[0 : LENGTH])
        }
#pragma omp parallel
#pragma omp single
        for (int step = 0; step < 3; step++)
            for (int t = 0; t < COUNT; t++)
                add_one(x[t]);
        for (int t = 0; t < COUNT; t++) {
            double *tile = x[t];
            if (t % 2) {
#pragma omp target exit data map(from : tile[0 : LENGTH])
                CHECK(all_are(tile, LENGTH, ROUNDS + round + 3));
            } else {
#pragma omp target exit data map(release : tile[0 : LENGTH])
            }
            renew(tile, ROUNDS + round + 1);
        }
    }
}

int main(void)
{
    double *x[COUNT];
    for (int t = 0; t < COUNT; t++)
        x[t] = map_at(NULL, 0);
    between_taskwaits(x);
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x[t], LENGTH, ROUNDS));
    in_host_tasks(x);
    after_regions(x);
    for (int t = 0; t < COUNT; t++)
        unmap(x[t]);
    return check_result();
}
