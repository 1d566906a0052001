/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tied tasks that wait for their own target tasks, or for tasks of the host, keep what belongs to their thread: what
 * runs there meanwhile are descendants of theirs (OpenMP's task scheduling constraint).
 *
 * memory: 64Ki
 * variants: private buffers deep locked host
 */
#include "check.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>

enum { TASKS = 150, THREADS = 4, N = 200 };

static int own;
#pragma omp threadprivate(own)

static void use_private(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int t = 0; t < TASKS; t++)
#pragma omp task firstprivate(t)
    {
        int x = 0;
        own = t + 1;
#pragma omp target nowait map(tofrom : x) depend(inout : x)
        x++;
#pragma omp target nowait map(tofrom : x) depend(inout : x)
        x++;
#pragma omp taskwait
        CHECK(own == t + 1 && x == 2);
    }
}

static void use_buffers(void)
{
    static double buffer[THREADS][N];
    double sums[TASKS];
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int t = 0; t < TASKS; t++)
#pragma omp task firstprivate(t) shared(sums)
    {
        double *b = buffer[omp_get_thread_num()];
        for (int i = 0; i < N; i++)
            b[i] = t + i;
#pragma omp taskgroup
        {
#pragma omp target nowait map(tofrom : b[0 : N]) depend(inout : b[0 : N])
            for (int i = 0; i < N; i++)
                b[i] *= 2;
        }
        sums[t] = 0;
        for (int i = 0; i < N; i++)
            sums[t] += b[i];
    }
    for (int t = 0; t < TASKS; t++)
        CHECK((long)sums[t] == 2L * N * t + N * (N - 1));
}

/* If they ran on top of each other they would need more than a stack. */
static void go_deep(void)
{
    enum { MANY = 3000, LARGE = 4096 };
    long sum = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int t = 0; t < MANY; t++)
#pragma omp task firstprivate(t) shared(sum)
    {
        int local[LARGE], x = 0;
        for (int i = 0; i < LARGE; i++)
            local[i] = t;
#pragma omp target nowait map(tofrom : x) depend(inout : x) firstprivate(t)
        x = t;
#pragma omp taskwait
#pragma omp atomic
        sum += local[x % LARGE];
    }
    CHECK(sum == (long)MANY * (MANY - 1) / 2);
}

static void hold_mutex(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int count = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int t = 0; t < TASKS; t++)
#pragma omp task shared(mutex, count)
    {
        pthread_mutex_lock(&mutex);
#pragma omp target nowait map(tofrom : count) depend(inout : count)
        count++;
#pragma omp taskwait
        pthread_mutex_unlock(&mutex);
    }
    CHECK(count == TASKS);
}

static int fibonacci(int n)
{
    int a = n, b = 0;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void use_host(void)
{
    int x = 0;
#pragma omp target map(tofrom : x)
    x = 1;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int t = 0; t < TASKS; t++)
#pragma omp task firstprivate(t)
    {
        own = t + 1;
        int f = fibonacci(11);
        CHECK(own == t + 1 && f == 89);
    }
    CHECK(x == 1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "private"))
        use_private();
    if (!strcmp(what, "buffers"))
        use_buffers();
    if (!strcmp(what, "deep"))
        go_deep();
    if (!strcmp(what, "locked"))
        hold_mutex();
    if (!strcmp(what, "host"))
        use_host();
    return check_result();
}
