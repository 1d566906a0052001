/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The combined forms of target and their clauses: parallel, for, simd, teams, distribute, loop, collapse, schedule,
 * num_teams, thread_limit, num_threads, if per part, allocate, uses_allocators, ompx_dyn_cgroup_mem, order, safelen,
 * atomic and critical inside.
 *
 * memory: 48Ki
 */
#include "check.h"

#pragma clang diagnostic ignored "-Wpass-failed"

#include <omp.h>

enum { N = TILE };

/* Each form adds 1 to each element, synchronously and as a task. */
#define STRING(...) #__VA_ARGS__
#define BOTH(...)                                                                                                      \
    do {                                                                                                               \
        _Pragma(STRING(omp target __VA_ARGS__ map(tofrom : x [0:N]))) for (int i = 0; i < N; i++) x[i] += 1;           \
        _Pragma(STRING(omp target __VA_ARGS__ nowait depend(inout : x [0:N])                                           \
                           map(tofrom : x [0:N]))) for (int i = 0; i < N; i++) x[i] += 1;                              \
        _Pragma("omp taskwait") CHECK(all_are(x, N, runs += 2));                                                       \
    } while (0)

static void forms(double *x)
{
    int runs = 0;
    BOTH(simd);
    BOTH(simd safelen(4) simdlen(4));
    BOTH(parallel for);
    BOTH(parallel for num_threads(2) schedule(dynamic, 16));
    BOTH(parallel for simd schedule(static, 64));
    BOTH(teams distribute);
    BOTH(teams distribute simd dist_schedule(static, 32));
    BOTH(teams distribute parallel for);
    BOTH(teams distribute parallel for num_teams(2) thread_limit(2) num_threads(2));
    BOTH(teams distribute parallel for simd);
    BOTH(teams loop);
    BOTH(teams loop bind(teams) order(concurrent));
    BOTH(parallel loop);
    BOTH(teams distribute parallel for if (parallel : 0));
    BOTH(parallel for if (target : 1) if (parallel : 0));
    BOTH(parallel for if (target : 0));
    BOTH(teams distribute parallel for if (0));
    BOTH(teams distribute parallel for ompx_dyn_cgroup_mem(256));
    BOTH(thread_limit(1));
}

static void inside(double *x)
{
    int teams = 0, threads = 0, sum = 0, product = 1;
    for (int i = 0; i < N; i++)
        x[i] = 0;
#pragma omp target teams num_teams(2) thread_limit(2) map(tofrom : teams, x[0 : N])
    {
        if (omp_get_team_num() == 0)
            teams = omp_get_num_teams();
#pragma omp distribute parallel for collapse(2)
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 32; j++)
                x[i * 32 + j] += i * 32 + j;
    }
    CHECK(teams >= 1 && teams <= 2);
    for (int i = 0; i < N; i++)
        CHECK(x[i] == i);
#pragma omp target parallel num_threads(2) map(tofrom : threads, sum, product)
    {
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sum += i;
        }
#pragma omp critical
        product *= 2;
#pragma omp barrier
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            sum += 1;
#pragma omp section
#pragma omp atomic
            sum += 1;
        }
    }
    CHECK(threads >= 1 && threads <= 2 && sum == 4952 && product == 1 << threads);
    sum = 0;
#pragma omp target map(tofrom : sum)
    {
#pragma omp parallel for ordered num_threads(2)
        for (int i = 0; i < 10; i++) {
#pragma omp ordered
            sum = 2 * sum + i % 2;
        }
    }
    CHECK(sum == 341);
}

static void memory(double *x)
{
    double scratch[32], total = 0;
    for (int i = 0; i < 32; i++)
        scratch[i] = i;
#pragma omp target uses_allocators(omp_default_mem_alloc) allocate(omp_default_mem_alloc : scratch)                    \
    firstprivate(scratch) map(tofrom : total)
    for (int i = 0; i < 32; i++) {
        total += scratch[i];
        scratch[i] = 0;
    }
    CHECK(total == 496 && scratch[31] == 31);
#pragma omp target teams distribute parallel for private(scratch) allocate(omp_default_mem_alloc : scratch)            \
    uses_allocators(omp_default_mem_alloc) map(tofrom : x[0 : N])
    for (int i = 0; i < N; i++) {
        scratch[i % 32] = i;
        x[i] = scratch[i % 32] + 1;
    }
    for (int i = 0; i < N; i++)
        CHECK(x[i] == i + 1);
}

static void host_side(double *x)
{
    int device = -1, teams = 0;
    CHECK(omp_is_initial_device());
#pragma omp target map(from : device)
    device = omp_is_initial_device();
    CHECK(device == 0);
#pragma omp target teams distribute parallel for nowait depend(out : x[0]) map(tofrom : x[0 : N])
    for (int i = 0; i < N; i++)
        x[i] = omp_is_initial_device();
#pragma omp taskwait
    CHECK(all_are(x, N, 0));
#pragma omp teams num_teams(2)
    {
#pragma omp atomic
        teams++;
    }
    CHECK(teams >= 1);
}

int main(void)
{
    double *x = make_tiles(1, 0);
    forms(x);
    inside(x);
    memory(x);
    host_side(x);
    free(x);
    return check_result();
}
