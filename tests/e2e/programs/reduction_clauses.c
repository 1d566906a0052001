/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reductions on every construct that has them: target, teams, parallel for, simd, several variables and operators,
 * arrays and sections, declare reduction, task_reduction with in_reduction on tasks that offload, and in nowait tasks.
 *
 * memory: 48Ki
 */
/* Said of clang's own counters of a taskloop. */
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#include "check.h"

#include <limits.h>
#include <omp.h>

enum { N = TILE };

typedef struct extreme {
    double value;
    int at;
} extreme;

#pragma omp declare reduction(largest:extreme : omp_out = omp_in.value > omp_out.value ? omp_in : omp_out)             \
    initializer(omp_priv = {-1, -1})

static void scalars(const double *x)
{
    double sum = 1, product = 1;
    int most = INT_MIN, least = INT_MAX, any = 0, all = 1, bits = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) reduction(max : most) reduction(min : least)       \
    map(to : x[0 : N])
    for (int i = 0; i < N; i++) {
        sum += x[i];
        most = most > (int)x[i] ? most : (int)x[i];
        least = least < (int)x[i] ? least : (int)x[i];
    }
    CHECK(sum == 1 + N * (N - 1) / 2.0 && most == N - 1 && least == 0);
#pragma omp target parallel for reduction(|| : any) reduction(&& : all) reduction(| : bits) map(to : x[0 : N])
    for (int i = 0; i < N; i++) {
        any = any || x[i] == 7;
        all = all && x[i] >= 0;
        bits |= 1 << (i % 10);
    }
    CHECK(any == 1 && all == 1 && bits == 1023);
#pragma omp target simd reduction(* : product) map(tofrom : product)
    for (int i = 1; i <= 10; i++)
        product *= i;
    CHECK(product == 3628800);
#pragma omp target teams reduction(+ : sum) num_teams(2) map(tofrom : sum)
    sum += 1;
    CHECK(sum > 1 + N * (N - 1) / 2.0);
}

static void arrays(const double *x)
{
    double sums[4] = {0, 1, 2, 3}, section[8] = {0};
    double *part = section + 2;
#pragma omp target teams distribute parallel for reduction(+ : sums) map(to : x[0 : N]) map(tofrom : sums)
    for (int i = 0; i < N; i++)
        sums[i % 4] += x[i];
    double expected[4] = {0, 1, 2, 3};
    for (int i = 0; i < N; i++)
        expected[i % 4] += i;
    for (int i = 0; i < 4; i++)
        CHECK(sums[i] == expected[i]);
#pragma omp target parallel for reduction(+ : part[0 : 3]) map(tofrom : part[0 : 3])
    for (int i = 0; i < 300; i++)
        part[i % 3] += 1;
    CHECK(section[1] == 0 && section[2] == 100 && section[4] == 100 && section[5] == 0);
}

static void own(const double *x)
{
    extreme e = {-1, -1};
#pragma omp target parallel for reduction(largest : e) map(to : x[0 : N]) map(tofrom : e)
    for (int i = 0; i < N; i++) {
        extreme mine = {x[i] * ((double)N - x[i]), i};
        e = mine.value > e.value ? mine : e;
    }
    CHECK(e.at == N / 2 && e.value == N * N / 4.0);
}

static void tasks(double *x)
{
    double total = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : total)
    for (int t = 0; t < 16; t++) {
        double *part = x + 64 * t;
#pragma omp task in_reduction(+ : total)
        {
            double sum = 0;
#pragma omp target map(to : part[0 : 64]) map(tofrom : sum)
            for (int i = 0; i < 64; i++)
                sum += part[i];
            total += sum;
        }
    }
    CHECK(total == N * (N - 1) / 2.0);

    total = 0;
#pragma omp parallel reduction(task, + : total)
    {
#pragma omp single
        for (int t = 0; t < 16; t++) {
            double *part = x + 64 * t;
#pragma omp task in_reduction(+ : total)
            {
                double sum = 0;
#pragma omp target map(to : part[0 : 64]) map(tofrom : sum)
                for (int i = 0; i < 64; i++)
                    sum += part[i];
                total += sum;
            }
        }
    }
    CHECK(total == N * (N - 1) / 2.0);
    total = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : total) grainsize(4)
    for (int t = 0; t < 16; t++) {
        double *part = x + 64 * t, sum = 0;
#pragma omp target map(to : part[0 : 64]) map(tofrom : sum)
        for (int i = 0; i < 64; i++)
            sum += part[i];
        total += sum;
    }
    CHECK(total == N * (N - 1) / 2.0);
    total = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : total)
    {
#pragma omp target in_reduction(+ : total) map(to : x[0 : N])
        for (int i = 0; i < N; i++)
            total += x[i];
    }
    CHECK(total == N * (N - 1) / 2.0);
}

/* Kernels and host tasks that a thread has at once add to the same copy of the list item. */
static void nowait_tasks(double *x)
{
    double total = 0;
#pragma omp parallel num_threads(1) /* with more libomp 19 loses some itself */
#pragma omp single
#pragma omp taskgroup task_reduction(+ : total)
    for (int t = 0; t < 160; t++) {
#pragma omp target nowait in_reduction(+ : total) map(to : x[0 : N])
        for (int i = 0; i < N; i++)
            total += x[i];
#pragma omp task in_reduction(+ : total)
        total += t;
    }
    CHECK(total == 160 * (N * (N - 1) / 2.0) + 12720);
}

int main(void)
{
    double *x = make_tiles(1, 0);
    for (int i = 0; i < N; i++)
        x[i] = i;
    scalars(x);
    arrays(x);
    own(x);
    tasks(x);
    nowait_tasks(x);
    free(x);
    return check_result();
}
