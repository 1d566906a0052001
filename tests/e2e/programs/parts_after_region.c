/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sections of an array that were its parts in a data region, which is closed: kernels that map one of them `to` write to
 * their own copy of it, and the program's memory stays as it is.
 *
 * memory: 64Ki
 * cpu: 0
 * run: OMPDARTS_OVERSIZE=page OMPDARTS_MEM=12Ki
 */
#include "check.h"

enum { PARTS = 4, N = PARTS * TILE, PAGE = 4096 };

static double *a;

static void add(int part, double what)
{
    double *of = a;
#pragma omp target nowait depend(inout : of[part * TILE : TILE]) map(to : of[0 : N])
    for (int i = part * TILE; i < (part + 1) * TILE; i++)
        of[i] += what;
}

int main(void)
{
    double seen = 0;
    a = (double *)aligned_alloc(PAGE, N * sizeof *a); /* parts end where pages do */
    for (int i = 0; i < N; i++)
        a[i] = 1;
    for (int round = 0; round < 3; round++) {
        double *of = a;
#pragma omp target enter data map(to : of[0 : N])
        for (int part = 0; part < PARTS; part++)
            add(part, 10);
#pragma omp taskwait
#pragma omp target map(tofrom : seen)
        seen += of[N - 1];
#pragma omp target exit data map(delete : of[0 : N])
        for (int part = 0; part < PARTS; part++) {
            double *tile = a + part * TILE;
#pragma omp target nowait depend(out : tile[0 : TILE]) map(to : tile[0 : TILE])
            for (int i = 0; i < TILE; i++)
                tile[i] += 100;
        }
#pragma omp taskwait
        CHECK(all_are(a, N, 1));
    }
    CHECK(seen == 3 * 11);
    free(a);
    return check_result();
}
