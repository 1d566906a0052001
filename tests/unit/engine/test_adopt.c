/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Settings that change in the middle of runs: any policy hands over to any other one at any moment, and what the engine
 * knows then can be played to its end. All rules of the engine's world hold (engine_world.h), results included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched/engine/copy.h"
#include "sched/oracle/levels.h"
#include "sched/oracle/play.h"
#include "tests/unit/engine/engine_world.h"
#include "tests/unit/engine/plain_driver.h"
#include "tests/unit/random.h"

#include <math.h>
#include <stdlib.h>

enum { GRAPHS = 3000 };

static uint64_t changes;
static unsigned adopted, played, without; /* a device that is lost */
static unsigned beside;                   /* tasks with a CPU worker when they were played */

static unsigned below(uint64_t *seed, unsigned limit)
{
    return (unsigned)random_below(seed, limit);
}

static unsigned pick(void *seed, unsigned n)
{
    return below(seed, n);
}

/* --- a policy that never stays ------------------------------------------------------------- */

static od_settings random_settings(void)
{
    char error[256];
    unsigned npolicies = 0, nrules = 0;
    while (od_policy_names()[npolicies])
        npolicies++;
    while (od_evict_names()[nrules])
        nrules++;
    od_settings s = {.evict = od_evict_find(od_evict_names()[below(&changes, nrules)]),
                     .buffer = 1 + below(&changes, 4),
                     .active = (int)below(&changes, 6) - 1,
                     .devices_only = below(&changes, 2),
                     .devices = {{below(&changes, 2) ? 0 : below(&changes, 16)}}};
    assert_int_equal(od_policy_choose(od_policy_names()[below(&changes, npolicies)], &s.policy, error, sizeof error),
                     OD_OK);
    s.policy.ahead = below(&changes, 3);
    return s;
}

static bool at_once(void *data)
{
    return !data;
}

/* The same with levels worked out before, and just so long as that takes; not in less. */
static void play_again(od_play_problem problem, const od_settings *settings, double seconds)
{
    int32_t *levels = od_play_levels(&problem);
    od_play_result result = {0};
    assert_non_null(levels);
    problem.priority = levels;
    assert_int_equal(od_play(&problem, settings, seconds, &result), OD_OK);
    assert_true(result.seconds >= seconds && result.seconds <= seconds);
    assert_int_equal(od_play(&problem, settings, 0.9 * seconds, &result), OD_OK);
    assert_true(isinf(result.seconds) && result.at_least > 0 && result.at_least <= seconds * (1 + 1e-9));
    problem.stop = at_once;
    assert_int_equal(od_play(&problem, settings, (double)INFINITY, &result), OD_OK);
    assert_true(isinf(result.seconds) && result.at_least <= seconds * (1 + 1e-9));
    free(levels);
}

/* Unless a task fits on no device, all tasks can be played. */
static void play(od_engine *engine)
{
    od_engine_copy copy;
    od_settings settings = random_settings();
    od_play_result result = {0};
    if (od_engine_copy_make(engine, UINT64_MAX, &copy)) {
        assert_false(od_placeset_is_empty(od_engine_lost(engine))); /* all are */
        return;
    }
    od_status status = od_play(&copy.problem, &settings, (double)INFINITY, &result);
    if (status != OD_OK)
        assert_int_equal(status, OD_EINVAL);
    else
        assert_true(isfinite(result.seconds) && result.halfway <= result.seconds);
    if (status == OD_OK && copy.problem.ntasks && !settings.policy.ops->chooser) /* which changes at random */
        play_again(copy.problem, &settings, result.seconds);
    played += status == OD_OK;
    without += status == OD_OK && !od_placeset_is_empty(copy.problem.lost);
    for (uint32_t t = 0; status == OD_OK && t < copy.problem.ntasks; t++)
        beside += copy.problem.tasks[t].bound == OD_HOST;
    od_engine_copy_free(&copy);
}

static void change(void *engine)
{
    if (below(&changes, 3) == 0)
        play(engine);
    if (below(&changes, 3))
        return;
    od_settings settings = random_settings();
    od_status status = od_engine_adopt(engine, &settings);
    assert_true(status == OD_OK || status == OD_EBUSY);
    adopted += status == OD_OK;
}

static void *itself(void *engine)
{
    return engine;
}

static void nothing(void *engine)
{
    (void)engine;
}

static const od_choices *none(const void *engine)
{
    (void)engine;
    return NULL;
}

static const od_chooser_ops restless = {itself, nothing, change, nothing, none, NULL};

