/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads of the program's own end that have created tasks with dependences in a region. libomp keeps their teams for
 * others: threads of a new team create tasks in regions of one thread. No other thread runs the former ones' host tasks,
 * as libomp itself would not survive that. */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <semaphore.h>

enum { ROOTS = 4, WORKERS = 8, TASKS = 500 };

static pthread_barrier_t all_have_begun;
static int of_host[ROOTS + WORKERS][TASKS], of_device[ROOTS + WORKERS][TASKS];

static void create(int root)
{
    for (int i = 0; i < TASKS; i++) {
        int *h = &of_host[root][i], *d = &of_device[root][i];
#pragma omp task depend(inout : *h)
        ++*h;
#pragma omp target nowait map(tofrom : d[:1]) depend(inout : *h)
        d[0] += 2;
    }
#pragma omp taskwait
}

static void *in_region(void *arg)
{
    sem_t created;
    sem_init(&created, 0, 0);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        create((int)(long)arg);
        sem_post(&created);
    } else {
        sem_wait(&created);
    }
    sem_destroy(&created);
    pthread_barrier_wait(&all_have_begun);
    return NULL;
}

static void run(void *(*function)(void *))
{
    pthread_t root[ROOTS];
    for (long i = 0; i < ROOTS; i++)
        pthread_create(&root[i], NULL, function, (void *)i);
    for (int i = 0; i < ROOTS; i++)
        pthread_join(root[i], NULL);
}

int main(void)
{
    pthread_barrier_init(&all_have_begun, NULL, ROOTS);
    run(in_region);
#pragma omp parallel num_threads(WORKERS)
#pragma omp parallel num_threads(1)
    create(ROOTS + omp_get_ancestor_thread_num(1));
    pthread_barrier_destroy(&all_have_begun);
    for (int i = 0; i < ROOTS + WORKERS; i++)
        for (int j = 0; j < TASKS; j++) {
            CHECK(of_host[i][j] == 1);
            CHECK(of_device[i][j] == 2);
        }
    return check_result();
}
