/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels that might run in slices. `private`: their teams share a variable that is private to the target region.
 * `critical`: two threads that have nothing in common launch them inside of a critical section. `shown`: another thread
 * holds the device address of their array. `part`: only a part of their array is present. `mapped`: two threads launch
 * them at once on an array that is in no data region, with more teams than libomp has threads for.
 *
 * environment: OMPDARTS_SLICE=4
 * variants: private critical shown part mapped
 */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { N = 1 << 16, ROUNDS = 5 };

static void of_private(void)
{
    int *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out);
    if (!in || !out)
        abort();
    for (int i = 0; i < N; i++)
        in[i] = i;
#pragma omp target enter data map(to : in[0 : N]) map(alloc : out[0 : N])
    for (int r = 0; r < ROUNDS; r++) {
        int next = 0;
        long sum = 0;
        memset(out, 0, N * sizeof *out);
#pragma omp target update to(out[0 : N])
#pragma omp target
#pragma omp teams distribute parallel for
        for (int i = 0; i < N; i++) {
            int k;
#pragma omp atomic capture
            k = next++;
            out[k] = in[i];
        }
#pragma omp target update from(out[0 : N])
        for (int i = 0; i < N; i++)
            sum += out[i];
        CHECK(sum == (long)N * (N - 1) / 2);
    }
#pragma omp target exit data map(delete : in[0 : N], out[0 : N])
    free(in);
    free(out);
}

static void *sums(void *unused)
{
    double *x = malloc(N * sizeof *x);
    (void)unused;
    if (!x)
        abort();
    for (int i = 0; i < N; i++)
        x[i] = 1;
    for (int r = 0; r < 8 * ROUNDS; r++) {
#pragma omp critical
        {
            double s = 0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(tofrom : s) map(to : x[0 : N])
            for (int i = 0; i < N; i++)
                s += x[i];
            CHECK((int)s == N);
        }
        usleep(500);
    }
    free(x);
    return NULL;
}

static void *add(void *array)
{
    double *x = array;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            x[i] += 1;
    }
    return NULL;
}

static void join(pthread_t *threads, int n)
{
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
}

static void of_critical(void)
{
    pthread_t threads[2];
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, sums, NULL))
            abort();
    join(threads, 2);
}

static void of_shown(void)
{
    double *x = calloc(N, sizeof *x), *host = x;
    pthread_t thread;
    if (!x)
        abort();
#pragma omp target data map(tofrom : x[0 : N])
#pragma omp target data use_device_ptr(x)
    {
        if (pthread_create(&thread, NULL, add, host))
            abort();
        join(&thread, 1);
    }
    CHECK((int)host[0] == ROUNDS && (int)host[N - 1] == ROUNDS);
    free(host);
}

static void of_part(void)
{
    static double x[N];
#pragma omp target enter data map(to : x[0 : N / 2])
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N / 2; i++)
            x[i] += 1;
    }
#pragma omp target exit data map(from : x[0 : N / 2])
    CHECK((int)x[0] == ROUNDS && (int)x[N / 2 - 1] == ROUNDS);
}

static int mapped[N], ones[N];

static void *sum_mapped(void *result)
{
    int sum = 0;
#pragma omp target teams distribute parallel for num_teams(3) reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < N; i++)
        sum += mapped[i] % 11;
    *(int *)result = sum;
    return NULL;
}

static int add_mapped(void)
{
    int sum = 0;
#pragma omp target teams distribute parallel for num_teams(3) reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < N; i++) {
        sum += mapped[i] % 7;
        ones[i]++;
    }
    return sum;
}

static void of_mapped(void)
{
    enum { ALONE = 4, BESIDE = 20 };
    int by_7 = 0, by_11 = 0, sum;
    for (int i = 0; i < N; i++) {
        mapped[i] = i;
        by_7 += i % 7;
        by_11 += i % 11;
    }
    for (int r = 0; r < ALONE + BESIDE; r++) {
        pthread_t thread;
        if (r < ALONE)
            sum_mapped(&sum);
        else if (pthread_create(&thread, NULL, sum_mapped, &sum))
            abort();
        CHECK(add_mapped() == by_7);
        if (r >= ALONE)
            join(&thread, 1);
        CHECK(sum == by_11);
    }
    CHECK(ones[0] == ALONE + BESIDE && ones[N - 1] == ALONE + BESIDE);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "private";
    if (!strcmp(which, "private"))
        of_private();
    else if (!strcmp(which, "critical"))
        of_critical();
    else if (!strcmp(which, "shown"))
        of_shown();
    else if (!strcmp(which, "part"))
        of_part();
    else
        of_mapped();
    return check_result();
}
