/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Two threads of the program's own (not OpenMP's) offload at once, synchronously and with tasks, each in arrays of its
 * own and both reading a third.
 *
 * memory: 32Ki
 */
#include "check.h"

#include <pthread.h>

enum { COUNT = 6, ROUNDS = 20 };

static double *shared;

static void *offload(void *arg)
{
    double *x = arg;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE]) map(to : shared[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += shared[i];
        }
#pragma omp target map(tofrom : x[0 : TILE]) map(to : shared[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += shared[i];
        CHECK(all_are(x, TILE, 4 * (round + 1)));
        x[0] += 1; /* the host writes */
        x[0] -= 1;
    }
    return NULL;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
    pthread_t first, second;
    shared = make_tiles(1, 2);
    if (pthread_create(&first, NULL, offload, x) || pthread_create(&second, NULL, offload, y))
        return 1;
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    CHECK(all_are(x, TILE, 4 * ROUNDS) && all_are(y, TILE, 4 * ROUNDS));
    CHECK(all_are(x + TILE, (COUNT - 1) * TILE, 2 * ROUNDS) && all_are(y + TILE, (COUNT - 1) * TILE, 2 * ROUNDS));
    free(x);
    free(y);
    free(shared);
    return check_result();
}
