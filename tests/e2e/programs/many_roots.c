/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* More threads of the program than libomp's first table of threads holds, each with a team and a kernel of its own. */
#include "check.h"

#include <pthread.h>

enum { ROOTS = 24, THREADS = 2 };

static pthread_barrier_t all_have_teams;

static void *offload(void *arg)
{
    double *x = arg;
    int members = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : members)
    members++;
    pthread_barrier_wait(&all_have_teams);
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += members;
    return NULL;
}

int main(void)
{
    static double x[ROOTS][TILE];
    pthread_t root[ROOTS];
    pthread_barrier_init(&all_have_teams, NULL, ROOTS);
    for (int r = 0; r < ROOTS; r++)
        CHECK(pthread_create(&root[r], NULL, offload, x[r]) == 0);
    for (int r = 0; r < ROOTS; r++)
        CHECK(pthread_join(root[r], NULL) == 0);
    for (int r = 0; r < ROOTS; r++)
        CHECK(all_are(x[r], TILE, THREADS));
    return check_result();
}
