/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * pthread_cancel() of threads that offload: it takes effect between constructs, where the thread itself has cancellation
 * points, and leaves neither locks nor half of a construct behind.
 *
 * memory: 24Ki
 */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 20 };

static double *x;
static int begun;

static void add(double *tile, double amount)
{
#pragma omp target map(tofrom : tile[0 : TILE])
    for (int i = 0; i < TILE; i++)
        tile[i] += amount;
}

static void *work(void *arg)
{
    double *tile = arg;
    for (;;) {
        add(tile, 1);
        __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
        pthread_testcancel();
    }
    return NULL;
}

static void cancel_one(double *tile, useconds_t pause_us)
{
    pthread_t thread;
    void *result;
    begun = 0;
    CHECK(pthread_create(&thread, NULL, work, tile) == 0);
    while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
        usleep(100);
    usleep(pause_us);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(all_are(tile, TILE, tile[0]));
}

int main(void)
{
    x = make_tiles(1, 0);
    for (useconds_t i = 0; i < THREADS; i++)
        cancel_one(x, 37 * i);
    double before = x[0];
    add(x, 2);
    CHECK(all_are(x, TILE, before + 2));
    free(x);
    return check_result();
}
