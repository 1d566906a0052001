/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host task whose constructs, one after the other, show the addresses of different data beside one that all of them
 * use: what an earlier construct has written is there in the later ones, and at home in the end.
 *
 * memory: 16Ki
 */
#include "check.h"

enum { COUNT = 4, ROUNDS = 6 };

__attribute__((noinline)) static void append(double *sum, const double *x)
{
    for (int i = 0; i < TILE; i++)
        sum[i] = sum[i] * 2 + x[i];
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *sum = make_tiles(1, 0), expected = 0;
    for (int t = 0; t < COUNT; t++)
        for (int i = 0; i < TILE; i++)
            x[t * TILE + i] = t;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(inout : x[1])
        for (int t = 0; t < COUNT; t++) {
            double *tile = x + t * TILE;
#pragma omp target data map(to : tile[0 : TILE]) map(tofrom : sum[0 : TILE]) use_device_ptr(tile, sum)
            append(sum, tile);
        }
        for (int t = 0; t < COUNT; t++)
            expected = expected * 2 + t;
    }
#pragma omp taskwait
    CHECK(all_are(sum, TILE, expected));
    free(x);
    free(sum);
    return check_result();
}
