/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A taskloop with target tasks inside an explicit task, in a team of one thread: libomp counts neither the loop's tasks
 * in the explicit one nor, then, their children out of it.
 *
 * memory: 32Ki
 */
/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#include "check.h"

enum { COUNT = 4, ROUNDS = 6 };

/* It begins while target tasks are under way, of the same task. */
static void beside_target_tasks(double *x)
{
    int touched[COUNT] = {0};
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
#pragma omp taskloop grainsize(1) shared(touched)
    for (int t = 0; t < COUNT; t++)
        touched[t]++;
#pragma omp taskwait
    CHECK(all_are(x, COUNT * TILE, 1));
    for (int t = 0; t < COUNT; t++)
        CHECK(touched[t] == 1);
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
    beside_target_tasks(x);
#pragma omp task
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskloop grainsize(1)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += 3;
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, COUNT * TILE, 1 + 3 * ROUNDS));
    free(x);
    return check_result();
}
