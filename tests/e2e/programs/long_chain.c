/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A thread that is alone creates more target tasks that depend on each other than its stack has room for calls: libomp
 * runs what a task releases on top of it. Also with host tasks between them, and in another root thread.
 *
 * memory: 24Ki
 * run: OMP_CANCELLATION=true
 */
#include "check.h"

#include <pthread.h>

enum { LINKS = 6000, STACK = 1 << 19 }; /* bytes; 150 and more a link */

static void chain(double *x, int host_every)
{
    for (int k = 0; k < LINKS; k++) {
        if (host_every && k % host_every == 0) {
#pragma omp task depend(inout : x[0])
            x[0] += 1;
        } else {
#pragma omp target nowait depend(inout : x[0]) map(tofrom : x[0 : 1])
            x[0] += 1;
        }
    }
#pragma omp taskwait
}

static void *chains(void *x)
{
    chain(x, 0);
    chain(x, 2);
    return NULL;
}

int main(void)
{
    double x = 0;
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    pthread_create(&thread, &small, chains, &x);
    pthread_join(thread, NULL);
    CHECK(x == 2 * LINKS);
    return check_result();
}
