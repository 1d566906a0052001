/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * thread_limit on target constructs without teams: it holds in the kernel, wherever that runs, and in its host version,
 * and nowhere else afterwards.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 12 };

/* seen[0]: the limit; seen[1]: threads of a region that asks for more. */
static void look(int *seen)
{
#pragma omp target nowait thread_limit(3) map(tofrom : seen[0 : 2])
    {
        seen[0] = omp_get_thread_limit();
#pragma omp parallel num_threads(5)
#pragma omp single
        seen[1] = omp_get_num_threads();
    }
}

static void look_now(int *seen, int offload)
{
#pragma omp target thread_limit(2) map(tofrom : seen[0 : 2]) if (target : offload)
    {
        seen[0] = omp_get_thread_limit();
#pragma omp parallel num_threads(5)
#pragma omp single
        seen[1] = omp_get_num_threads();
    }
}

static void look_without(int *seen)
{
#pragma omp target nowait map(tofrom : seen[0 : 2])
    seen[0] = omp_get_thread_limit();
}

int main(void)
{
    int seen[TASKS][2] = {{0}}, now[2] = {0}, limit = omp_get_thread_limit();
    for (int offload = 0; offload < 2; offload++) {
        look_now(now, offload);
        CHECK(now[0] == 2 && now[1] >= 1 && now[1] <= 2);
    }
    for (int i = 0; i < TASKS; i++)
        look(seen[i]);
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
        CHECK(seen[i][0] == 3 && seen[i][1] >= 1 && seen[i][1] <= 3);
    for (int i = 0; i < TASKS; i++)
        look_without(seen[i]);
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
        CHECK(seen[i][0] > 3);
    CHECK(omp_get_thread_limit() == limit);
    return check_result();
}
