/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reductions of leagues of several teams, in kernels and in the program, in random order with kernels that have tasks
 * and teams of other sizes, and in a parallel region.
 *
 * without: libomp fails an assertion after the tasks (kmp_wait_release.h), and waits for ever in the region
 * run: OMPDARTS_SLICE=4
 * run: OMP_NUM_THREADS=1
 * run: OMP_NUM_THREADS=4 OMPDARTS_SLICE=3
 */
#include "check.h"

#include <stdint.h>

enum { N = 4096, PIECES = 8, STEPS = 60 };

static int64_t a[N], expected[N];
static uint64_t seed = 7;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)(seed >> 33) % n;
}

static void have_tasks(void)
{
#pragma omp target teams distribute map(tofrom : a)
    for (int p = PIECES - 1; p >= 0; p--) {
#pragma omp parallel for num_threads(3)
        for (int i = p * (N / PIECES); i < (p + 1) * (N / PIECES); i++) {
            int64_t *into = &a[i];
#pragma omp task firstprivate(into)
            *into += 1;
        }
    }
    for (int i = 0; i < N; i++)
        expected[i]++;
}

static void have_threads(int teams, int limit)
{
#pragma omp target teams distribute parallel for map(tofrom : a) num_teams(teams) thread_limit(limit)
    for (int i = 0; i < N; i++)
        a[i] ^= i;
    for (int i = 0; i < N; i++)
        expected[i] ^= i;
}

static int64_t sum_of_expected(void)
{
    int64_t sum = 0;
    for (int i = 0; i < N; i++)
        sum += expected[i] * i;
    return sum;
}

static void reduce_in_kernel(int teams)
{
    int64_t sum = 0;
#pragma omp target teams distribute reduction(+ : sum) map(tofrom : a, sum) num_teams(teams)
    for (int i = 0; i < N; i++)
        sum += a[i] * i;
    CHECK(sum == sum_of_expected());
}

static void reduce_by_threads(int teams)
{
    int64_t sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : a, sum) num_teams(teams)
    for (int i = 0; i < N; i++)
        sum += a[i] * i;
    CHECK(sum == sum_of_expected());
}

static void reduce_in_program(int teams)
{
    int64_t sum = 0;
#pragma omp teams distribute reduction(+ : sum) num_teams(teams)
    for (int i = 0; i < N; i++)
        sum += a[i] * i;
    CHECK(sum == sum_of_expected());
}

static void reduce_in_region(int teams)
{
    int64_t wanted = sum_of_expected();
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    for (int round = 0; round < 5; round++) {
        int64_t sum = 0;
#pragma omp target teams distribute reduction(+ : sum) map(to : a) map(tofrom : sum) num_teams(teams)
        for (int i = 0; i < N; i++)
            sum += a[i] * i;
        wrong += sum != wanted;
    }
    CHECK(!wrong);
}

int main(void)
{
    for (int step = 0; step < STEPS; step++)
        switch (below(6)) {
        case 0:
            have_tasks();
            break;
        case 1:
            have_threads(1 + below(3), 1 + below(3));
            break;
        case 2:
            reduce_in_kernel(1 + below(6));
            break;
        case 3:
            reduce_by_threads(1 + below(6));
            break;
        case 4:
            reduce_in_program(1 + below(6));
            break;
        case 5:
            reduce_in_region(1 + below(3));
            break;
        }
    for (int i = 0; i < N; i++)
        CHECK(a[i] == expected[i]);
    return check_result();
}
