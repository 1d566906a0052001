/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host task names a range of which kernels have several data, one of them with the first element of the range, or
 * none; an array in an open region lies in between. It finds what kernels have written outside the region, and what it
 * writes there is what they find.
 *
 * memory: 40Ki
 * run: OMPDARTS_COHERENCE=depend
 */
#include "check.h"

enum { COUNT = 4 };

static double sum(const double *x, size_t n)
{
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += x[i];
    return all;
}

int main(void)
{
    double *x = make_tiles(COUNT, 1), *second = x + TILE, *third = x + 2 * TILE, *last = x + 3 * TILE;
    double before = 0, after = 0;
#pragma omp target enter data map(to : third[0 : TILE])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 5; round++) {
#pragma omp target nowait depend(out : x[0 : COUNT * TILE]) map(tofrom : second[0 : TILE], last[0 : TILE])
        for (int i = 0; i < TILE; i++) {
            second[i] += 1;
            last[i] += 2;
        }
#pragma omp target nowait depend(inout : x[0 : COUNT * TILE]) map(tofrom : third[0 : TILE])
        for (int i = 0; i < TILE; i++)
            third[i] += 100;
#pragma omp task depend(in : x[0 : COUNT * TILE]) shared(before)
        before = sum(second, TILE) + sum(last, TILE);
#pragma omp task depend(inout : x[0 : COUNT * TILE])
        for (int i = 0; i < TILE; i++) {
            second[i] *= 2;
            last[i] *= 2;
        }
#pragma omp target nowait depend(inout : x[0 : COUNT * TILE]) map(tofrom : second[0 : TILE], last[0 : TILE])
        for (int i = 0; i < TILE; i++) {
            second[i] += 1;
            last[i] += 1;
        }
#pragma omp task depend(in : x[0 : COUNT * TILE]) shared(after)
        after = sum(second, TILE) + sum(last, TILE);
#pragma omp taskwait
        CHECK(after == 2 * before + 2 * TILE);
    }
    CHECK(all_are(x, TILE, 1));
    CHECK(all_are(third, TILE, 1));
#pragma omp target exit data map(from : third[0 : TILE])
    CHECK(all_are(third, TILE, 501));
    free(x);
    return check_result();
}
