/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parallel regions in kernels of target tasks, several of which run at once: under the library their threads are not
 * more than there are processors, however many the program may have; without it libomp runs them as nested regions.
 */
#include "check.h"

#include <omp.h>

enum { TILES = 8, ROUNDS = 5 };

extern void *ompdarts_v1_stream(void) __attribute__((weak));

/* Two kernels per tile, which tell how many threads they had. */
static void start_kernels(double *x, int *threads)
{
    for (int t = 0; t < TILES; t++) {
        double *tile = x + t * TILE;
        int *count = threads + 2 * t;
#pragma omp target nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE], count[0 : 1])
        {
#pragma omp parallel for
            for (int i = 0; i < TILE; i++)
                tile[i] += 1;
#pragma omp parallel
            if (omp_get_thread_num() == 0)
                count[0] = omp_get_num_threads();
        }
#pragma omp target teams nowait depend(inout : tile[0]) map(tofrom : tile[0 : TILE], count[1 : 1])
        {
#pragma omp distribute parallel for
            for (int i = 0; i < TILE; i++)
                tile[i] += 1;
#pragma omp parallel
            if (omp_get_thread_num() == 0 && omp_get_team_num() == 0)
                count[1] = omp_get_num_threads();
        }
    }
}

static int share(void)
{
    bool all = !getenv("OMPDARTS_DEVICES") && !getenv("OMPDARTS_BACKEND");
    int n = all ? omp_get_num_devices() : 1;
    return omp_get_num_procs() > n ? omp_get_num_procs() / n : 1;
}

int main(void)
{
    int threads[2 * TILES] = {0};
    double *x = make_tiles(TILES, 0);
    for (int round = 0; round < ROUNDS; round++) {
        start_kernels(x, threads);
#pragma omp taskwait
    }
    CHECK(all_are(x, TILES * TILE, 2 * ROUNDS));
    for (int i = 0; i < 2 * TILES; i++)
        CHECK(threads[i] >= 1 && (!ompdarts_v1_stream || threads[i] <= share()));
    free(x);
    return check_result();
}
