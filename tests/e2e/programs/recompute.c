/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Temporaries that kernels make from data of regions and that devices have no room for are made again where they are
 * needed: with the inputs that they were made from, though these change, are updated, or leave their regions meanwhile,
 * and with the values of then.
 *
 * memory: 48K
 * environment: OMPDARTS_RECOMPUTE=always
 * run: OMPDARTS_RECOMPUTE=always OMPDARTS_MEM=48K OMPDARTS_DEVICES=1
 * run: OMPDARTS_RECOMPUTE=always OMPDARTS_MEM=48K OMPDARTS_SCHED=stationary
 * run: OMPDARTS_RECOMPUTE=auto OMPDARTS_MEM=48K
 */
#include "check.h"

enum { TILES = 12 };

static double *tile(double *x, int t)
{
    return x + (size_t)t * TILE;
}

/* x = a + t, in a region of undefined contents. */
static void make(double *x, const double *a, double t)
{
#pragma omp target enter data map(alloc : x[0 : TILE]) nowait depend(out : x[0])
#pragma omp target nowait depend(in : a[0]) depend(out : x[0]) map(to : a[0 : TILE]) map(from : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = a[i] + t;
}

static void add(double *sum, const double *x)
{
#pragma omp target nowait depend(in : x[0]) depend(inout : sum[0]) map(to : x[0 : TILE]) map(tofrom : sum[0 : TILE])
    for (int i = 0; i < TILE; i++)
        sum[i] += x[i];
}

static void raise(double *a, double by)
{
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0 : TILE])
    for (int i = 0; i < TILE; i++)
        a[i] += by;
}

static void forget(double *x)
{
#pragma omp target exit data map(release : x[0 : TILE]) nowait depend(inout : x[0])
}

static void make_all(double *x, double *a)
{
    for (int t = 0; t < TILES; t++)
        make(tile(x, t), tile(a, t % 2), t);
}

static void use_all(double *x, double *sum)
{
    for (int t = 0; t < TILES; t++)
        add(tile(sum, t), tile(x, t));
}

int main(void)
{
    double *a = make_tiles(2, 5), *x = make_tiles(TILES, -1), *sum = make_tiles(TILES, 0);
    double *odd = tile(a, 1);
#pragma omp target enter data map(to : a[0 : TILE])
#pragma omp target enter data map(to : odd[0 : TILE])
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        make_all(x, a);
#pragma omp taskwait
        use_all(x, sum); /* t + 5 */
#pragma omp taskwait
        raise(a, 100); /* of what the even tiles are made from */
        for (int i = 0; i < TILE; i++)
            odd[i] = 1000;
#pragma omp target update to(odd[0 : TILE])
        use_all(x, sum);
#pragma omp taskwait
        for (int t = 0; t < TILES; t++)
            forget(tile(x, t));
        make_all(x, a);
#pragma omp taskwait
    }
#pragma omp target exit data map(release : odd[0 : TILE])
    for (int i = 0; i < TILE; i++)
        odd[i] = -7;
#pragma omp parallel num_threads(4)
#pragma omp single
    use_all(x, sum); /* t + 105 or t + 1000 */
    for (int t = 0; t < TILES; t++)
        CHECK(all_are(tile(sum, t), TILE, 3 * t + 10 + (t % 2 ? 1000 : 105)));
#pragma omp target exit data map(from : x[0 : TILE])
    CHECK(all_are(x, TILE, 105));
#pragma omp target exit data map(from : a[0 : TILE])
    CHECK(all_are(a, TILE, 105));
    free(a);
    free(x);
    free(sum);
    return check_result();
}
