/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Threads of a team create target tasks without depend clauses, each of which may begin where it is created: from inside
 * of locks and critical sections that other tasks of the team wait for, from explicit tasks and taskgroups, and from code
 * of which some instances run on the host. Whoever waits for them finds them complete.
 * variants: locks tasks host
 */
#include "check.h"

#include <omp.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 60, N = 16 };

static int x[THREADS][N];

static void add(int *a, int n)
{
#pragma omp target nowait map(tofrom : a[:N])
    for (int i = 0; i < N; i++)
        a[i] += n;
}

static void check_all(int want)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < N; i++)
            CHECK(x[t][i] == want);
}

/* Host tasks want what the creator holds, and more of them are created there. */
static void create_in_locks(void)
{
    omp_lock_t lock;
    int counted = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(THREADS)
    {
        int *own = x[omp_get_thread_num()];
        for (int round = 0; round < ROUNDS; round++) {
#pragma omp task
            {
                omp_set_lock(&lock);
                counted++;
                omp_unset_lock(&lock);
            }
            if (round % 2) {
                omp_set_lock(&lock);
                add(own, 1);
                counted++;
                omp_unset_lock(&lock);
            } else {
#pragma omp critical
                {
                    add(own, 1);
#pragma omp atomic
                    counted++;
                }
            }
#pragma omp taskwait
            CHECK(own[0] == round + 1 && own[N - 1] == round + 1);
        }
    }
    omp_destroy_lock(&lock);
    CHECK(counted == 2 * THREADS * ROUNDS);
    check_all(ROUNDS);
}

static void create_in_tasks(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskgroup
        for (int t = 0; t < THREADS; t++) {
#pragma omp task
            {
                add(x[t], 1);
#pragma omp taskwait
                add(x[t], 2);
#pragma omp taskgroup
                {
#pragma omp task
                    usleep(0);
                }
            }
        }
        check_all(3 * (round + 1));
    }
}

/* Every fifth instance is for the host. */
static void create_for_host(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        int *own = x[round % THREADS];
#pragma omp target nowait if (round % 5 < 4) map(tofrom : own[:N])
        for (int i = 0; i < N; i++)
            own[i] += 1;
        if (round % THREADS == THREADS - 1) {
#pragma omp taskwait
        }
    }
    check_all(ROUNDS / THREADS);
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "locks";
    if (strcmp(variant, "locks") == 0)
        create_in_locks();
    else if (strcmp(variant, "tasks") == 0)
        create_in_tasks();
    else
        create_for_host();
    return check_result();
}
