/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks whose instances differ: after some that only offload, others wait for tasks of their own, begin parallel
 * regions, or meet other constructs, all on the same data, in a data region.
 *
 * memory: 24Ki
 * run: OMPDARTS_COHERENCE=depend
 * run: OMP_NUM_THREADS=1 OMPDARTS_MEM=24Ki
 */
#include "check.h"

#include <omp.h>

enum { COUNT = 6, ROUNDS = 12, KINDS = 7 };

static void add_on_device(double *x)
{
#pragma omp target map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void add_twice_by_tasks(double *x)
{
#pragma omp target nowait depend(inout : x [0:TILE]) map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp target nowait depend(inout : x [0:TILE]) map(tofrom : x [0:TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

/* Every kind adds 2 to each element. `other` lies in no region. */
static void body(double *x, double *other, int kind)
{
    if (kind == 1) {
        add_twice_by_tasks(x);
#pragma omp taskwait
    } else if (kind == 2) {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
        {
#pragma omp target nowait is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 2;
#pragma omp taskwait
        }
    } else if (kind == 3) {
#pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int i = 0; i < 2; i++)
#pragma omp critical
            add_on_device(x);
    } else if (kind == 4) {
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
        {
#pragma omp target is_device_ptr(x)
            for (int i = 0; i < TILE; i++)
                x[i] += 2;
        }
#pragma omp target map(tofrom : other [0:TILE])
        for (int i = 0; i < TILE; i++)
            other[i] += 1;
        other[0] += 1;
    } else if (kind == 5) {
        add_on_device(x);
#pragma omp target update from(x [0:TILE])
#pragma omp target enter data map(to : x [0:TILE])
#pragma omp taskgroup
        {
#pragma omp task
            add_on_device(x);
        }
#pragma omp target exit data map(from : x [0:TILE])
    } else if (kind == 6) {
#pragma omp target map(tofrom : x [0:TILE]) map(tofrom : other [0:TILE])
        for (int i = 0; i < TILE; i++) {
            x[i] += 2;
            other[i] += 1;
        }
        other[0] += 1;
    } else {
        add_on_device(x);
        add_on_device(x);
    }
}

static int kind_of(int round, int t)
{
    return round < 4 ? 0 : (round * COUNT + t) % KINDS;
}

/* Tasks that only read x are ready, and wait for a thread of the team, while the thread that has created them meets a
 * construct on x that is in no order with them. */
static void check_blocked(void)
{
    double *x = make_tiles(1, 1), sum = 0, own = 0;
#pragma omp target data map(to : x[0 : TILE])
#pragma omp parallel num_threads(1)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(in : x[0 : TILE])
        {
            double part = 0;
#pragma omp target map(to : x[0 : TILE]) map(tofrom : part)
            for (int i = 0; i < TILE; i++)
                part += x[i];
#pragma omp atomic
            sum += part;
        }
#pragma omp target map(to : x[0 : TILE]) map(tofrom : own)
        for (int i = 0; i < TILE; i++)
            own += x[i];
    }
    CHECK(sum == ROUNDS * TILE && own == ROUNDS * TILE);
    free(x);
}

int main(void)
{
    check_blocked();
    double *x = make_tiles(COUNT, 0), *other = make_tiles(COUNT, 0);
    double expected[COUNT] = {0};
#pragma omp target data map(tofrom : x [0:COUNT * TILE])
    for (int phase = 0; phase < 2; phase++) {
#pragma omp parallel
#pragma omp single
        for (int round = 0; round < ROUNDS; round++)
            for (int t = 0; t < COUNT; t++) {
                double *a = x + t * TILE, *b = other + t * TILE;
                int kind = kind_of(round, t);
#pragma omp task depend(inout : a [0:TILE], b [0:TILE])
                body(a, b, kind);
#pragma omp target nowait depend(inout : a [0:TILE]) map(tofrom : a [0:TILE])
                for (int i = 0; i < TILE; i++)
                    a[i] += 1;
            }
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < COUNT; t++)
            expected[t] += kind_of(round, t) == 4 || kind_of(round, t) == 6 ? 2 : 0;
    CHECK(all_are(x, COUNT * TILE, 2 * 3 * ROUNDS));
    for (int t = 0; t < COUNT; t++) {
        CHECK(other[t * TILE] == 2 * expected[t]);
        CHECK(all_are(other + t * TILE + 1, TILE - 1, expected[t]));
    }
    free(x);
    free(other);
    return check_result();
}
