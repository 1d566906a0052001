/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library with target regions that a program opens while it runs (late_library.sh). FACTOR differs between two builds
 * of it, so that the second does something else at the addresses of the first.
 */
enum { TILE = 1024 };

int scale(double *x, int tiles, int steps);
int scale(double *x, int tiles, int steps)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < tiles * steps; i++) {
        double *tile = x + i % tiles * TILE;
#pragma omp target nowait depend(inout : tile[0 : TILE]) map(tofrom : tile[0 : TILE])
        for (int j = 0; j < TILE; j++)
            tile[j] = FACTOR * tile[j] + 1;
#pragma omp task depend(in : tile[0 : TILE])
        if (tile[0] != tile[TILE - 1])
            tile[0] = -1e6;
    }
    double sum = 0;
#pragma omp target data map(tofrom : x[0 : tiles * TILE])
    {
#pragma omp target map(tofrom : sum)
        for (int j = 0; j < tiles * TILE; j++)
            sum += x[j];
    }
    return sum > 0;
}
