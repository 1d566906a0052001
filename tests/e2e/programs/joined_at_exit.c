/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads that offload all the time are told to end, and joined, by a handler of exit() that was there before the first
 * construct. What they compute is right to the end.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 3, SLOW = 30000000 };

static atomic_bool ends;
static pthread_t thread[THREADS];
static int wrong[THREADS];

static void *offload(void *arg)
{
    int *wrong_here = arg, x[4] = {0}, rounds = 0;
    while (!atomic_load(&ends)) {
#pragma omp target map(tofrom : x)
        for (volatile int i = 0; i < SLOW; i++)
            x[0] += i == 0;
        rounds++;
        *wrong_here |= x[0] != rounds;
    }
    return NULL;
}

static void join_all(void)
{
    atomic_store(&ends, true);
    for (int k = 0; k < THREADS; k++) {
        pthread_join(thread[k], NULL);
        CHECK(!wrong[k]);
    }
    int result = check_result();
    fflush(stdout);
    _Exit(result);
}

int main(void)
{
    if (atexit(join_all))
        abort();
    int x[4] = {0};
#pragma omp target map(tofrom : x)
    x[0] = 1;
    CHECK(x[0] == 1);
    for (int k = 0; k < THREADS; k++)
        if (pthread_create(&thread[k], NULL, offload, &wrong[k]))
            abort();
    return 0;
}
