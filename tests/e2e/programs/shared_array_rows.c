/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Independent tasks that all map one whole array and write a row each, named in their depend clauses; and pairs that
 * map the whole array, one reading the row that the other wrote. Each must keep the others' rows.
 *
 * memory: 80Ki
 * stats: stats.tasks == 8 * 4 + 7
 */
#include "check.h"

enum { ROWS = 8, LENGTH = ROWS * TILE };

int main(void)
{
    double *x = make_tiles(ROWS, 0);
#pragma omp parallel
#pragma omp single
    {
        for (int round = 0; round < 4; round++)
            for (int row = 0; row < ROWS; row++) {
#pragma omp target nowait depend(inout : x[row * TILE]) map(tofrom : x[0 : LENGTH])
                for (int i = 0; i < TILE; i++)
                    x[row * TILE + i] += row + 1;
            }
        for (int row = 1; row < ROWS; row++) {
#pragma omp target nowait depend(in : x[(row - 1) * TILE]) depend(inout : x[row * TILE]) map(tofrom : x[0 : LENGTH])
            for (int i = 0; i < TILE; i++)
                x[row * TILE + i] += x[(row - 1) * TILE + i];
        }
    }
    double expected = 0;
    for (int row = 0; row < ROWS; row++) {
        expected += 4 * (row + 1);
        CHECK(all_are(x + row * TILE, TILE, expected));
    }
    free(x);
    return check_result();
}
