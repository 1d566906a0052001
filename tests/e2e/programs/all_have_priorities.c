/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Teams in which every task has a priority: libomp 19 keeps such tasks in no thread's queue, and cannot end the
 * completion of a detached one where there is none.
 *
 * memory: 32Ki
 * run: OMP_MAX_TASK_PRIORITY=5
 */
#include "check.h"

enum { COUNT = 4, LENGTH = 64, ROUNDS = 20 };

static void __attribute__((noinline)) add_two(double *tile)
{
#pragma omp target is_device_ptr(tile)
    for (int i = 0; i < LENGTH; i++)
        tile[i] += 2;
}

static void host_tasks(double *x)
{
    for (int t = 0; t < COUNT; t++) {
        double *tile = x + t * LENGTH;
#pragma omp task depend(inout : x[0]) priority(t + 1) firstprivate(tile)
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
#pragma omp master
            host_tasks(x);
        }
        CHECK(all_are(x, COUNT * LENGTH, 2 * round));
    }
    free(x);
    return check_result();
}
