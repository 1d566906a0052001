/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels under way at once that map other members of one struct, in no order: with the first of them in between, neither
 * range is inside of the other. And a data construct for all of it beside them.
 *
 * memory: 64Ki
 */
#include "check.h"

enum { ROUNDS = 20, STEPS = 200 };

typedef struct settings {
    double a, b, c;
} settings;

#pragma omp declare target
static void fill(double *x, double value)
{
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < TILE; i++)
            x[i] = value + s;
}

#pragma omp end declare target

static void subsets(double *u, double *v, double *w)
{
    settings s = {1, 2, 4};
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait map(to : s.a, s.b) map(from : u[0 : TILE])
        fill(u, s.a + s.b);
#pragma omp target nowait map(to : s.b, s.c) map(from : v[0 : TILE])
        fill(v, s.b + s.c);
#pragma omp target map(to : s.c) map(from : w[0 : TILE])
        fill(w, s.c);
#pragma omp taskwait
        CHECK((int)u[0] == 3 + STEPS - 1 && (int)v[0] == 6 + STEPS - 1 && (int)w[0] == 4 + STEPS - 1);
    }
}

static void entered_beside(double *u)
{
    settings s = {1, 2, 4};
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp target nowait map(to : s.a, s.b) map(from : u[0 : TILE])
        fill(u, s.a + s.b);
#pragma omp target enter data map(to : s)
#pragma omp target
        s.c += 1;
#pragma omp taskwait
#pragma omp target exit data map(from : s)
        CHECK((int)u[0] == 3 + STEPS - 1 && (int)s.c == 5 + round);
    }
}

int main(void)
{
    double *u = make_tiles(1, 0), *v = make_tiles(1, 0), *w = make_tiles(1, 0);
    subsets(u, v, w);
    entered_beside(u);
    free(u);
    free(v);
    free(w);
    return check_result();
}
