/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks with target constructs inside of a critical section, or under a lock: what waits there for its own target tasks
 * runs no other task that wants the lock. An undeferred task does not wait for a host task that its child has left.
 *
 * memory: 64Ki
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 12, ROUNDS = 4, N = 256 };

static omp_lock_t lock;
static omp_nest_lock_t nest_lock;

static void add(double *y)
{
#pragma omp target nowait depend(inout : y[0]) map(tofrom : y[0 : N])
    for (int i = 0; i < N; i++)
        y[i] += 1;
}

/* Nothing waits here but the end of the undeferred task. */
static void in_undeferred_task(double *y, int *n)
{
#pragma omp critical(undeferred)
    {
#pragma omp task if (0) firstprivate(y)
        add(y);
        ++*n;
    }
}

static void behind_own_task(double *y, int *n)
{
    add(y);
#pragma omp critical(behind)
    {
#pragma omp target depend(inout : y[0]) map(tofrom : y[0 : N])
        for (int i = 0; i < N; i++)
            y[i] += 1;
        ++*n;
    }
}

static void under_lock(double *y, int *n)
{
    omp_set_lock(&lock);
#pragma omp target enter data map(to : y[0 : N])
    add(y);
#pragma omp target exit data map(from : y[0 : N]) depend(inout : y[0])
    ++*n;
    omp_unset_lock(&lock);
}

static void under_nested_lock(double *y, int *n)
{
    omp_set_nest_lock(&nest_lock);
    while (!omp_test_nest_lock(&nest_lock))
        continue;
    add(y);
#pragma omp taskwait
    omp_unset_nest_lock(&nest_lock);
    add(y);
#pragma omp taskwait depend(in : y[0])
    ++*n;
    omp_unset_nest_lock(&nest_lock);
}

static void try(void (*body)(double *, int *), int adds, int threads)
{
    double *x = make_tiles(TASKS, 0);
    int n = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel num_threads(threads) shared(x, n)
#pragma omp single
        for (int t = 0; t < TASKS; t++)
#pragma omp task shared(n) firstprivate(t)
            body(x + t * TILE, &n);
    }
    CHECK(n == TASKS * ROUNDS);
    for (int t = 0; t < TASKS; t++)
        CHECK(x[t * TILE] == adds * ROUNDS && x[t * TILE + N - 1] == adds * ROUNDS);
    free(x);
}

/* The grandchild ends when the program has gone on behind the undeferred task. */
static void left_behind(void)
{
    double a[N] = {0};
    omp_event_handle_t outside = {0};
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task if (0) shared(a, outside)
        {
            omp_event_handle_t event;
            add(a);
#pragma omp task detach(event)
            (void)0;
            outside = event;
        }
        omp_fulfill_event(outside);
    }
    CHECK(a[0] == 1);
}

int main(void)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    for (int threads = 1; threads <= 4; threads *= 2) {
        try(in_undeferred_task, 1, threads);
        try(behind_own_task, 2, threads);
        try(under_lock, 1, threads);
        try(under_nested_lock, 2, threads);
    }
    left_behind();
    return check_result();
}
