/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Host tasks that offload while they hold a lock, or wait for something that only another such task does: critical
 * sections, locks, flags, and a lock taken while a device address is shown.
 *
 * memory: 24Ki
 * run: OMPDARTS_SCHED=stationary OMPDARTS_BUFFER=2 OMPDARTS_DEVICES=2:2
 * run: OMP_CANCELLATION=true OMP_NUM_THREADS=1 OMPDARTS_SCHED=dmda OMPDARTS_DEVICES=1
 */
#include "check.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

enum { COUNT = 8, ROUNDS = 10 };

static omp_lock_t lock;

static void clear(double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 0;
}

static void add(double *x)
{
#pragma omp target map(tofrom : x[0 : TILE])
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

static void add_in_critical(double *x)
{
#pragma omp critical
    add(x);
}

static void add_with_lock(double *x)
{
    omp_set_lock(&lock);
    add(x);
    omp_unset_lock(&lock);
}

static void add_with_lock_while_shown(double *x)
{
#pragma omp target data use_device_ptr(x)
    {
        omp_set_lock(&lock);
#pragma omp target is_device_ptr(x)
        for (int i = 0; i < TILE; i++)
            x[i] += 1;
        omp_unset_lock(&lock);
    }
}

static void add_while_shown_in_critical(double *x)
{
#pragma omp critical
#pragma omp target data map(tofrom : x[0 : TILE]) use_device_ptr(x)
#pragma omp target is_device_ptr(x)
    for (int i = 0; i < TILE; i++)
        x[i] += 1;
}

/* Each with a depend clause, whose code is soon known to offload, beside one without. */
static void create(double *x, double *y, void (*first)(double *), void (*second)(double *))
{
#pragma omp task depend(inout : x[0 : TILE])
    first(x);
#pragma omp task
    second(y);
}

/* Without the taskwait many are under way at once; with it a team of one comes to the first tasks of a round while it
 * creates others. */
static void both(double *x, double *y, int rounds, void (*first)(double *), void (*second)(double *))
{
    clear(x, COUNT * TILE);
    clear(y, COUNT * TILE);
    for (int wait = 0; wait < 2; wait++) {
#pragma omp target data map(tofrom : x[0 : COUNT * TILE], y[0 : COUNT * TILE])
#pragma omp parallel num_threads(wait ? omp_get_max_threads() : 3)
#pragma omp single
        for (int round = 0; round < rounds; round++) {
            for (int t = 0; t < COUNT; t++)
                create(x + t * TILE, y + t * TILE, first, second);
            if (wait) {
#pragma omp taskwait
            }
        }
    }
    CHECK(all_are(x, COUNT * TILE, 2 * rounds));
    CHECK(all_are(y, COUNT * TILE, 2 * rounds));
}

static void await(const atomic_int *flag, int value)
{
    while (atomic_load(flag) < value)
        sched_yield();
}

/* One goes on when the other has offloaded. */
static void handshake(double *x, double *y)
{
    atomic_int done = 0;
#pragma omp target data map(tofrom : x[0 : TILE], y[0 : TILE])
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp task depend(inout : x[0 : TILE]) shared(done)
        {
            add(x);
            await(&done, round);
            add(x);
        }
        add(y);
        atomic_store(&done, round);
#pragma omp taskwait
    }
    CHECK(all_are(x, TILE, 2 * ROUNDS));
    CHECK(all_are(y, TILE, ROUNDS));
}

/* What a task waits for in the middle may need what was reserved for it. */
static void waits_with_items(double *x, double *y)
{
#pragma omp target data map(tofrom : x[0 : TILE], y[0 : TILE])
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp task depend(inout : x[0 : TILE])
        {
            add(x);
#pragma omp task depend(inout : y[0 : TILE])
            add(y);
#pragma omp taskwait depend(in : y[0 : TILE])
            add(x);
        }
    }
    CHECK(all_are(x, TILE, 2 * ROUNDS));
    CHECK(all_are(y, TILE, ROUNDS));
}

int main(void)
{
    double *x = make_tiles(COUNT, 0), *y = make_tiles(COUNT, 0);
    omp_init_lock(&lock);
    both(x, y, ROUNDS, add_in_critical, add_in_critical);
    both(x, y, ROUNDS, add_with_lock, add_with_lock);
    both(x, y, 2, add_with_lock_while_shown, add_with_lock);
    both(x, y, 2, add_while_shown_in_critical, add_in_critical);
    omp_destroy_lock(&lock);
    clear(x, TILE);
    clear(y, TILE);
    handshake(x, y);
    clear(x, TILE);
    clear(y, TILE);
    waits_with_items(x, y);
    free(x);
    free(y);
    return check_result();
}
