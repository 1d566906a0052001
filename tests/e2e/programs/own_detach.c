/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program's own detachable host tasks, and undeferred, final and untied ones, among target tasks on the same tiles.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { COUNT = 8 };

static void create(double *x)
{
    omp_event_handle_t event = 0;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
#pragma omp task detach(event) depend(inout : x[0 : TILE])
    {
        x[0] += 1;
        omp_fulfill_event(event);
    }
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
#pragma omp task final(1) depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp task untied depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
#pragma omp task if (0) depend(inout : x[0 : TILE])
    x[0] += 1;
#pragma omp task depend(mutexinoutset : x[0])
    x[0] += 1;
#pragma omp task depend(mutexinoutset : x[0])
    x[0] += 1;
#pragma omp target nowait depend(inout : x[0 : TILE]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] *= 2;
}

int main(void)
{
    double *x = make_tiles(COUNT, 0);
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < COUNT; t++)
        create(x + t * TILE);
    for (int t = 0; t < COUNT; t++) {
        CHECK(x[t * TILE] == 30); /* ((1 + 1) * 2 + 2) * 2 + 3, twice */
        CHECK(all_are(x + t * TILE + 1, TILE - 1, 8));
    }
    free(x);
    return check_result();
}
