/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Barriers and worksharing constructs that no parallel region is around, with target tasks under way: they end when those
 * have, as in a team of one. In main before and after the first region, in a target task's taskgroup, in another root
 * thread.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <pthread.h>

static double *x;

static void add_one(void)
{
#pragma omp target nowait map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void barriers(void)
{
    double before = x[0];
    add_one();
#pragma omp barrier
    CHECK(all_are(x, TILE, before + 1));
#pragma omp barrier
    add_one();
#pragma omp barrier
    CHECK(all_are(x, TILE, before + 2));
}

/* Each ends with a barrier, or has none. */
static void worksharing(void)
{
    double before = x[0];
    int sum = 0;
    add_one();
#pragma omp for
    for (int i = 0; i < 4; i++)
        sum += i;
    CHECK(all_are(x, TILE, before + 1));
    add_one();
#pragma omp single
    sum++;
    CHECK(all_are(x, TILE, before + 2));
#pragma omp sections
    {
        add_one();
#pragma omp section
        sum++;
    }
    CHECK(all_are(x, TILE, before + 3) && sum == 8);
}

static void in_group(void)
{
    double before = x[0];
#pragma omp taskgroup
    {
        add_one();
#pragma omp barrier
        CHECK(all_are(x, TILE, before + 1));
        add_one();
    }
    CHECK(all_are(x, TILE, before + 2));
}

static void *all(void *unused)
{
    barriers();
    worksharing();
    in_group();
    return unused;
}

int main(void)
{
    pthread_t thread;
    x = make_tiles(1, 0);
    all(NULL);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        add_one();
#pragma omp taskwait
    }
    all(NULL);
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    CHECK(all_are(x, TILE, 22));
    free(x);
    return check_result();
}
