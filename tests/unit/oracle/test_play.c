/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plays whose times can be told by hand. (tests/sim/test_play.c compares with another simulator.) */
#include "sched/oracle/play.h"

#include "memmgr/device/measured.h"
#include "sched/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { NTASKS = 6, BYTES = 10 };

/* One datum, which is loaded in one second, and tasks of one second on the first of `devices` that want them. */
static double seconds_of(unsigned devices, unsigned slots, bool in_turn)
{
    char error[256];
    od_settings settings = {.evict = od_evict_find("lru"), .buffer = 2};
    od_play_datum datum = {.bytes = BYTES, .valid = OD_BIT(OD_HOST)};
    od_play_task tasks[NTASKS];
    od_play_access accesses[NTASKS];
    od_play_result result = {0};
    for (uint32_t t = 0; t < NTASKS; t++) {
        tasks[t] = (od_play_task){.seconds = 1, .bound = OD_NOWHERE, .first_access = t, .naccess = 1};
        accesses[t] = (od_play_access){.mode = OD_READ};
    }
    od_topology *topology = od_topology_bus(devices, BYTES);
    assert_non_null(topology);
    od_play_problem problem = {.tasks = tasks,
                               .accesses = accesses,
                               .data = &datum,
                               .ntasks = NTASKS,
                               .ndata = 1,
                               .naccesses = NTASKS,
                               .topology = topology,
                               .ndevices = devices,
                               .slots = slots,
                               .in_turn = in_turn,
                               .memory = BYTES,
                               .alignment = 1};
    assert_int_equal(od_policy_choose("eager", &settings.policy, error, sizeof error), OD_OK);
    assert_int_equal(od_play(&problem, &settings, (double)INFINITY, &result), OD_OK);
    assert_true(isfinite(result.seconds) && result.at_least <= result.seconds + 1e-9);
    double seconds = result.seconds;
    assert_int_equal(od_play(&problem, &settings, 0.9 * seconds, &result), OD_OK);
    assert_true(isinf(result.seconds) && result.at_least <= seconds + 1e-9);
    od_topology_destroy(topology);
    return seconds;
}

static void is(double value, double expected)
{
    if (fabs(value - expected) > 1e-4)
        fail_msg("%g s instead of %g", value, expected);
}

/* Where a device computes one task at a time, a second slot has the next one ready, and takes no part. */
static void tasks_take_turns(void **state)
{
    (void)state;
    is(seconds_of(1, 1, false), 1 + NTASKS);
    is(seconds_of(1, 2, false), 1 + NTASKS / 2);
    is(seconds_of(1, 2, true), 1 + NTASKS);
    is(seconds_of(1, 4, true), 1 + NTASKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tasks_take_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