/* --- runs -------------------------------------------------------------------------------- */

static w_graph random_graph(uint64_t *seed)
{
    w_graph graph = {.ntasks = W_TASKS, .ndata = 3 + (int)below(seed, W_DATA - 2), .host_reads = -1};
    graph.keep = below(seed, 4) > 0;
    graph.region = below(seed, 2);
    for (int d = 0; d < graph.ndata; d++)
        graph.size[d] = 1 + below(seed, 2);
    for (int t = 0; t < graph.ntasks; t++)
        for (int u = 0; u < 1 + (int)below(seed, 3); u++) {
            int datum = (int)below(seed, (unsigned)graph.ndata);
            bool again = false;
            for (int i = 0; i < graph.task[t].nuses; i++)
                again |= graph.task[t].use[i].datum == datum;
            if (!again)
                graph.task[t].use[graph.task[t].nuses++] = (w_use){datum, (od_mode)(1 + below(seed, 3))};
        }
    w_add_dependences(&graph);
    return graph;
}

static void any_policy_after_any_other(void **state)
{
    static od_policy_ops ops;
    (void)state;
    ops = *od_policy_find("eager");
    ops.name = "restless";
    ops.chooser = &restless;
    od_policy_register(&ops);
    for (uint64_t round = 1; round <= GRAPHS; round++) {
        uint64_t seed = round;
        w_graph graph = random_graph(&seed);
        w_machine machine = {.ndevices = 1 + below(&seed, 4),
                             .memory = 4 + below(&seed, 12),
                             .buffer = 1 + below(&seed, 4),
                             .slots = 1 + below(&seed, 2),
                             .cpus = below(&seed, 3),
                             .background = below(&seed, 2),
                             .peer = below(&seed, 2),
                             .policy = "restless",
                             .evict = "lru",
                             .failing_task = below(&seed, 6) ? -1 : 0};
        machine.losses = below(&seed, 4) ? 0 : below(&seed, 1u << machine.ndevices);
        changes = round;
        if (!w_run(&graph, &machine, pick, &seed))
            fail_msg("round %llu", (unsigned long long)round);
    }
    assert_true(adopted > GRAPHS && played > GRAPHS && without > 0 && beside > 0);
}

/* --- asked again --------------------------------------------------------------------------- */

static unsigned asked; /* devices, while one task is left */

static od_task *refuse(void *state, unsigned k)
{
    (void)state;
    (void)k;
    return NULL;
}

/* When both devices have been asked for the last task, and the second is still to answer. */
static void change_late(void *engine)
{
    od_engine_stats stats;
    od_engine_stats_get(engine, &stats);
    od_settings settings;
    od_engine_settings(engine, &settings);
    settings.policy.ops = od_policy_find("eager");
    settings.active = 1;
    if (stats.unfinished == 1 && ++asked == 2)
        assert_int_equal(od_engine_adopt(engine, &settings), OD_OK);
}

static const od_chooser_ops late = {itself, nothing, change_late, nothing, none, NULL};

static unsigned pick_first(void *none_at_all, unsigned n)
{
    (void)none_at_all;
    (void)n;
    return 0;
}

/* The first task is placed by the engine, the second one waits for a policy that gives it away. */
static void devices_are_asked_again(void **state)
{
    static od_policy_ops ops;
    w_graph graph = {.ntasks = 2, .ndata = 2, .host_reads = -1, .keep = true, .size = {1, 1}};
    w_machine machine = {.ndevices = 2,
                         .memory = 8,
                         .buffer = 2,
                         .slots = 1,
                         .policy = "stubborn",
                         .evict = "lru",
                         .failing_task = -1};
    (void)state;
    ops = *od_policy_find("eager");
    ops.name = "stubborn";
    ops.pop = refuse;
    ops.chooser = &late;
    od_policy_register(&ops);
    for (int t = 0; t < graph.ntasks; t++)
        graph.task[t] = (w_task){.nuses = 1, .use = {{t, OD_READ_WRITE}}};
    assert_true(w_run(&graph, &machine, pick_first, NULL));
    assert_true(asked > 2);
}

/* --- ends ------------------------------------------------------------------------------------ */

static unsigned ends, considered;

static void count_end(void *engine)
{
    (void)engine;
    ends++;
}

static void count_considered(void *engine)
{
    (void)engine;
    considered++;
}

static uint64_t no_time(void *driver)
{
    (void)driver;
    return 0;
}

static const od_chooser_ops counting = {itself, nothing, count_considered, count_end, none, NULL};

static void never(void *driver, od_transfer *transfer)
{
    (void)driver;
    (void)transfer;
}

