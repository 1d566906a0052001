/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Teams of many more threads than there are processors: threads that wait sleep, also while a few of the team have
 * tasks to run.
 *
 * variants: tasks target
 */
#include "check.h"

#include <string.h>
#include <unistd.h>

enum { THREADS = 250, REGIONS = 3, TASKS = 100, TILES = 4 };

static int count;

static void create_tasks(void)
{
    for (int i = 0; i < TASKS; i++) {
#pragma omp task
        {
            usleep(100);
#pragma omp atomic
            count++;
        }
    }
}

static void create_target_tasks(double *x)
{
    for (int t = 0; t < TILES; t++) {
        double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE])
        for (int i = 0; i < TILE; i++)
            tile[i] += 1;
    }
}

int main(int argc, char **argv)
{
    bool offloads = argc > 1 && strcmp(argv[1], "target") == 0;
    double *x = make_tiles(TILES, 0);
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp single
            create_tasks();
#pragma omp single
            if (offloads)
                create_target_tasks(x);
#pragma omp barrier
#pragma omp task
#pragma omp atomic
            count++;
        }
    }
    CHECK(count == REGIONS * (TASKS + THREADS));
    CHECK(all_are(x, TILES * TILE, offloads ? REGIONS : 0));
    free(x);
    return check_result();
}
