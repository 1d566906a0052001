/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks that libomp discards: those of a cancelled taskgroup that have not begun, target tasks and host tasks with
 * depend clauses, behind each other and behind what has begun. Their private objects are destroyed once each, waits for
 * what depends on them end, and tasks after the group run. Without OMP_CANCELLATION all of them run.
 *
 * run: OMP_CANCELLATION=true
 * run: OMP_CANCELLATION=true OMP_NUM_THREADS=1
 * run: OMP_CANCELLATION=true OMP_NUM_THREADS=4 OMPDARTS_COHERENCE=depend
 */
#include "check.h"

#include <atomic>
#include <omp.h>

static std::atomic<int> objects;

struct object {
    double value;
    explicit object(double v) : value(v) { objects++; }
    object(const object &other) : value(other.value) { objects++; }
    ~object() { objects--; }
};

enum { TASKS = 24 };

static void group(double *x, int cancelled)
{
    object one(1);
#pragma omp taskgroup
    {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        for (int t = 0; t < TASKS; t++) {
#pragma omp task depend(inout : x[0]) firstprivate(one, t, cancelled) shared(x)
            {
                x[1] += one.value;
                if (cancelled && t == TASKS / 2) {
#pragma omp cancel taskgroup
                }
            }
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            for (int i = 2; i < TILE; i++)
                x[i] += 1;
        }
    }
}

int main()
{
    double *x = make_tiles(1, 0);
    const bool cancels = omp_get_cancellation();
    double targets = 0;
    for (int round = 0; round < 6; round++) {
        const double before = x[1];
#pragma omp parallel
#pragma omp single
        {
            group(x, round % 2);
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
            x[TILE - 1] += 100;
#pragma omp taskwait depend(in : x[0])
            if (cancels && round % 2)
                CHECK(x[1] - before == 1 + TASKS / 2 + 1); /* in order, until the one that cancels */
            else
                CHECK(x[1] - before == 1 + TASKS);
        }
        targets = x[TILE - 1];
    }
    CHECK(targets >= 3 * (1 + TASKS) + 600 && targets <= 6 * (1 + TASKS) + 600);
    CHECK(objects == 0);
    std::free(x);
    return check_result();
}