/* Of eager, which gives tasks to whoever asks, with devices on which no load ever ends. */
static od_engine *make_engine(const od_topology *topology, unsigned ndevices)
{
    static od_policy_ops ops;
    static const od_driver_ops driver = {
        .start_transfer = never, .complete_request = plain_complete_request, .now_ns = no_time, .fatal = plain_fatal};
    od_engine *e;
    if (!ops.name) {
        ops = *od_policy_find("eager");
        ops.name = "counting";
        ops.chooser = &counting;
        od_policy_register(&ops);
    }
    od_engine_config config = {.ndevices = ndevices,
                               .memory = 1 << 20,
                               .buffer = 1,
                               .slots = 1,
                               .topology = topology,
                               .policy = &ops,
                               .evict = od_evict_find("lru"),
                               .driver_ops = &driver};
    assert_int_equal(od_engine_create(&config, &e), OD_OK);
    return e;
}

/* All that was known has been done, whoever was the last: here the host, with tasks that no device is given. */
static void host_tasks_end_it_too(void **state)
{
    od_level_use named = {0x1000, true, false};
    od_engine *e = make_engine(NULL, 1);
    (void)state;
    for (unsigned round = 1; round <= 3; round++) {
        od_submission *first = od_engine_submit(e, "kind", 0, 1, &named, 1),
                      *last = od_engine_submit(e, "kind", 0, 1, &named, 1);
        od_engine_unsubmit(e, &first);
        od_engine_unsubmit(e, &last);
        od_engine_withdraw(e, first);
        assert_int_equal(ends, round - 1);
        od_engine_withdraw(e, last);
        assert_int_equal(ends, round);
    }
    od_engine_destroy(e);
}

/* What devices have been given stays there in plays, in that order, the task that the engine placed itself included. */
static void plays_begin_where_the_run_is(void **state)
{
    enum { TASKS = 4 };
    od_task task[TASKS];
    od_access access[TASKS];
    od_engine_copy copy;
    od_engine *e = make_engine(NULL, 1);
    (void)state;
    for (unsigned t = 0; t < TASKS; t++) {
        od_datum *d;
        assert_int_equal(od_engine_datum(e, 0x1000 * (t + 1), 0x100, &d), OD_OK);
        access[t] = (od_access){.datum = d, .mode = OD_READ};
        task[t] = (od_task){.bound = OD_NOWHERE, .duration = 1, .kind = "kind", .naccess = 1, .access = &access[t]};
        od_engine_task_ready(e, &task[t]);
    }
    assert_int_equal(od_engine_copy_make(e, UINT64_MAX, &copy), OD_OK);
    assert_int_equal(copy.problem.ntasks, TASKS);
    assert_true(copy.problem.ngiven >= 2 && copy.problem.ngiven < TASKS);
    for (uint32_t t = 0; t < TASKS; t++)
        assert_int_equal(copy.problem.tasks[t].bound, t < copy.problem.ngiven ? 0 : OD_NOWHERE);
    for (uint32_t i = 0; i < copy.problem.ngiven; i++)
        assert_int_equal(copy.problem.given[i], i);
    od_engine_copy_free(&copy);
    od_engine_destroy(e);
}

/* Bytes that plays take the first of two items to have, of which the program has mapped so many from it on. */
static size_t size_in_plays(size_t mapped)
{
    enum { FIRST = 0x10000, SECOND = 0x20000 };
    od_level_use named[2] = {{FIRST, true, false}, {SECOND, true, false}};
    od_engine *e = make_engine(NULL, 1);
    od_section section = {.begin = FIRST, .size = mapped, .origin = FIRST};
    od_engine_copy copy;
    if (mapped)
        assert_int_equal(od_engine_region_open(e, &section, false), OD_OK);
    od_submission *submission = od_engine_submit(e, "kind", 0, 1, named, 2);
    assert_int_equal(od_engine_copy_make(e, UINT64_MAX, &copy), OD_OK);
    size_t bytes = copy.problem.data[copy.problem.accesses[0].datum].bytes;
    od_engine_copy_free(&copy);
    od_engine_unsubmit(e, &submission);
    od_engine_withdraw(e, submission);
    od_engine_destroy(e);
    return bytes;
}

/* An item that has a region of its own is as large as that; of an array it is some part. */
static void plays_have_the_sizes_of_regions(void **state)
{
    (void)state;
    assert_int_equal(size_in_plays(0x8000), 0x8000);
    assert_int_equal(size_in_plays(0x10000), 0x10000);
    assert_int_equal(size_in_plays(0x30000), size_in_plays(0));
}

