/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a kernel sets by omp_set_… holds in that kernel and in no other, nor in the program.
 *
 * memory: 24Ki
 */
#include "check.h"

#include <omp.h>

enum { TASKS = 12 };

typedef struct variables {
    int dynamic, levels, kind, chunk, threads;
} variables;

#pragma omp begin declare target
static variables read_variables(void)
{
    variables v = {.dynamic = omp_get_dynamic(), .levels = omp_get_max_active_levels(), .threads = omp_get_max_threads()};
    omp_sched_t kind;
    omp_get_schedule(&kind, &v.chunk);
    v.kind = (int)kind;
    return v;
}
#pragma omp end declare target

static void set(variables *seen)
{
#pragma omp target nowait map(from : seen[0 : 1])
    {
        omp_set_dynamic(1);
        omp_set_max_active_levels(3);
        omp_set_schedule(omp_sched_guided, 5);
        omp_set_num_threads(77);
        *seen = read_variables();
    }
}

static void look(variables *seen)
{
#pragma omp target nowait map(from : seen[0 : 1])
    *seen = read_variables();
}

static bool are_set(const variables *v)
{
    return v->dynamic == 1 && v->levels == 3 && v->kind == omp_sched_guided && v->chunk == 5 && v->threads == 77;
}

static bool are_untouched(const variables *v)
{
    return v->dynamic == 0 && v->levels != 3 && v->kind != omp_sched_guided && v->threads != 77;
}

int main(void)
{
    variables set_by[TASKS], seen[TASKS], now;
    for (int i = 0; i < TASKS; i++)
        set(&set_by[i]);
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
        look(&seen[i]);
#pragma omp taskwait
    for (int i = 0; i < TASKS; i++)
        CHECK(are_set(&set_by[i]) && are_untouched(&seen[i]));
    now = read_variables();
    CHECK(are_untouched(&now));
    return check_result();
}
