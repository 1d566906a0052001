/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target tasks in order, of a thread that is alone in its team, while it begins a region and runs a task in the barrier
 * at the end of that: this one yields as target tasks from around the region complete, and their successors run all the
 * same.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 5, CHAIN = 4, TIMES = 1000, YIELDS = 40, PAUSE_US = 250 };

static int at_primary; /* a task has begun on the thread that began the region */

/* Each kernel takes longer than it takes to begin the region. */
static void start_chain(double *x)
{
    for (int step = 0; step < CHAIN; step++)
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : TILE])
        for (int times = 0; times < TIMES; times++)
            for (int i = 0; i < TILE; i++)
                x[i] += 1;
}

static void yield_a_while(void)
{
    for (int i = 0; i < YIELDS; i++) {
#pragma omp taskyield
        usleep(PAUSE_US);
    }
}

/* One task for each thread of the team; all but the primary thread's wait until that one has begun. */
static void yield_on_primary(void)
{
    if (omp_get_thread_num() == 0) {
        __atomic_store_n(&at_primary, 1, __ATOMIC_SEQ_CST);
        yield_a_while();
    }
    while (!__atomic_load_n(&at_primary, __ATOMIC_SEQ_CST))
        usleep(PAUSE_US);
}

static void run_region(void)
{
    __atomic_store_n(&at_primary, 0, __ATOMIC_SEQ_CST);
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < THREADS && omp_get_thread_num() == 0; i++) {
#pragma omp task
        yield_on_primary();
    }
}

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int round = 1; round <= ROUNDS; round++) {
        start_chain(x);
        run_region();
#pragma omp taskwait
        CHECK(all_are(x, TILE, round * CHAIN * TIMES));
    }
    free(x);
    return check_result();
}
