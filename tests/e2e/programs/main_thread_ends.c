/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * main() ends its thread alone: the process ends with the last thread of the program, with exit code 0, although the
 * library has threads of its own.
 *
 * memory: 24Ki
 */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static double *x;

static void add(double amount)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += amount;
}

static void *go_on(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    add(1);
    CHECK(all_are(x, TILE, 3));
    if (check_result() != 0)
        _exit(1);
    return NULL;
}

int main(void)
{
    static pthread_t self;
    pthread_t other;
    x = make_tiles(1, 0);
    add(2);
    self = pthread_self();
    CHECK(pthread_create(&other, NULL, go_on, &self) == 0);
    pthread_exit(NULL);
}
