/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * declare target globals: kernels read and write them, update moves them; each device would have its own, so the
 * program runs on one.
 *
 * memory: 24Ki
 * stats: sum(d.tasks > 0 for d in devices) <= 1
 */
#include "check.h"

enum { COUNT = 8 };

#pragma omp begin declare target
extern double table[TILE];
extern int calls;
double table[TILE];
int calls;
#pragma omp end declare target

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
