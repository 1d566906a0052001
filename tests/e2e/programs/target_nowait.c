/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * target nowait without depend: 32 independent kernels that read one shared tile; a host task and the taskwait between
 * two rounds see what they wrote.
 *
 * memory: 24Ki
 * stats: stats.tasks == 64
 */
#include "check.h"

enum { COUNT = 32 };

int main(void)
{
    double *shared = make_tiles(1, 2), *x = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            double *tile = x + i * TILE;
#pragma omp target nowait map(to : shared[0 : TILE]) map(tofrom : tile[0 : TILE])
            for (int j = 0; j < TILE; j++)
                tile[j] += shared[j] * (i + 1);
        }
#pragma omp taskwait
        for (int i = 0; i < COUNT; i++)
            CHECK(all_are(x + i * TILE, TILE, (round == 0 ? 2 : 6) * (i + 1)));
        for (int j = 0; j < TILE; j++)
            shared[j] = 4; /* the second round must not see the copies of the first */
    }
    free(shared);
    free(x);
    return check_result();
}
