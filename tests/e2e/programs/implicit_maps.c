/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pointers that a region uses without mapping them: what they point to is present by an enclosing target data or enter
 * data, also when they point into its middle; explicit zero-length sections; arrays mapped implicitly.
 *
 * memory: 32Ki
 */
#include "check.h"

int main(void)
{
    double *x = make_tiles(2, 0), *middle = x + TILE, table[16];
#pragma omp target data map(tofrom : x[0 : 2 * TILE])
    {
#pragma omp target
        for (int i = 0; i < 2 * TILE; i++)
            x[i] += 1;
#pragma omp target
        for (int i = 0; i < TILE; i++)
            middle[i] += 1;
#pragma omp target map(x[0 : 0])
        x[0] += 100;
#pragma omp target nowait depend(inout : x[0 : 2 * TILE])
        for (int i = 0; i < 2 * TILE; i++)
            x[i] += 1;
#pragma omp target nowait depend(inout : x[0 : 2 * TILE])
        for (int i = 0; i < TILE; i++)
            middle[i] *= 3;
#pragma omp taskwait
    }
    CHECK(x[0] == 102);
    CHECK(all_are(x + 1, TILE - 1, 2));
    CHECK(all_are(x + TILE, TILE, 9));

#pragma omp target enter data map(to : middle[0 : TILE])
#pragma omp target
    for (int i = 0; i < TILE; i++)
        middle[i] -= 9;
#pragma omp target exit data map(from : middle[0 : TILE])
    CHECK(all_are(middle, TILE, 0));

    for (int i = 0; i < 16; i++)
        table[i] = i;
#pragma omp target
    for (int i = 0; i < 16; i++)
        table[i] *= 2;
    for (int i = 0; i < 16; i++)
        CHECK(table[i] == 2 * i);
    free(x);
    return check_result();
}
