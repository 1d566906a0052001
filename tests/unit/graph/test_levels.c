/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bottom levels against the longest paths of the whole graph, and long chains. */
#include "tests/unit/random.h"

#include "sched/graph/levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TASKS = 9, ADDRESSES = 5, MAX_USES = 3 };

typedef struct task {
    double weight;
    od_level_use use[MAX_USES];
    uint32_t nuses;
    od_level *level;
} task;

static bool depends(const task *later, const task *earlier)
{
    for (uint32_t i = 0; i < later->nuses; i++)
        for (uint32_t j = 0; j < earlier->nuses; j++)
            if (later->use[i].address == earlier->use[j].address && (later->use[i].write || earlier->use[j].write))
                return true;
    return false;
}

static double longest_path(const task *tasks, int n, int from)
{
    double below = 0;
    for (int t = from + 1; t < n; t++)
        if (depends(&tasks[t], &tasks[from]))
            below = fmax(below, longest_path(tasks, n, t));
    return tasks[from].weight + below;
}

static task random_task(uint64_t *random)
{
    task t = {.weight = (double)(1 + random_below(random, 9)), .nuses = (uint32_t)random_below(random, MAX_USES + 1)};
    for (uint32_t i = 0; i < t.nuses; i++)
        t.use[i] = (od_level_use){.address = 1 + random_below(random, ADDRESSES), .write = random_below(random, 2)};
    return t;
}

static void levels_are_longest_paths(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        uint64_t random = seed;
        task tasks[TASKS];
        od_levels *levels = od_levels_create();
        for (int t = 0; t < TASKS; t++) {
            tasks[t] = random_task(&random);
            tasks[t].level = od_levels_submit(levels, tasks[t].weight, tasks[t].use, tasks[t].nuses);
        }
        assert_int_equal(od_levels_count(levels), TASKS);
        for (int t = 0; t < TASKS; t++) {
            double expected = longest_path(tasks, TASKS, t), got = od_levels_ready(levels, tasks[t].level);
            if (got != expected)
                fail_msg("seed %llu, task %d: %g instead of %g", (unsigned long long)seed, t, got, expected);
        }
        assert_int_equal(od_levels_count(levels), 0);
        od_levels_destroy(levels);
    }
}

/* A chain of many tasks, then many addresses of one task each: neither the square of the time nor memory that stays. */
static void long_chains_and_many_addresses(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    od_levels *levels = od_levels_create();
    od_level **chain = calloc(LENGTH, sizeof *chain);
    od_level_use use = {.address = 1, .write = true};
    for (int i = 0; i < LENGTH; i++)
        chain[i] = od_levels_submit(levels, 1, &use, 1);
    double last = od_levels_ready(levels, chain[0]);
    assert_true(last > 1 && last <= LENGTH);
    for (int i = 1; i < LENGTH; i++) {
        double level = od_levels_ready(levels, chain[i]);
        assert_true(level >= 1 && level <= LENGTH - i);
    }
    free(chain);
    for (int i = 0; i < LENGTH; i++) {
        use.address = 1000 + (uintptr_t)i;
        assert_true(od_levels_ready(levels, od_levels_submit(levels, 2, &use, 1)) == 2);
    }
    od_levels_destroy(levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_longest_paths),
        cmocka_unit_test(long_chains_and_many_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
