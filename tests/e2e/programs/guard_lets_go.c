/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the guard holds back may be what everything before it waits for, by a flag that OpenMP knows nothing of: while
 * one temporary lives, which a host task keeps alive until the second one has been used, there is no room for that.
 *
 * environment: OMPDARTS_GUARD=1
 * says: the program waits for tasks that the guard holds back
 */
#include "check.h"

#include <time.h>

static int flag;

static void wait_for_flag(void)
{
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void use(double *temporary, double *result, double value)
{
#pragma omp target enter data map(alloc : temporary[0 : TILE]) nowait depend(out : temporary[0])
#pragma omp target nowait depend(out : temporary[0]) map(from : temporary[0 : TILE])
    for (int i = 0; i < TILE; i++)
        temporary[i] = value;
#pragma omp target nowait depend(in : temporary[0]) depend(out : result[0]) map(to : temporary[0 : TILE])              \
    map(from : result[0 : TILE])
    for (int i = 0; i < TILE; i++)
        result[i] = 2 * temporary[i];
}

static void forget(double *temporary)
{
#pragma omp target exit data map(release : temporary[0 : TILE]) nowait depend(inout : temporary[0])
}

int main(void)
{
    double *temporaries = make_tiles(2, 0), *results = make_tiles(2, 0);
    double *first = temporaries, *second = temporaries + TILE;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        use(first, results, 1);
#pragma omp task depend(inout : first[0])
        wait_for_flag();
        forget(first);
        use(second, results + TILE, 2);
#pragma omp task depend(inout : second[0])
        __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
        forget(second);
    }
    CHECK(all_are(results, TILE, 2));
    CHECK(all_are(results + TILE, TILE, 4));
    free(temporaries);
    free(results);
    return check_result();
}
