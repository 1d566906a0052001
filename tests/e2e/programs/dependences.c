/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * All kinds of dependences between target tasks and host tasks: mutexinoutset, inoutset, dependence objects,
 * iterators, omp_all_memory, on enter, exit and update, and taskwait depend with nowait.
 *
 * memory: 48Ki
 */
#include "check.h"

#include <omp.h>

enum { COUNT = 8 };

static void add(double *x, double value)
{
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

/* In any order, but one at a time. */
static void mutexes(double *x)
{
#pragma omp parallel
#pragma omp single
    {
        add(x, 1);
        for (int t = 0; t < 12; t++) {
#pragma omp target nowait depend(mutexinoutset : x[0 : TILE]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
#pragma omp task depend(mutexinoutset : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
        }
        add(x, 1);
    }
    CHECK(all_are(x, TILE, 26));
}

/* Members of a set may overlap in time: each writes its own part. */
static void sets(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < COUNT; t++) {
            double *part = x + t * 128;
#pragma omp target nowait depend(inoutset : x[0]) map(tofrom : part[0 : 128])
            for (int i = 0; i < 128; i++)
                part[i] += t;
        }
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] *= 2;
    }
    for (int t = 0; t < COUNT; t++)
        CHECK(all_are(x + t * 128, 128, 26 * 8 + 14 * t));
}

static void objects(double *x)
{
    omp_depend_t write, read;
#pragma omp depobj(write) depend(inout : x[0 : TILE])
#pragma omp depobj(read) depend(in : x[0 : TILE])
    double copy[2][TILE];
#pragma omp parallel
#pragma omp single
    {
        for (int t = 0; t < 6; t++) {
#pragma omp target nowait depend(depobj : write) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] = x[i] * 2 + 1;
        }
        for (int t = 0; t < 2; t++) {
            double *y = copy[t];
#pragma omp target nowait depend(depobj : read) map(to : x[0 : TILE]) map(from : y[0 : TILE])
            for (int i = 0; i < TILE; i++)
                y[i] = x[i] + t;
        }
#pragma omp depobj(read) update(inout)
#pragma omp task depend(depobj : read)
        x[0] = -1;
    }
#pragma omp depobj(write) destroy
#pragma omp depobj(read) destroy
    CHECK(x[0] == -1 && all_are(x + 1, TILE - 1, 63));
    CHECK(all_are(copy[0], TILE, 63) && all_are(copy[1], TILE, 64));
}

static void iterators(double *x)
{
#pragma omp parallel
#pragma omp single
    {
        for (int t = 0; t < COUNT; t++)
            add(x + t * TILE, t);
#pragma omp target nowait depend(iterator(int t = 1 : COUNT), in : x[t * TILE]) depend(inout : x[0])                   \
    map(tofrom : x[0 : COUNT * TILE])
        for (int t = 1; t < COUNT; t++)
            x[0] += x[t * TILE];
#pragma omp task depend(iterator(t = 0 : COUNT), inout : x[t * TILE])
        CHECK(x[0] == 28);
    }
    CHECK(x[TILE] == 1);
}

static void everything(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < COUNT; t++)
            add(x + t * TILE, 1);
#pragma omp task depend(inout : omp_all_memory)
        for (int t = 0; t < COUNT; t++)
            x[t * TILE + 5] += 10;
        for (int t = 0; t < COUNT; t++)
            add(x + t * TILE, 1);
#pragma omp target nowait depend(out : omp_all_memory) map(tofrom : x[0 : COUNT * TILE])
        for (int i = 0; i < COUNT * TILE; i++)
            x[i] *= 2;
    }
    for (int t = 0; t < COUNT; t++)
        CHECK(x[t * TILE + 5] == 8 * t + 28 + 140 && x[t * TILE + 6] == 8 * t + 28);
}

static void waits(double *x)
{
    double seen = 0;
#pragma omp parallel
#pragma omp single
    {
        add(x, 1);
#pragma omp taskwait depend(in : x[0 : TILE])
        CHECK(x[3] == 1);
        add(x, 1);
        add(x + TILE, 2);
#pragma omp taskwait depend(inout : x[0 : TILE]) nowait
        add(x, 1);
        /* an empty task between: what comes after it in a chain of other names */
#pragma omp taskwait depend(in : x[0 : TILE]) depend(out : seen) nowait
#pragma omp task depend(inout : seen) shared(seen)
        seen = x[3];
#pragma omp taskwait depend(in : seen)
        CHECK(seen == 3);
#pragma omp taskwait depend(inout : omp_all_memory)
    }
    CHECK(x[TILE] == 2);
}

static void data_constructs(double *x)
{
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
        omp_depend_t chain;
#pragma omp depobj(chain) depend(inout : tile[0])
#pragma omp target enter data nowait depend(depobj : chain) map(to : tile[0 : TILE])
#pragma omp target nowait depend(mutexinoutset : tile[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
#pragma omp target nowait depend(mutexinoutset : tile[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 2;
#pragma omp target update nowait depend(depobj : chain) from(tile[0 : TILE])
#pragma omp task depend(depobj : chain)
        {
            CHECK(tile[7] == 3);
            tile[7] = 10;
        }
#pragma omp target update nowait depend(depobj : chain) to(tile[7 : 1])
#pragma omp target exit data nowait depend(depobj : chain) map(from : tile[0 : TILE])
#pragma omp task depend(inoutset : tile[0])
        tile[0] += 1;
#pragma omp taskwait depend(depobj : chain)
        CHECK(tile[7] == 10 && tile[0] == 4);
#pragma omp depobj(chain) destroy
    }
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
    mutexes(x);
    sets(x);
    for (int i = 0; i < TILE; i++)
        x[i] = 0;
    objects(x);
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = 0;
    iterators(x);
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = i / TILE;
    everything(x);
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = 0;
    waits(x);
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = 0;
    data_constructs(x);
    free(x);
    return check_result();
}
