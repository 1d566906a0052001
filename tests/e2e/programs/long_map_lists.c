/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Arrays of structs with mapped pointers: map lists of hundreds of entries, some of which overlap or are the same, some
 * empty.
 */
#include "check.h"

enum { M = 40, N = 3 };

typedef struct element {
    double *p;
    long n;
} element;
#pragma omp declare mapper(element e) map(e, e.p[0 : e.n])

typedef struct row { /* only parts of it are mapped */
    long n, own;
    double *p;
    long sum, kept;
} row;
#pragma omp declare mapper(row r) map(to : r.n) map(tofrom : r.p[0 : r.n]) map(from : r.sum)

static double *numbers(long n, double first)
{
    double *p = malloc((size_t)(n ? n : 1) * sizeof *p);
    for (long i = 0; i < n; i++)
        p[i] = first + (double)i;
    return p;
}

/* Each its own array, every third an empty one. */
static void arrays_apart(void)
{
    element *a = calloc(M, sizeof *a);
    for (int i = 0; i < M; i++)
        a[i] = (element){numbers(i % 3 ? N : 0, i), i % 3 ? N : 0};
    for (int round = 0; round < 3; round++) {
#pragma omp target map(tofrom : a[0 : M])
        for (int i = 0; i < M; i++)
            for (long j = 0; j < a[i].n; j++)
                a[i].p[j]++;
    }
#pragma omp target data map(tofrom : a[0 : M])
#pragma omp target
    for (int i = 0; i < M; i++)
        for (long j = 0; j < a[i].n; j++)
            a[i].p[j]++;
    for (int i = 0; i < M; i++) {
        for (long j = 0; j < a[i].n; j++)
            CHECK(a[i].p[j] == (double)(i + j + 4));
        free(a[i].p);
    }
    free(a);
}

/* All lead to one array, or each to a piece of it. */
static void arrays_shared(void)
{
    element *a = calloc(M, sizeof *a);
    double *x = numbers(M, 0);
    for (int i = 0; i < M; i++)
        a[i] = (element){x, M};
#pragma omp target map(tofrom : a[0 : M])
    for (int i = 0; i < M; i++)
        a[i].p[i]++;
    for (int i = 0; i < M; i++)
        a[i] = (element){x + i, 1};
#pragma omp target map(tofrom : a[0 : M])
    for (int i = 0; i < M; i++)
        a[i].p[0]++;
#pragma omp target data map(tofrom : x[0 : M]) /* the pieces in what is present */
    {
#pragma omp target map(tofrom : a[0 : M])
        for (int i = 0; i < M; i++)
            a[i].p[0]++;
    }
    for (int i = 0; i < M; i++)
        CHECK(x[i] == i + 3 && a[i].p == x + i);
    free(x);
    free(a);
}

static void parts(void)
{
    row *a = calloc(M, sizeof *a);
    for (int i = 0; i < M; i++)
        a[i] = (row){.n = N, .own = i, .p = numbers(N, i), .kept = i};
#pragma omp target map(tofrom : a[0 : M])
    for (int i = 0; i < M; i++) {
        a[i].sum = 0;
        for (long j = 0; j < a[i].n; j++)
            a[i].sum += (long)a[i].p[j]++;
    }
    for (int i = 0; i < M; i++) {
        CHECK(a[i].n == N && a[i].own == i && a[i].kept == i && a[i].sum == N * i + 3 && a[i].p[0] == i + 1);
        free(a[i].p);
    }
    free(a);
}

int main(void)
{
    arrays_apart();
    arrays_shared();
    parts();
    return check_result();
}
