/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host task that works through device addresses waits for what its own depend clause names: it holds these data
 * itself.
 *
 * environment: OMPDARTS_COHERENCE=depend
 */
#include "check.h"

enum { ROUNDS = 6 };

__attribute__((noinline)) static void add_one(double *x)
{
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

int main(void)
{
    double *x = make_tiles(2, 0);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(out : x[0 : 2 * TILE])
        for (int tile = 0; tile < 2; tile++) {
            double *mapped = x + tile * TILE;
#pragma omp target data map(tofrom : mapped[0 : TILE]) use_device_ptr(mapped)
            add_one(mapped);
#pragma omp taskwait depend(in : x[tile * TILE : TILE])
        }
    }
#pragma omp taskwait
    CHECK(all_are(x, 2 * TILE, ROUNDS));
    free(x);
    return check_result();
}
