/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Inside a region the host's array and the device's are two: the host prepares the next step's input in the array while
 * kernels still use the old contents on a device, and `update to` makes the change. Kernels between see the old contents,
 * wherever they run and whatever has been evicted; what is mapped `to` never changes the host's array.
 *
 * memory: 24Ki
 */
#include "check.h"

enum { STEPS = 4, COUNT = 6 };

int main(void)
{
    double *x = make_tiles(1, 0), *sum = make_tiles(COUNT, 0);
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < TILE; i++)
            x[i] = step + 1;
        for (int t = 0; t < COUNT; t++) {
            double *tile = sum + t * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(to : x[0 : TILE]) map(tofrom : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += x[i];
        }
#pragma omp taskwait
#pragma omp target update to(x[0 : TILE])
    }
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] = -1;
#pragma omp target exit data map(release : x[0 : TILE])
    CHECK(all_are(x, TILE, STEPS));
    CHECK(all_are(sum, COUNT * TILE, 0 + 1 + 2 + 3));
    free(x);
    free(sum);
    return check_result();
}
