/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * declare target globals: kernels read and write them, update moves them, and their addresses on the default device can
 * be asked for; each device would have its own, so the program runs on one.
 *
 * memory: 24Ki
 * run: OMP_DEFAULT_DEVICE=2
 * run: OMP_DEFAULT_DEVICE=1 OMPDARTS_DEVICES=2,0
 * stats: sum(d.tasks > 0 for d in devices) <= 1
 */
#include "check.h"

#include <omp.h>

enum { COUNT = 8 };

#pragma omp begin declare target
extern double table[TILE];
extern int calls;
double table[TILE];
int calls;
#pragma omp end declare target

static double get(const double *variable)
{
    double value = -1;
    int device = omp_get_default_device();
    void *there = omp_get_mapped_ptr(variable, device);
    CHECK(there);
    CHECK(omp_target_is_present(variable, device));
    CHECK(!omp_target_memcpy(&value, there, sizeof value, 0, 0, omp_get_initial_device(), device));
    return value;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
    for (int i = 0; i < TILE; i++)
        table[i] = i;
#pragma omp target update to(table)
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) depend(inout : table) map(tofrom : tile[0 : TILE])
        {
            for (int i = 0; i < TILE; i++)
                tile[i] += table[i];
            table[0] += 1;
            calls++;
        }
    }
    CHECK(get(&table[0]) == (double)COUNT);
    CHECK(get(&table[1]) == 1);
#pragma omp target update from(table, calls)
    CHECK(calls == COUNT);
    CHECK(table[0] == calls);
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] == t);
        for (int i = 1; i < TILE; i++)
            CHECK(x[t * TILE + i] == i);
    }
    free(x);
    return check_result();
}
