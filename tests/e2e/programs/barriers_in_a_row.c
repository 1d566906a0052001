/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A barrier waits for the target tasks before it, also where more barriers follow at once and the next region begins at
 * once, and with two initial threads. (libomp 19 goes on too early with detached tasks that other threads complete.)
 *
 * memory: 32Ki
 */
#include "check.h"

#include <pthread.h>

enum { COUNT = 6, LENGTH = 64, ROUNDS = 40 };

static void start_tasks(double *x)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * LENGTH;
#pragma omp target nowait depend(inout : tile[0 : LENGTH]) map(tofrom : tile[0 : LENGTH])
        for (int i = 0; i < LENGTH; i++)
            tile[i] += 1;
    }
}

static void *offload(void *arg)
{
    double *x = arg;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            start_tasks(x);
            CHECK(all_are(x, COUNT * LENGTH, 3 * round + 1));
#pragma omp barrier
#pragma omp barrier
#pragma omp single
            start_tasks(x);
#pragma omp single nowait
            {
                CHECK(all_are(x, COUNT * LENGTH, 3 * round + 2));
                start_tasks(x);
            }
        }
        CHECK(all_are(x, COUNT * LENGTH, 3 * round + 3));
    }
    return NULL;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
    pthread_t first, second;
    if (pthread_create(&first, NULL, offload, x) || pthread_create(&second, NULL, offload, y))
        return 1;
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    free(x);
    free(y);
    return check_result();
}
