/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Problems that come again, with times that can be told by hand. */
#include "sched/auto/schedule/rounds.h"

#include "memmgr/device/measured.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NTASKS = 3, BYTES = 10, DEVICES = 2 };

/* Tasks of a second, each with a datum of its own, which is loaded in a second. */
typedef struct world {
    od_play_task task[NTASKS];
    od_play_access access[NTASKS];
    od_play_datum data[NTASKS];
    od_settings settings;
    od_topology *topology;
    od_play_problem problem;
} world;

static void make(world *w, unsigned ndevices)
{
    char error[256];
    *w =
        (world){.settings = {.evict = od_evict_find("lru"), .buffer = 2}, .topology = od_topology_bus(ndevices, BYTES)};
    assert_non_null(w->topology);
    assert_int_equal(od_policy_choose("dmdar", &w->settings.policy, error, sizeof error), OD_OK);
    for (uint32_t t = 0; t < NTASKS; t++) {
        w->task[t] = (od_play_task){.seconds = 1, .bound = OD_NOWHERE, .first_access = t, .naccess = 1};
        w->access[t] = (od_play_access){t, OD_READ};
        w->data[t] = (od_play_datum){BYTES, od_placeset_of(OD_HOST), t};
    }
    w->problem = (od_play_problem){.tasks = w->task,
                                   .accesses = w->access,
                                   .data = w->data,
                                   .ntasks = NTASKS,
                                   .ndata = NTASKS,
                                   .naccesses = NTASKS,
                                   .topology = w->topology,
                                   .ndevices = ndevices,
                                   .slots = 1,
                                   .memory = NTASKS * BYTES,
                                   .alignment = 1};
}

static double round_of(od_rounds *rounds, const world *w, double limit)
{
    od_play_result result = {0};
    assert_int_equal(od_rounds_play(rounds, &w->settings, limit, &result), OD_OK);
    return result.seconds;
}

static void is(double value, double expected)
{
    if (fabs(value - expected) > 1e-4)
        fail_msg("%g s instead of %g", value, expected);
}

/* What has been loaded is there the next time; a round that was given up has not been. */
static void data_stay_where_they_are(void **state)
{
    world w;
    od_rounds rounds;
    (void)state;
    make(&w, 1);
    assert_int_equal(od_rounds_init(&rounds, &w.problem), OD_OK);
    assert_true(isinf(round_of(&rounds, &w, 3.5)));
    is(round_of(&rounds, &w, (double)INFINITY), 1 + NTASKS);
    assert_true(isinf(round_of(&rounds, &w, 2.5)));
    for (int i = 0; i < 3; i++)
        is(round_of(&rounds, &w, (double)INFINITY), NTASKS);
    od_rounds_free(&rounds);
    od_topology_destroy(w.topology);
}

/* With less memory all are loaded each time, in vain the last one is there: the first task has begun before the program
 * creates the others. Where all are there already, it comes first. */
static void what_was_evicted_is_loaded_again(void **state)
{
    world w;
    od_rounds rounds;
    (void)state;
    make(&w, 1);
    w.problem.memory = BYTES;
    assert_int_equal(od_rounds_init(&rounds, &w.problem), OD_OK);
    is(round_of(&rounds, &w, (double)INFINITY), 2 * NTASKS);
    for (int i = 0; i < 3; i++)
        is(round_of(&rounds, &w, (double)INFINITY), 2 * NTASKS);
    rounds.problem.arrives = false;
    is(round_of(&rounds, &w, (double)INFINITY), 2 * NTASKS - 1);
    od_rounds_free(&rounds);
    od_topology_destroy(w.topology);
}

/* What a device has been given, or has begun, is done from its beginning the next time, and may go anywhere. */
static void tasks_begin_anew(void **state)
{
    world w;
    od_rounds rounds;
    (void)state;
    make(&w, DEVICES);
    for (uint32_t t = 0; t < NTASKS; t++) {
        w.task[t].bound = 0;
        w.task[t].given = t > 0;
        w.data[t].valid = od_placeset_of(OD_HOST);
    }
    w.task[0].seconds = w.task[0].passed = 0.5;
    assert_int_equal(od_rounds_init(&rounds, &w.problem), OD_OK);
    is(round_of(&rounds, &w, (double)INFINITY), 1 + NTASKS);
    is(round_of(&rounds, &w, (double)INFINITY), NTASKS);
    assert_int_equal(rounds.problem.tasks[0].bound, 0);
    assert_int_equal(rounds.problem.tasks[1].bound, OD_NOWHERE);
    assert_true(rounds.problem.tasks[0].seconds >= 1 && rounds.problem.arrives);
    od_rounds_free(&rounds);
    od_topology_destroy(w.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(data_stay_where_they_are),
                                       cmocka_unit_test(what_was_evicted_is_loaded_again),
                                       cmocka_unit_test(tasks_begin_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
