/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that offload and then wait, on a device that runs one task at a time: the taskwait brings home what the
 * next task is about to write, and must not keep that one from running.
 *
 * memory: 32Ki
 * run: OMPDARTS_COHERENCE=depend OMPDARTS_DEVICES=3 OMPDARTS_BACKEND=omptarget:link=1M OMP_NUM_THREADS=3
 */
#include "check.h"

enum { COUNT = 8, LENGTH = 64, ROUNDS = 10 };

static void __attribute__((noinline)) add_two(double *tile)
{
#pragma omp target is_device_ptr(tile)
    for (int i = 0; i < LENGTH; i++)
        tile[i] += 2;
}

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int round = 1; round <= ROUNDS; round++)
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * LENGTH;
#pragma omp task depend(inout : tile[0 : LENGTH]) firstprivate(tile)
            {
#pragma omp target data map(tofrom : tile[0 : LENGTH]) use_device_ptr(tile)
                add_two(tile);
#pragma omp taskwait
            }
        }
#pragma omp taskwait
    CHECK(all_are(x, COUNT * LENGTH, 2 * ROUNDS));
    free(x);
    return check_result();
}
