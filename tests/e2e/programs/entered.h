/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A region of two tiles in which the host has scribbled over its own copy, for programs that then use it beside other
 * things.
 */
#ifndef E2E_ENTERED_H
#define E2E_ENTERED_H

#include "check.h"

/* A region whose device contents are all 1, while the program's memory has -1. */
static inline double *entered(void)
{
    double *x = make_tiles(2, 0);
#pragma omp target enter data map(to : x[0 : 2 * TILE])
#pragma omp target map(tofrom : x[0 : 2 * TILE])
    for (int i = 0; i < 2 * TILE; i++)
        x[i] += 1;
    for (int i = 0; i < 2 * TILE; i++)
        x[i] = -1;
    return x;
}

/* x[0] and x[TILE] are `first` and `second` on the device. */
static inline void left_at(double *x, double first, double second, int line)
{
    check_line(all_are(x, 2 * TILE, -1), "the host's own", line);
#pragma omp target map(tofrom : x[0 : 2 * TILE])
    x[5] += 1;
    check_line(all_are(x, 2 * TILE, -1), "the host's own", line);
#pragma omp target exit data map(from : x[0 : 2 * TILE])
    check_line(x[0] == first && x[5] == 2 && x[TILE] == second && all_are(x + 6, TILE - 6, 1), "contents", line);
    if (x[0] != first || x[5] != 2 || x[TILE] != second)
        printf("line %d: %g %g %g\n", line, x[0], x[5], x[TILE]);
    free(x);
}
#define LEFT(x, first, second) left_at(x, first, second, __LINE__)

#endif
