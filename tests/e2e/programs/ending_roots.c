/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads of the program's own that end while target tasks of theirs are under way: who joins them finds all tasks done
 * and their results. In parallel regions of such threads libomp's own threads outlive the ones that the tasks belong
 * to.
 *
 * variants: alone at_once in_region region_of_one
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>

enum { ROOTS = 4, ROUNDS = 25, STEPS = 8, SIZE = 64 };

/* Dependent tasks, none of which anybody waits for. */
static void start_chain(double *x)
{
    for (int step = 0; step < STEPS; step++) {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : SIZE])
        for (int i = 0; i < SIZE; i++)
            x[i] += 1;
    }
}

static void *alone(void *x)
{
    start_chain(x);
    return NULL;
}

/* One task per thread, without dependences: otherwise libomp itself fails in such regions. */
static void *in_region(void *x)
{
#pragma omp parallel num_threads(2)
    {
        double *half = (double *)x + omp_get_thread_num() * SIZE / 2;
#pragma omp target nowait map(tofrom : half[0 : SIZE / 2])
        for (int i = 0; i < SIZE / 2; i++)
            half[i] += (double)STEPS;
    }
    return NULL;
}

static void *region_of_one(void *x)
{
#pragma omp parallel if (0)
    start_chain(x);
    start_chain(x);
#pragma omp taskwait
#pragma omp parallel num_threads(1)
    start_chain(x);
    start_chain(x);
    return NULL;
}

static void run(void *(*offload)(void *), int at_once, double per_round)
{
    static double x[ROOTS][SIZE];
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_t root[ROOTS];
        for (int first = 0; first < ROOTS; first += at_once) {
            for (int r = first; r < first + at_once; r++)
                CHECK(pthread_create(&root[r], NULL, offload, x[r]) == 0);
            for (int r = first; r < first + at_once; r++)
                CHECK(pthread_join(root[r], NULL) == 0);
        }
        for (int r = 0; r < ROOTS; r++)
            CHECK(all_are(x[r], SIZE, per_round * round));
    }
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "alone";
    if (strcmp(variant, "alone") == 0)
        run(alone, 1, STEPS);
    else if (strcmp(variant, "at_once") == 0)
        run(alone, ROOTS, STEPS);
    else if (strcmp(variant, "in_region") == 0)
        run(in_region, ROOTS, STEPS);
    else
        run(region_of_one, ROOTS, 4 * STEPS);
    return check_result();
}
