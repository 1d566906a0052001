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

enum { NTASKS = 8, BYTES = 10 };

/* One datum, which is loaded in one second, and tasks of one second on the first devices that want them. */
static double seconds_on(const od_topology *topology, uint32_t ntasks, unsigned slots, bool in_turn)
{
    char error[256];
    od_settings settings = {.evict = od_evict_find("lru"), .buffer = 2};
    od_play_datum datum = {.bytes = BYTES, .valid = od_placeset_of(OD_HOST)};
    od_play_task tasks[NTASKS];
    od_play_access accesses[NTASKS];
    od_play_result result = {0};
    for (uint32_t t = 0; t < ntasks; t++) {
        tasks[t] = (od_play_task){.seconds = 1, .bound = OD_NOWHERE, .first_access = t, .naccess = 1};
        accesses[t] = (od_play_access){.mode = OD_READ};
    }
    od_play_problem problem = {.tasks = tasks,
                               .accesses = accesses,
                               .data = &datum,
                               .ntasks = ntasks,
                               .ndata = 1,
                               .naccesses = ntasks,
                               .topology = topology,
                               .ndevices = topology->ndevices,
                               .peer = true,
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
    return seconds;
}

static double seconds_of(unsigned devices, unsigned slots, bool in_turn)
{
    od_topology *topology = od_topology_bus(devices, BYTES);
    assert_non_null(topology);
    double seconds = seconds_on(topology, NTASKS, slots, in_turn);
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

/* Devices on one bus from the host, with ways between them that are twice as fast: one from each device, which all that it
 * sends share, or one for each pair. */
static od_topology *with_peers(unsigned devices, bool pairs)
{
    uint32_t way[OD_MAX_DEVICES];
    od_topology *t = od_topology_create(devices);
    assert_non_null(t);
    uint32_t bus = od_topology_add_link(t, BYTES);
    for (unsigned k = 0; k < devices; k++) {
        way[k] = od_topology_add_link(t, 2 * BYTES);
        assert_int_equal(od_topology_set_way(t, OD_HOST, (int)k, (od_link){(double)INFINITY, 0}, &bus, 1), OD_OK);
        assert_int_equal(od_topology_set_way(t, (int)k, OD_HOST, (od_link){(double)INFINITY, 0}, &bus, 1), OD_OK);
    }
    for (unsigned from = 0; from < devices; from++)
        for (unsigned to = 0; to < devices; to++) {
            uint32_t link = pairs ? od_topology_add_link(t, 2 * BYTES) : way[from];
            if (from != to)
                assert_int_equal(
                    od_topology_set_way(t, (int)from, (int)to, (od_link){(double)INFINITY, 0}, &link, 1), OD_OK);
        }
    return t;
}

/* What all want crosses the bus once, and goes on from each that has got it: to one other at a time, where they would
 * share the way. */
static void copies_form_a_tree(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= NTASKS; n *= 2) {
        od_topology *shared = with_peers(n, false), *pairs = with_peers(n, true);
        assert_int_equal(od_topology_fan(shared, 0, od_placeset_below(n)), 1);
        assert_int_equal(od_topology_fan(pairs, 0, od_placeset_below(n)), n - 1);
        is(seconds_on(shared, n, 1, false), 1 + 0.5 * log2(n) + 1);
        is(seconds_on(pairs, n, 1, false), 1 + 0.5 + 1);
        od_topology_destroy(shared);
        od_topology_destroy(pairs);
    }
}

/* Seconds of two tasks, one for each of two data, which device 0 has room for, or is being given. */
static double seconds_with(const od_topology *topology, unsigned there, const bool *loading)
{
    static const uint32_t resident[] = {0, 1};
    char error[256];
    od_settings settings = {.evict = od_evict_find("lru"), .buffer = 2};
    od_placeset valid = od_placeset_of(OD_HOST);
    for (unsigned i = 0; !loading && i < there; i++)
        od_placeset_add(&valid, 0);
    od_play_datum data[] = {{BYTES, valid, 0}, {BYTES, there > 1 ? valid : od_placeset_of(OD_HOST), 1}};
    od_play_task tasks[] = {{.seconds = 1, .bound = OD_NOWHERE, .naccess = 1},
                            {.seconds = 1, .bound = OD_NOWHERE, .first_access = 1, .naccess = 1}};
    od_play_access accesses[] = {{1, OD_READ}, {0, OD_READ}};
    od_play_result result = {0};
    od_play_problem problem = {.tasks = tasks,
                               .accesses = accesses,
                               .data = data,
                               .ntasks = 2,
                               .ndata = 2,
                               .naccesses = 2,
                               .resident = resident,
                               .nresident = &there,
                               .loading = loading,
                               .topology = topology,
                               .ndevices = 1,
                               .slots = 1,
                               .memory = 2 * BYTES,
                               .alignment = 1};
    assert_int_equal(od_policy_choose("eager", &settings.policy, error, sizeof error), OD_OK);
    assert_int_equal(od_play(&problem, &settings, (double)INFINITY, &result), OD_OK);
    return result.seconds;
}

/* What is on its way to a device still takes its time, and what is asked for after it comes after it. */
static void loads_under_way_take_time(void **state)
{
    static const bool first[] = {true, false}, both[] = {true, true};
    od_topology *topology = od_topology_bus(1, BYTES);
    (void)state;
    assert_non_null(topology);
    is(seconds_with(topology, 0, NULL), 3);
    is(seconds_with(topology, 1, NULL), 3); /* the other one is loaded for the first task */
    is(seconds_with(topology, 2, NULL), 2);
    is(seconds_with(topology, 1, first), 4);
    is(seconds_with(topology, 2, both), 4);
    od_topology_destroy(topology);
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Gives out nothing before its plan is made, which it begins with its first task. */
struct planner {
    od_policy_env env;
    od_list queue; /* od_task.link */
    od_background job;
    bool planned;
};

static size_t plan_tasks;              /* that it says the plan is about */
static uint32_t arrived, arrived_then; /* tasks so far, and when it was made */

static void no_plan(od_background *job)
{
    (void)job;
}

static void end_plan(od_background *job, bool carried_out)
{
    od_container_of(job, struct planner, job)->planned = carried_out;
    arrived_then = arrived;
}

static od_status planner_create(const od_policy_env *env, void **state)
{
    static struct planner planner;
    planner = (struct planner){.env = *env, .job = {.run = no_plan, .done = end_plan}};
    od_list_init(&planner.queue);
    arrived = arrived_then = 0;
    *state = &planner;
    return OD_OK;
}

static void planner_destroy(void *state)
{
    (void)state;
}

static od_status planner_ready(void *state, od_task *task)
{
    struct planner *planner = state;
    od_list_push_back(&planner->queue, &task->link);
    if (arrived++ == 0)
        od_policy_background(&planner->env, &planner->job, plan_tasks);
    return OD_OK;
}

static od_task *planner_pop(void *state, unsigned k)
{
    struct planner *planner = state;
    od_node *node = planner->planned ? od_list_pop_front(&planner->queue) : NULL;
    (void)k;
    return node ? od_container_of(node, od_task, link) : NULL;
}

static const od_policy_ops planner_ops = {.interface_version = OD_POLICY_INTERFACE,
                                          .name = "planner",
                                          .create = planner_create,
                                          .destroy = planner_destroy,
                                          .ready = planner_ready,
                                          .pop = planner_pop};

/* How many tasks have come when a plan for so many is made. */
static uint32_t arrived_at_plan(size_t tasks, bool arrives)
{
    od_topology *topology = od_topology_bus(1, BYTES);
    od_settings settings = {.policy = {.ops = &planner_ops}, .evict = od_evict_find("lru"), .buffer = 2};
    od_play_task task[NTASKS];
    od_play_result result = {0};
    assert_non_null(topology);
    for (uint32_t t = 0; t < NTASKS; t++)
        task[t] = (od_play_task){.seconds = 1, .bound = OD_NOWHERE};
    od_play_problem problem = {.tasks = task,
                               .ntasks = NTASKS,
                               .arrives = arrives,
                               .topology = topology,
                               .ndevices = 1,
                               .slots = 1,
                               .memory = BYTES,
                               .alignment = 1};
    plan_tasks = tasks;
    assert_int_equal(od_play(&problem, &settings, (double)INFINITY, &result), OD_OK);
    is(result.seconds, NTASKS);
    od_topology_destroy(topology);
    return arrived_then;
}

/* Of the first task, too, which comes alone. */
static void many_tasks_come_while_planning(void **state)
{
    (void)state;
    assert_int_equal(arrived_at_plan(OD_BACKGROUND_FEW, true), NTASKS);
    assert_int_equal(arrived_at_plan(OD_BACKGROUND_FEW - 1, true), 1);
    assert_int_equal(arrived_at_plan(OD_BACKGROUND_FEW, false), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tasks_take_turns), cmocka_unit_test(copies_form_a_tree),
                                       cmocka_unit_test(loads_under_way_take_time),
                                       cmocka_unit_test(many_tasks_come_while_planning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
