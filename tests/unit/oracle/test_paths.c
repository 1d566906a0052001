/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Priorities of a problem's tasks are those that an engine has for them. */
#include "sched/oracle/levels.h"

#include "sched/graph/levels.h"
#include "tests/unit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DRAWS = 400, TASKS = 300, DATA = 20, USES = 5 };

typedef struct world {
    od_play_task task[TASKS];
    od_play_access access[TASKS * USES];
    od_play_problem problem;
} world;

/* Few data make long chains, in which not all updates are carried out. */
static void make(world *w, uint64_t draw)
{
    uint64_t random = draw;
    uint32_t ndata = 1 + (uint32_t)random_below(&random, DATA), naccesses = 0;
    for (uint32_t t = 0; t < TASKS; t++) {
        w->task[t] = (od_play_task){.seconds = 1e-6 * (double)(1 + random_below(&random, 1000)),
                                    .first_access = naccesses,
                                    .naccess = (uint32_t)random_below(&random, USES + 1)};
        for (uint32_t i = 0; i < w->task[t].naccess; i++)
            w->access[naccesses++] = (od_play_access){(uint32_t)random_below(&random, ndata),
                                                      random_below(&random, 3) ? OD_READ : OD_READ_WRITE};
    }
    w->problem = (od_play_problem){
        .tasks = w->task, .accesses = w->access, .ntasks = TASKS, .ndata = ndata, .naccesses = naccesses, .nafter = 1};
}

static od_level *submit(od_levels *levels, const world *w, const od_play_task *task)
{
    od_level_use uses[USES];
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_play_access *a = &w->access[task->first_access + i];
        uses[i] = (od_level_use){.address = a->datum + (uintptr_t)1, .write = a->mode & OD_WRITE};
    }
    od_level *level = od_levels_submit(levels, task->seconds, uses, task->naccess);
    assert_non_null(level);
    return level;
}

static void as_in_an_engine(void **state)
{
    static world w;
    od_level *level[TASKS];
    (void)state;
    for (uint64_t draw = 1; draw <= DRAWS; draw++) {
        make(&w, draw);
        od_levels *levels = od_levels_create();
        int32_t *priority = od_play_levels(&w.problem);
        assert_true(levels && priority);
        for (uint32_t t = 0; t < TASKS; t++)
            level[t] = submit(levels, &w, &w.task[t]);
        for (uint32_t t = 0; t < TASKS; t++)
            if (priority[t] != od_level_priority(od_levels_ready(levels, level[t])))
                fail_msg("draw %u: task %u has priority %d", (unsigned)draw, t, priority[t]);
        free(priority);
        od_levels_destroy(levels);
    }
}

/* Where no task waits for another all are alike. */
static void nothing_waits(void **state)
{
    static world w;
    (void)state;
    make(&w, 1);
    w.problem.nafter = 0;
    int32_t *priority = od_play_levels(&w.problem);
    assert_non_null(priority);
    for (uint32_t t = 0; t < TASKS; t++)
        assert_int_equal(priority[t], 0);
    free(priority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_in_an_engine), cmocka_unit_test(nothing_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
