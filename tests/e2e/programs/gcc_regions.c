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
extern void GOMP_task(void (*body)(void *), void *data, void (*copy)(void *, void *), long size, long alignment,
                      bool condition, unsigned flags, void **depends, int priority, void *event);

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

static void double_tile(void *data)
{
    double *x = *(double **)data;
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
}

/* task depend(inout: x[0]), by gcc, which gets the memory of one of clang's that has ended. */
static void double_later(double *x)
{
    enum { DEPENDS = 8 };
#pragma omp task if (0) firstprivate(x)
    CHECK(x != NULL);
    void *depends[] = {(void *)1, (void *)1, x};
    GOMP_task(double_tile, &x, NULL, sizeof x, sizeof x, true, DEPENDS, depends, 0, NULL);
}

/* Tasks of gcc's among target tasks. */
static void one_adds(void *tiles)
{
    if (omp_get_thread_num() == THREADS - 1)
        for (int k = 0; k < THREADS; k++) {
            double *x = (double *)tiles + k * TILE;
            add(x, 3);
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] /= 2;
            double_later(x);
            add(x, 2);
        }
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

static void tasks_in_region_of_clang(double *x)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        for (int k = 0; k < 4; k++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            for (int i = 0; i < TILE; i++)
                x[i] /= 2;
            double_later(x);
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
        tasks_in_region_of_clang(tiles);
    }
    CHECK(all_are(tiles, THREADS * TILE, 20 * ROUNDS));
    CHECK(all_are(other, TILE, 4 * ROUNDS));
    free(tiles);
    free(other);
    return check_result();
}
