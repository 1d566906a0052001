/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One thread launches kernels on an array of structs while another attaches the arrays of its elements, one by one.
 * Afterwards one kernel goes through all of them.
 */
#include "check.h"

#include <omp.h>

enum { M = 2000, N = 4 };

typedef struct element {
    double *p;
    int n;
    double seen;
} element;

static void attach_all(element *a)
{
    for (int i = 0; i < M; i++) {
#pragma omp target enter data map(to : a[i].p[0 : N])
    }
}

static void use(element *a)
{
    for (int round = 0; round < 50; round++) {
#pragma omp target
        for (int i = 0; i < M; i++)
            a[i].n++;
    }
}

int main(void)
{
    element *a = calloc(M, sizeof *a);
    for (int i = 0; i < M; i++) {
        a[i].p = malloc(N * sizeof(double));
        for (int j = 0; j < N; j++)
            a[i].p[j] = i + j;
    }
#pragma omp target enter data map(to : a[0 : M])
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            attach_all(a);
        else
            use(a);
    }
#pragma omp target teams distribute parallel for
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            a[i].seen += a[i].p[j]++;
    for (int i = 0; i < M; i++) {
#pragma omp target exit data map(from : a[i].p[0 : N])
    }
    double *first = a[0].p;
#pragma omp target exit data map(from : a[0 : M])
    CHECK(a[0].p == first);
    for (int i = 0; i < M; i++) {
        CHECK(a[i].n == 50 && a[i].seen == N * i + 6);
        for (int j = 0; j < N; j++)
            CHECK(a[i].p[j] == i + j + 1);
        free(a[i].p);
    }
    free(a);
    return check_result();
}
