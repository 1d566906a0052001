/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that offload from inside are tasks of their team: thread numbers, reductions, threadprivate variables, and
 * the size of the stack.
 *
 * environment: OMP_STACKSIZE=64M
 */
#include "check.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 16, TASKS = 320, THREADS = 4, ADDED = 5000, DEEP = 16 << 20 };

static int per_thread;
#pragma omp threadprivate(per_thread)

static void offload(double *x)
{
#pragma omp target data map(tofrom : x [0:TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

/* No two tasks of a team run at once under one thread number, which is one of the team. */
static void check_numbers(double *x)
{
    int busy[THREADS] = {0}, clashes = 0, strangers = 0;
#pragma omp parallel num_threads(THREADS) shared(busy, clashes, strangers)
#pragma omp single
    for (int k = 0; k < TASKS; k++) {
        double *tile = x + (k % COUNT) * TILE;
#pragma omp task depend(inout : tile [0:TILE])
        {
            int me = omp_get_thread_num();
            bool known = me >= 0 && me < THREADS && omp_get_num_threads() == THREADS && omp_get_level() == 1;
            if (!known || __atomic_fetch_add(&busy[known ? me : 0], 1, __ATOMIC_ACQ_REL))
                __atomic_fetch_add(known ? &clashes : &strangers, 1, __ATOMIC_RELAXED);
            offload(tile);
            for (volatile int spin = 0; spin < 20000; spin++)
                continue;
            __atomic_fetch_sub(&busy[known ? me : 0], 1, __ATOMIC_ACQ_REL);
        }
    }
    CHECK(clashes == 0);
    CHECK(strangers == 0);
}

static void check_reduction(double *x)
{
    long sum = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    for (int k = 0; k < TASKS; k++) {
        double *tile = x + (k % COUNT) * TILE;
#pragma omp task depend(inout : tile [0:TILE]) in_reduction(+ : sum)
        {
            for (int i = 0; i < ADDED; i++)
                *(volatile long *)&sum += 1;
            offload(tile);
        }
    }
    CHECK(sum == (long)TASKS * ADDED);
}

static void check_threadprivate(double *x)
{
    int wrong = 0;
#pragma omp parallel num_threads(THREADS) shared(wrong)
    {
        per_thread = 100 + omp_get_thread_num();
#pragma omp barrier
#pragma omp single
        for (int k = 0; k < TASKS; k++) {
            double *tile = x + (k % COUNT) * TILE;
#pragma omp task depend(inout : tile [0:TILE]) shared(wrong)
            {
                if (per_thread != 100 + omp_get_thread_num())
                    __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
                offload(tile);
            }
        }
    }
    CHECK(wrong == 0);
}

/* On a thread other than the primary one, whose stack is the system's. */
static __attribute__((noinline)) double use_stack(int bytes)
{
    char deep[DEEP];
    memset(deep, 1, sizeof deep);
    __asm__ volatile("" ::"r"(deep) : "memory");
    return deep[bytes % DEEP];
}

static void check_stack(double *x)
{
    double sum = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int k = 0; k < COUNT * 4; k++) {
        double *tile = x + (k % COUNT) * TILE;
#pragma omp task depend(inout : tile [0:TILE]) shared(sum)
        {
            offload(tile);
            double one = omp_get_thread_num() ? use_stack(k) : 1;
#pragma omp atomic
            sum += one;
        }
    }
    CHECK(sum == COUNT * 4);
}

int main(void)
{
    if (!getenv("OMP_STACKSIZE")) {
        fprintf(stderr, "set OMP_STACKSIZE=64M: tasks use %d MB of stack\n", DEEP >> 20);
        return 2;
    }
    double *x = make_tiles(COUNT, 0);
#pragma omp target data map(tofrom : x [0:COUNT * TILE])
    {
        check_numbers(x);
        check_reduction(x);
        check_threadprivate(x);
        check_stack(x);
    }
    CHECK(all_are(x, COUNT * TILE, 3 * (TASKS / COUNT) + 4));
    free(x);
    return check_result();
}
