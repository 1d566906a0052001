/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads that save and restore the default device while they are shown device addresses, as wrappers around libraries
 * do, stay where they were.
 *
 * memory: 64Ki
 */
#include "check.h"

#include <omp.h>

enum { THREADS = 4, ROUNDS = 5 };

static void work(double *tile)
{
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp target data map(tofrom : tile[0 : TILE])
        {
#pragma omp target data use_device_ptr(tile)
            {
                int before = omp_get_default_device();
                omp_set_default_device(before);
#pragma omp target is_device_ptr(tile)
                for (int j = 0; j < TILE; j++)
                    tile[j] += 1;
                omp_set_default_device(before);
            }
#pragma omp target
            for (int j = 0; j < TILE; j++)
                tile[j] *= 2;
        }
        CHECK(all_are(tile, TILE, 4 * (1 << i) - 2));
    }
}

int main(void)
{
    double *x = make_tiles(THREADS, 0);
    int before = omp_get_default_device();
#pragma omp parallel num_threads(THREADS)
    {
        work(x + omp_get_thread_num() * TILE);
        CHECK(omp_get_default_device() == before);
    }
    free(x);
    return check_result();
}
