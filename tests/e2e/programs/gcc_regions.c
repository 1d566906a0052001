/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parallel regions that gcc has compiled: libomp has its entry points, too. Code that clang has compiled creates target
 * tasks in them; also around and inside of regions of clang's.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 10, THREADS = 3 };

extern void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
extern void GOMP_barrier(void);
extern void GOMP_taskwait(void);

static void add(double *x, int times)
{
    for (int k = 0; k < times; k++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
    }
}

static void each_adds(void *tiles)
{
    double *mine = (double *)tiles + omp_get_thread_num() * TILE;
    add(mine, 2);
    GOMP_taskwait();
    CHECK(all_are(mine, 1, mine[TILE - 1]));
    add(mine, 2);
    GOMP_barrier();
    CHECK(all_are(tiles, THREADS * TILE, mine[0]));
    GOMP_barrier();
    add(mine, 1);
}

static void one_adds(void *tiles)
{
    if (omp_get_thread_num() == THREADS - 1)
        for (int k = 0; k < THREADS; k++)
            add((double *)tiles + k * TILE, 5);
}

/* A region of clang's in one of gcc's. */
static void with_region(void *tiles)
{
    double *mine = (double *)tiles + omp_get_thread_num() * TILE;
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        add(mine, 3);
#pragma omp masked
        add(mine, 2);
    }
}

static void in_region_of_clang(double *tiles)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        GOMP_parallel(each_adds, tiles, THREADS, 0);
}

int main(void)
{
    double *tiles = make_tiles(THREADS, 0), *other = make_tiles(1, 0);
    omp_set_max_active_levels(2);
    for (int round = 0; round < ROUNDS; round++) {
        GOMP_parallel(each_adds, tiles, THREADS, 0);
        GOMP_parallel(one_adds, tiles, THREADS, 0);
        add(other, 4); /* under way while the region begins */
        GOMP_parallel(with_region, tiles, THREADS, 0);
#pragma omp taskwait
        in_region_of_clang(tiles);
    }
    CHECK(all_are(tiles, THREADS * TILE, 20 * ROUNDS));
    CHECK(all_are(other, TILE, 4 * ROUNDS));
    free(tiles);
    free(other);
    return check_result();
}
