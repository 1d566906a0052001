/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A region of one thread inside another one, with tasks of its own, while a task around it waits for an event that the
 * successor of a target task fulfils: that may be under way when the inner region begins, and end at any moment in it.
 *
 * run: OMP_NUM_THREADS=1
 */
#include "check.h"

#include <omp.h>

enum { ROUNDS = 80, PANELS = 3, STEP = 8 };

/* The event is fulfilled by a task that a target task releases. */
static void expect(double *x, int n, double *seen)
{
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp target nowait depend(inout : x[0], x[1], x[2]) map(tofrom : x[0 : TILE])
    for (int i = 0; i < n; i++)
        x[i % TILE] += 1;
#pragma omp task detach(event) depend(in : x[1])
    seen[0] = x[1];
#pragma omp task firstprivate(event) depend(in : x[2])
    {
        seen[1] = x[2];
        omp_fulfill_event(event);
    }
}

static void factor(double *x, double *pivots, const double *taus, bool offloads)
{
    for (int i = 0; i < PANELS; i++) {
#pragma omp task firstprivate(i) depend(inout : x[i]) depend(out : pivots[i]) depend(in : taus[i])
        {
            double *panel = x + i;
            pivots[i] = 2 * taus[i] + 1;
            if (offloads)
#pragma omp target map(tofrom : panel[0 : 1])
                panel[0] *= 2;
            else
                panel[0] *= 2;
        }
#pragma omp target nowait depend(inout : x[i]) depend(in : pivots[i]) map(tofrom : x[i : 1]) map(to : pivots[i : 1])
        x[i] += pivots[i];
    }
}

static void round_of(double *x, double *panels, int n, bool offloads)
{
    double seen[2] = {0, 0}, pivots[PANELS] = {0, 0, 0};
    const double taus[PANELS] = {3, 4, 5};
    for (int i = 0; i < PANELS; i++)
        panels[i] = i;
#pragma omp parallel num_threads(1)
    {
        expect(x, n, seen);
#pragma omp parallel num_threads(1)
        {
            factor(panels, pivots, taus, offloads);
#pragma omp task
#pragma omp target nowait map(tofrom : panels[PANELS : 1])
            panels[PANELS] += 1;
#pragma omp taskwait
        }
#pragma omp taskwait
    }
    for (int i = 0; i < PANELS; i++)
        CHECK((int)panels[i] == 2 * i + 2 * (int)taus[i] + 1);
    CHECK((int)seen[0] == (int)x[1] && (int)seen[1] == (int)x[2]);
}

int main(void)
{
    double *x = make_tiles(1, 0), *panels = make_tiles(1, 0);
    for (int round = 0; round < ROUNDS; round++)
        round_of(x, panels, round * STEP * TILE, round % 4 == 3);
    CHECK((int)x[TILE - 1] == STEP * ROUNDS * (ROUNDS - 1) / 2 && (int)panels[PANELS] == ROUNDS);
    free(x);
    free(panels);
    return check_result();
}
