/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that create host tasks with depend clauses, which offload: a barrier waits for these grandchildren, too, also
 * where they have been left to a device.
 *
 * memory: 32Ki
 * run: OMP_CANCELLATION=true
 */
#include "check.h"

enum { COUNT = 6, LENGTH = 64, ROUNDS = 30 };

static void __attribute__((noinline)) add_two(double *tile)
{
#pragma omp target is_device_ptr(tile)
    for (int i = 0; i < LENGTH; i++)
        tile[i] += 2;
}

static void start_tasks(double *x)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * LENGTH;
#pragma omp task
#pragma omp task depend(out : tile[0]) firstprivate(tile)
        {
#pragma omp target data map(tofrom : tile[0 : LENGTH]) use_device_ptr(tile)
            add_two(tile);
        }
    }
}

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            start_tasks(x);
            CHECK(all_are(x, COUNT * LENGTH, 4 * round - 2));
#pragma omp barrier
#pragma omp master
            start_tasks(x);
        }
        CHECK(all_are(x, COUNT * LENGTH, 4 * round));
    }
    free(x);
    return check_result();
}
