/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads enter and leave regions with the same arrays: what the last one leaves without copying it home, a constant, or
 * memory that the host uses otherwise, another enters again while what was mapped beside it is still being copied.
 *
 * memory: 1Mi
 * run: OMPDARTS_DEBUG=jitter=0.002
 * run: OMPDARTS_DEBUG=jitter=0.002 OMPDARTS_COHERENCE=strict
 */
#include "check.h"

#include <omp.h>

enum { N = 512, LARGE = 32 * 1024, THREADS = 3, ROUNDS = 25 };

static const double constant[N] = {1, 2, 3};
static double scratch[THREADS][N], ends[2 * N];

static void check_host(int thread)
{
    for (int i = 0; i < N; i++)
        CHECK(scratch[thread][i] == thread);
    CHECK(ends[thread] == -thread);
}

static void go_round(int thread, double *mine)
{
#pragma omp target data map(to : constant) map(alloc : scratch) map(to : ends) map(tofrom : mine[0 : LARGE])
    {
#pragma omp target
        for (int i = 0; i < N; i++) {
            scratch[thread][i] = constant[i % 3];
            mine[i] += scratch[thread][i];
            ends[thread] = 7;
        }
    }
    check_host(thread);
}

static void leave_later(int thread, double *mine)
{
#pragma omp target enter data map(to : constant) map(to : scratch[thread][0 : N]) map(to : mine[0 : LARGE])
#pragma omp target map(tofrom : mine[0 : LARGE]) map(to : constant) map(tofrom : scratch[thread][0 : N])
    for (int i = 0; i < N; i++) {
        scratch[thread][i] += 1;
        mine[i] += constant[1];
    }
#pragma omp target exit data map(release                                                                               \
                                 : constant) map(release                                                               \
                                                 : scratch[thread][0 : N]) map(from                                     \
                                                                              : mine[0 : LARGE]) nowait                 \
depend(inout                                                                                                           \
       : mine[0])
#pragma omp taskwait
    check_host(thread);
}

/* Of `ends` only what nobody looks at is copied home, by whoever is the last. */
static void leave_a_part(int thread, double *mine)
{
#pragma omp target enter data map(to : ends) map(to : mine[0 : LARGE])
#pragma omp target map(tofrom : mine[0 : LARGE]) map(tofrom : ends)
    for (int i = 0; i < N; i++) {
        ends[thread] += 1;
        ends[N + thread] = i;
        mine[i] += 2;
    }
#pragma omp target exit data map(from : ends[N + thread : 1]) map(from : mine[0 : LARGE])
    check_host(thread);
}

static void work(void (*round)(int, double *))
{
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
        double *mine = calloc(LARGE, sizeof *mine);
        for (int i = 0; i < N; i++)
            scratch[thread][i] = thread;
        ends[thread] = -thread;
#pragma omp barrier
        for (int i = 0; i < ROUNDS; i++)
            round(thread, mine);
        CHECK(mine[1] == 2 * ROUNDS);
        free(mine);
    }
}

int main(void)
{
    work(go_round);
    work(leave_later);
    work(leave_a_part);
    return check_result();
}
