/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks whose kernels begin parallel regions, or wait: the data that are reserved for the task stay where they are
 * until the kernel ends, however little memory there is.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { TILES = 12, ROUNDS = 10 };

static void rounds(double *x)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int r = 0; r < ROUNDS; r++)
        for (int t = 0; t < TILES; t++) {
            double *tile = x + t * TILE;
#pragma omp task depend(inout : tile[0 : TILE])
            {
#pragma omp target parallel for num_threads(2) map(tofrom : tile[0 : TILE])
                for (int i = 0; i < TILE; i++)
                    tile[i] += 1;
            }
#pragma omp task depend(inout : tile[0 : TILE])
            {
#pragma omp target map(tofrom : tile[0 : TILE])
                {
#pragma omp task
                    for (int i = 0; i < TILE / 2; i++)
                        tile[i] += 1;
#pragma omp taskwait
                    for (int i = TILE / 2; i < TILE; i++)
                        tile[i] += 1;
                }
            }
        }
}

int main(void)
{
    double *x = make_tiles(TILES, 0);
#pragma omp target enter data map(to : x[0 : TILES * TILE])
    rounds(x);
#pragma omp target exit data map(from : x[0 : TILES * TILE])
    CHECK(all_are(x, TILES * TILE, 2 * ROUNDS));
    for (int t = 0; t < TILES; t++) {
#pragma omp target enter data map(to : x[t * TILE : TILE])
    }
    rounds(x);
    for (int t = 0; t < TILES; t++) {
#pragma omp target exit data map(from : x[t * TILE : TILE])
    }
    CHECK(all_are(x, TILES * TILE, 4 * ROUNDS));
    free(x);
    return check_result();
}
