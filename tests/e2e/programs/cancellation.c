/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cancellation with target tasks in flight: of a taskgroup, a loop; tasks that have begun are carried out as a whole
 * or not at all, and what is enqueued later works as ever.
 *
 * memory: 48Ki
 * variants: taskgroup loop
 * environment: OMP_CANCELLATION=true
 */
#include "check.h"

#include <omp.h>
#include <string.h>

enum { COUNT = 16 };

static void add(double *x, double value)
{
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += value;
}

/* Each tile is as a whole what 0 to `most` runs make of it. */
static void whole(const double *x, int most)
{
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] >= 0 && x[t * TILE] <= most && x[t * TILE] == (int)x[t * TILE]);
        CHECK(all_are(x + t * TILE, TILE, x[t * TILE]));
    }
}

static void clear(double *x)
{
    for (int i = 0; i < COUNT * TILE; i++)
        x[i] = 0;
}

static void taskgroup(double *x)
{
    int after = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int round = 0; round < 3; round++)
                for (int t = 0; t < COUNT; t++) {
                    double *tile = x + t * TILE;
                    add(tile, 1);
#pragma omp task depend(inout : tile[0 : TILE])
                    {
                        if (round == 1 && t == COUNT / 2) {
#pragma omp cancel taskgroup
                        }
#pragma omp cancellation point taskgroup
                        for (int i = 0; i < TILE; i++)
                            tile[i] += 1;
                    }
                }
        }
        after = 1;
        whole(x, 6);
        clear(x);
        for (int t = 0; t < COUNT; t++)
            add(x + t * TILE, 2);
    }
    CHECK(after == 1);
    CHECK(all_are(x, COUNT * TILE, 2));
}

static void loop(double *x)
{
    clear(x);
#pragma omp parallel num_threads(4)
    {
#pragma omp for
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
            if (t == 5) {
#pragma omp cancel for
            }
            add(tile, 1);
        }
#pragma omp taskwait
#pragma omp barrier
#pragma omp single
        add(x, 1);
    }
    whole(x, 2);
    CHECK(x[0] >= 1);
    CHECK(x[5 * TILE] == 0);
}

int main(int argc, char **argv)
{
    double *x = make_tiles(COUNT, 0);
    const char *which = argc == 2 ? argv[1] : "";
    CHECK(omp_get_cancellation());
    for (int round = 0; round < 5; round++) {
        clear(x);
        if (!strcmp(which, "taskgroup"))
            taskgroup(x);
        else
            loop(x);
    }
    free(x);
    return check_result();
}
