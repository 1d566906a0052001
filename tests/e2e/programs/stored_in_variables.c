/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that store device addresses in declare target variables, through which later kernels reach what is mapped: a
 * pointer, a table of them, and the member of a struct. Meanwhile other data want the memory.
 *
 * memory: 96Ki
 */
#include "check.h"

enum { ROWS = 3, OTHERS = 12, ROUNDS = 3 };

#pragma omp declare target
static double *first;
double *table[ROWS];
struct {
    int n;
    double *last;
} ends;
#pragma omp end declare target

static void use_memory(double *const *other)
{
    for (int i = 0; i < OTHERS; i++) {
        double *x = other[i];
#pragma omp target map(tofrom : x[0 : TILE])
        for (int j = 0; j < TILE; j++)
            x[j] += 1;
    }
}

int main(void)
{
    double *row[ROWS], *other[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        double *x = other[i] = make_tiles(1, 0);
#pragma omp target enter data map(to : x[0 : TILE])
    }
    for (int i = 0; i < ROWS; i++) {
        double *x = row[i] = make_tiles(1, 0);
#pragma omp target enter data map(to : x[0 : TILE])
#pragma omp target
        table[i] = x;
    }
    double *x = row[0], *y = row[ROWS - 1];
#pragma omp target
    {
        first = x;
        ends.last = y;
        ends.n = TILE;
    }
    for (int round = 0; round < ROUNDS; round++) {
        use_memory(other);
#pragma omp target
        for (int i = 0; i < ROWS; i++)
            table[i][round] += 1;
#pragma omp target
        {
            first[TILE - 1] += 1;
            ends.last[ends.n - 1] += 2;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        x = row[i];
#pragma omp target exit data map(from : x[0 : TILE])
        CHECK((int)x[0] == 1 && (int)x[ROUNDS - 1] == 1);
        CHECK((int)x[TILE - 1] == (i == 0 ? ROUNDS : i == ROWS - 1 ? 2 * ROUNDS : 0));
        free(x);
    }
    for (int i = 0; i < OTHERS; i++) {
        x = other[i];
#pragma omp target exit data map(from : x[0 : TILE])
        CHECK((int)x[0] == ROUNDS && (int)x[TILE - 1] == ROUNDS);
        free(x);
    }
    return check_result();
}