/* The program's own are known before a task is ready; else bottom levels count. */
static void plays_have_the_priorities_of_the_program(void **state)
{
    od_level_use named = {0x1000, true, false};
    (void)state;
    for (int ranked = 0; ranked < 2; ranked++) {
        od_engine_copy copy;
        od_engine *e = make_engine(NULL, 1);
        od_submission *first = od_engine_submit(e, "kind", 0, 1, &named, 1),
                      *last = od_engine_submit(e, "kind", 0, 1, &named, 1);
        if (ranked)
            od_engine_submission_rank(last, 7);
        assert_int_equal(od_engine_copy_make(e, UINT64_MAX, &copy), OD_OK);
        int32_t *priority = od_play_levels(&copy.problem);
        assert_non_null(priority);
        assert_true(ranked ? priority[0] == 0 && priority[1] == 7 : priority[0] > priority[1]);
        free(priority);
        od_engine_copy_free(&copy);
        od_engine_unsubmit(e, &first);
        od_engine_unsubmit(e, &last);
        od_engine_withdraw(e, first);
        od_engine_withdraw(e, last);
        od_engine_destroy(e);
    }
}

/* All data would look empty, and all settings alike, before one of those that tasks name has shown its size. */
static void nothing_is_chosen_before_a_size_is_known(void **state)
{
    enum { BASE = 0x1000, SIZE = 0x100 };
    od_level_use named = {BASE, true, false};
    od_engine *e = make_engine(NULL, 1);
    (void)state;
    assert_false(od_engine_is_vague(e));
    od_submission *first = od_engine_submit(e, "kind", 0, 1, &named, 1),
                  *last = od_engine_submit(e, "kind", 0, 1, &named, 1);
    assert_true(od_engine_is_vague(e));
    od_engine_unsubmit(e, &first);
    od_access access = {.mode = OD_READ};
    od_task task = {
        .bound = OD_NOWHERE, .duration = 1, .kind = "kind", .naccess = 1, .access = &access, .submission = first};
    assert_int_equal(od_engine_datum(e, BASE, SIZE, &access.datum), OD_OK);
    od_engine_task_ready(e, &task);
    assert_false(od_engine_is_vague(e));
    od_engine_unsubmit(e, &last);
    od_engine_withdraw(e, last);
    od_engine_destroy(e);
}

/* When no more tasks come, once. */
static void settings_are_considered_when_the_program_waits(void **state)
{
    od_engine *e = make_engine(NULL, 1);
    (void)state;
    considered = 0;
    od_engine_await(e, true);
    od_engine_await(e, true);
    assert_int_equal(considered, 1);
    od_engine_await(e, false);
    assert_int_equal(considered, 1);
    od_engine_destroy(e);
}

static bool is_uneven(const od_topology *topology)
{
    od_engine *e = make_engine(topology, topology->ndevices);
    bool uneven = od_engine_is_uneven(e);
    od_engine_destroy(e);
    return uneven;
}

/* A way of its own for each device. */
static void slow_devices_and_slow_links_are_uneven(void **state)
{
    enum { DEVICES = 2 };
    (void)state;
    for (unsigned times = 1; times <= 4; times *= 4) {
        od_topology *t = od_topology_create(DEVICES);
        assert_non_null(t);
        for (unsigned k = 0; k < DEVICES; k++) {
            uint32_t link = od_topology_add_link(t, k ? 1e9 : 1e9 * times);
            for (int in = 0; in < 2; in++)
                assert_int_equal(od_topology_set_way(t, in ? OD_HOST : (int)k, in ? (int)k : OD_HOST,
                                                     (od_link){(double)INFINITY, 0}, &link, 1),
                                 OD_OK);
        }
        assert_int_equal(is_uneven(t), times > 1);
        if (times == 1) {
            t->slowness.times[OD_SPEED_GENERAL][1] = 10;
            assert_true(is_uneven(t));
        }
        od_topology_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_policy_after_any_other),
        cmocka_unit_test(host_tasks_end_it_too),
        cmocka_unit_test(devices_are_asked_again),
        cmocka_unit_test(nothing_is_chosen_before_a_size_is_known),
        cmocka_unit_test(plays_begin_where_the_run_is),
        cmocka_unit_test(plays_have_the_priorities_of_the_program),
        cmocka_unit_test(plays_have_the_sizes_of_regions),
        cmocka_unit_test(settings_are_considered_when_the_program_waits),
        cmocka_unit_test(slow_devices_and_slow_links_are_uneven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
