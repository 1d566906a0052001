/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A column-major matrix is entered once, and tasks name its tiles by their first elements alone. A tile is a range in
 * each of its columns; columns of tiles end where pages do, or two tiles share each page; kernels use all of their
 * tiles, a triangle of them, or nothing; one uses a tile that its task has not named, ordered by another item. What the
 * kernels of one round show of themselves is known in the next one.
 *
 * memory: 400Ki
 * run: OMPDARTS_MEM=400Ki
 * run: OMPDARTS_MEM=400Ki OMPDARTS_DEVICES=2 OMPDARTS_DEBUG=jitter=0.002
 * run: OMPDARTS_MEM=400Ki OMPDARTS_SPILL=0
 * run: OMPDARTS_MEM=400Ki OMPDARTS_SCHED=eager OMPDARTS_EVICT=lru
 * run: OMPDARTS_MEM=400Ki OMPDARTS_COHERENCE=depend
 * run: OMPDARTS_MEM=400Ki OMPDARTS_COHERENCE=strict
 * run: OMPDARTS_MEM=400Ki OMPDARTS_SPILL_LIMIT=1Mi
 * run: OMPDARTS_MEM=200Ki OMPDARTS_DEVICES=2 OMPDARTS_SPILL_LIMIT=100Ki OMPDARTS_GUARD=auto
 * run: OMPDARTS_MEM=600Mi
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { TILES = 5, COLUMNS = 12, ROUNDS = 2 };

static size_t rows, n; /* of a tile; elements of the matrix */
static double *a, *expected;
static char order;

/* The first element of a tile. */
static size_t tile(int i, int j)
{
    return (size_t)i * rows + (size_t)j * COLUMNS * TILES * rows;
}

#pragma omp declare target
static void add(double *x, size_t to, size_t from, size_t count)
{
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t r = 0; r < count; r++)
            x[to + c * TILES * count + r] += 0.5 * x[from + c * TILES * count + r] + 1;
}

static void scale_lower(double *x, size_t to, size_t count)
{
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t r = c * count / COLUMNS; r < count; r++)
            x[to + c * TILES * count + r] *= 0.25;
}
#pragma omp end declare target

static void submit_add(int ti, int tj, int fi, int fj)
{
    size_t to = tile(ti, tj), from = tile(fi, fj), count = rows, all = n;
    double *x = a;
    add(expected, to, from, count);
#pragma omp target nowait depend(inout : a[to]) depend(in : a[from]) map(to : x[0 : all]) firstprivate(to, from, count)
    add(x, to, from, count);
}

static void submit_scale(int i)
{
    size_t to = tile(i, i), count = rows, all = n;
    double *x = a;
    scale_lower(expected, to, count);
#pragma omp target nowait depend(inout : a[to]) map(tofrom : x[0 : all]) firstprivate(to, count)
    scale_lower(x, to, count);
}

/* It says that it uses a tile of the last column, and uses one of the column before, which nobody else does meanwhile. */
static void submit_unnamed(int i)
{
    size_t name = tile(i, TILES - 1), to = tile(i, TILES - 2), count = rows, all = n;
    double *x = a;
    scale_lower(expected, to, count);
#pragma omp target nowait depend(inout : a[name]) depend(inout : order) map(to : x[0 : all]) firstprivate(to, count)
    scale_lower(x, to, count);
}

static void work(void)
{
    for (int k = 0; k < TILES; k++) {
        submit_scale(k);
        for (int i = k + 1; i < TILES; i++)
            submit_add(i, k, k, k);
        for (int i = k + 1; i < TILES; i++)
            for (int j = k + 1; j < TILES; j++)
                submit_add(i, j, i, k);
    }
#pragma omp taskwait
    for (int i = 0; i < TILES; i++)
        submit_unnamed(i);
#pragma omp taskwait
}

static void compare(size_t from, size_t count)
{
    size_t wrong = 0;
    for (size_t i = from; i < from + count; i++)
        wrong += memcmp(&a[i], &expected[i], sizeof a[i]) != 0;
    if (wrong)
        printf("%zu of %zu elements from %zu on are wrong\n", wrong, count, from);
    CHECK(!wrong);
}

/* The host reads and writes a range that has some columns of some tiles. */
static void update(size_t from, size_t count)
{
    double *x = a;
#pragma omp target update from(x[from : count])
    compare(from, count);
    for (size_t i = from; i < from + count; i++)
        a[i] = expected[i] = (double)(i % 13);
#pragma omp target update to(x[from : count])
}

static void run(size_t rows_of_tile)
{
    rows = rows_of_tile;
    n = (size_t)TILES * TILES * COLUMNS * rows;
    double *x = a = aligned_alloc(4096, (n * sizeof *a + 4095) / 4096 * 4096);
    expected = malloc(n * sizeof *expected);
    for (size_t i = 0; i < n; i++)
        a[i] = expected[i] = (double)(i % 101);
#pragma omp target enter data map(to : x[0 : n])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        work();
        update(n / 3, n / 7);
    }
#pragma omp target exit data map(from : x[0 : n])
    compare(0, n);
    free(a);
    free(expected);
}

int main(void)
{
    run(512);  /* columns of 4096 bytes */
    run(1024);
    run(700);  /* that end anywhere in a page */
    run(256);  /* two tiles share a page */
    run(40);   /* many do */
    return check_result();
}
