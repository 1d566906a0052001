/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program that names the default device and never another one has not chosen: its tasks go to all devices.
 *
 * memory: 32Ki
 * stats: stats.tasks == 64
 * run: OMPDARTS_DEVICE_CLAUSE=pin
 * run: OMPDARTS_DEVICE_CLAUSE=hint
 */
#include "check.h"

#include <omp.h>

enum { TILES = 16, ROUNDS = 4 };

int main(void)
{
    double *x = make_tiles(TILES, 0);
    omp_set_default_device(0);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < TILES; t++) {
            double *tile = x + t * TILE;
            if (round % 2) {
#pragma omp target nowait device(0) depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
                for (int i = 0; i < TILE * 100; i++)
                    tile[i % TILE] += i < TILE;
            } else {
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
                for (int i = 0; i < TILE * 100; i++)
                    tile[i % TILE] += i < TILE;
            }
        }
    CHECK(all_are(x, TILES * TILE, ROUNDS));
    free(x);
    return check_result();
}
