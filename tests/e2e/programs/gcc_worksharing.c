/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Worksharing constructs, tasks and taskloops that gcc has compiled, with target tasks under way, in no region and in regions of
 * clang's: what gcc's code calls at their ends waits for these.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 8, THREADS = 3 };

extern bool GOMP_loop_dynamic_start(long start, long end, long step, long chunk, long *from, long *to);
extern bool GOMP_loop_dynamic_next(long *from, long *to);
extern void GOMP_loop_end(void);
extern unsigned GOMP_sections_start(unsigned count);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end(void);
extern void GOMP_barrier(void);
extern void *GOMP_single_copy_start(void);
extern void GOMP_single_copy_end(void *data);
extern void GOMP_taskloop(void (*body)(void *), void *data, void (*copy)(void *, void *), long size, long alignment,
                          unsigned flags, unsigned long tasks, int priority, long start, long end, long step);
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

/* #pragma omp for schedule(dynamic) */
static int loop(int n)
{
    long from, to;
    int mine = 0;
    if (GOMP_loop_dynamic_start(0, n, 1, 1, &from, &to))
        do
            mine += (int)(to - from);
        while (GOMP_loop_dynamic_next(&from, &to));
    GOMP_loop_end();
    return mine;
}

/* #pragma omp sections */
static int sections(unsigned n)
{
    int mine = 0;
    for (unsigned i = GOMP_sections_start(n); i; i = GOMP_sections_next())
        mine++;
    GOMP_sections_end();
    return mine;
}

/* #pragma omp single copyprivate */
static int single(double *x)
{
    int value = 0;
    const int *copied = GOMP_single_copy_start();
    if (copied)
        value = *copied;
    else {
        value = 1;
        add(x, 1);
        GOMP_single_copy_end(&value);
    }
    GOMP_barrier();
    return value;
}

/* What gcc makes of a taskloop's or a task's body. */
typedef struct part {
    long from, to;
    int *sum;
} part;

static void add_part(void *data)
{
    part *p = data;
#pragma omp atomic
    *p->sum += (int)(p->to - p->from);
}

static int taskloop(int n)
{
    enum { UP = 1 << 8 };
    int sum = 0;
    part p = {.sum = &sum};
    GOMP_taskloop(add_part, &p, NULL, sizeof p, 8, UP, 4, 0, 0, n, 1);
    return sum;
}

static void task(int *sum)
{
    part p = {.to = 1, .sum = sum};
    GOMP_task(add_part, &p, NULL, sizeof p, 8, true, 0, NULL, 0, NULL);
}

static void in_no_region(double *x)
{
    double before = x[0];
    int sum = 0;
    add(x, 2);
    CHECK(loop(5) == 5);
    CHECK(all_are(x, TILE, before + 2));
    add(x, 2);
    CHECK(sections(3) == 3);
    CHECK(all_are(x, TILE, before + 4));
    add(x, 1);
    CHECK(single(x) == 1);
    CHECK(all_are(x, TILE, before + 6));
    add(x, 2);
    CHECK(taskloop(9) == 9);
    add(x, 1);
    task(&sum);
    add(x, 1);
#pragma omp taskwait
    CHECK(sum == 1);
    CHECK(all_are(x, TILE, before + 10));
}

/* All threads of a team, each with a tile of its own. */
static void in_region(double *tiles)
{
    int loops = 0, parts = 0, copies = 0, loop_tasks = 0, tasks = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : loops, parts, copies, loop_tasks)
    {
        double *x = tiles + omp_get_thread_num() * TILE, before = x[0];
        add(x, 2);
        loops += loop(7);
        CHECK(all_are(x, TILE, before + 2));
        add(x, 2);
        parts += sections(5);
        CHECK(all_are(x, TILE, before + 4));
        add(x, 1);
        copies += single(tiles + THREADS * TILE);
        CHECK(all_are(x, TILE, before + 5));
        add(x, 2);
        loop_tasks += taskloop(9);
        add(x, 1);
        task(&tasks);
        add(x, 2);
    }
    CHECK(loops == 7 && parts == 5 && copies == THREADS && loop_tasks == 9 * THREADS && tasks == THREADS);
}

int main(void)
{
    double *tiles = make_tiles(THREADS + 1, 0);
    for (int round = 0; round < ROUNDS; round++) {
        in_no_region(tiles);
        for (int i = 0; i < TILE; i++)
            tiles[i] -= 10;
        in_region(tiles);
#pragma omp parallel num_threads(1)
        {
            in_no_region(tiles);
        }
        for (int i = 0; i < TILE; i++)
            tiles[i] -= 10;
    }
    CHECK(all_are(tiles, THREADS * TILE, 10 * ROUNDS));
    CHECK(all_are(tiles + THREADS * TILE, TILE, ROUNDS));
    free(tiles);
    return check_result();
}
