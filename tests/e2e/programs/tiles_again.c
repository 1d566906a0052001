/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tiles of a column-major matrix, named by their first elements, of which many tasks use the same one in turn.
 *
 * argument: tasks of each tile
 */
#include "check.h"

#include <stdlib.h>

enum { TILES = 4, ROWS = 512, COLUMNS = 64, SIZE = TILES * ROWS * COLUMNS };

static void submit(double *a, size_t first)
{
#pragma omp target nowait depend(inout : a[first]) map(to : a[0 : SIZE]) firstprivate(first)
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t r = 0; r < ROWS; r++)
            a[first + c * TILES * ROWS + r] += 1;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 10;
    double *a = aligned_alloc(4096, SIZE * sizeof *a);
    for (size_t i = 0; i < SIZE; i++)
        a[i] = (double)i;
#pragma omp target enter data map(to : a[0 : SIZE])
    for (int t = 0; t < times; t++)
        for (size_t tile = 0; tile < TILES; tile++)
            submit(a, tile * ROWS);
#pragma omp taskwait
#pragma omp target exit data map(from : a[0 : SIZE])
    for (size_t i = 0; i < SIZE; i++)
        CHECK(a[i] == (double)i + times);
    free(a);
    return check_result();
}
