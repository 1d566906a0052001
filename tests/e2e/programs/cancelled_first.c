/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pthread_cancel() of a thread whose construct is the first of the program, and of one later: the construct, in which
 * device code is loaded and everything begins, is completed before the cancellation takes effect.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"

/* libomptarget alone hangs then. */
static bool has_library(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "ompdarts");
}

static void add(double *tile, double amount)
{
#pragma omp target map(tofrom : tile[0 : TILE])
    for (int i = 0; i < TILE; i++)
        tile[i] += amount;
}

/* Cancelled already as the construct begins. */
static void *work(void *arg)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (has_library())
        pthread_cancel(pthread_self());
    pthread_setcancelstate(before, NULL);
    add(arg, 1);
    pthread_testcancel();
    return NULL;
}

static void cancel_one(double *tile)
{
    pthread_t thread;
    void *result = NULL;
    CHECK(pthread_create(&thread, NULL, work, tile) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == (has_library() ? PTHREAD_CANCELED : NULL));
}

int main(void)
{
    double *x = make_tiles(1, 0);
    cancel_one(x);
    cancel_one(x);
    add(x, 2);
    CHECK(all_are(x, TILE, 4));
    free(x);
    return check_result();
}
