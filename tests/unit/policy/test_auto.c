/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* auto: what it costs, what it says of it, and that it goes on where a device is lost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched/auto/candidates.h"
#include "sched/auto/iterations.h"
#include "sched/auto/remember.h"
#include "sched/auto/trial.h"
#include "sched/phase/active.h"
#include "tests/unit/policy/model.h"

#include <stdio.h>
#include <string.h>

static const model_machine machine = {.ndevices = 4, .memory = 30, .buffer = 3, .policy = "auto", .seed = 1};

static model_graph graph_of(uint32_t n, double seconds)
{
    model_graph graph = model_gemm2d(n);
    for (uint32_t t = 0; t < graph.ntasks; t++)
        graph.task[t].duration = seconds;
    return graph;
}

/* Of a run in which each look at the clock takes `tick` ns, and a load takes as long as a task. */
static od_choices choices_on(unsigned processors, double seconds, uint64_t tick, double *makespan)
{
    model_graph graph = graph_of(16, seconds);
    model_machine m = machine;
    m.processors = processors;
    od_choices choices;
    m.bandwidth = 1 / seconds;
    m.tick = tick;
    m.choices = &choices;
    *makespan = model_run(&graph, &m).makespan;
    model_free(&graph);
    return choices;
}

static od_choices choices_of(double seconds, uint64_t tick, double *makespan)
{
    return choices_on(0, seconds, tick, makespan);
}

static unsigned most_tried(const od_choices *choices)
{
    unsigned most = 0;
    for (unsigned i = 0; i < od_choices_kept(choices); i++)
        most = choices->kept[i].tried > most ? choices->kept[i].tried : most;
    return most;
}

/* Those that the run leaves idle may work for it, too: it keeps one of sixteen busy. */
static void idle_processors_count(void **state)
{
    enum { MANY = 16 };
    static const uint64_t tick = 2000;
    double makespan;
    unsigned more = 0;
    (void)state;
    for (double seconds = 1e-4; seconds < 1; seconds *= 2) {
        od_choices one = choices_of(seconds, tick, &makespan), many = choices_on(MANY, seconds, tick, &makespan);
        if ((double)many.processor_ns > MANY * 0.01 * makespan * 1e9 + 5 * (double)tick)
            fail_msg("tasks of %g s: %g ns of %g", seconds, (double)many.processor_ns, makespan * 1e9);
        more += most_tried(&many) > most_tried(&one);
    }
    assert_true(more > 2);
}

static void at_most_a_hundredth_of_the_processor_time(void **state)
{
    static const uint64_t tick = 2000;
    double makespan;
    (void)state;
    for (double seconds = 1e-4; seconds < 1; seconds *= 2) {
        od_choices choices = choices_of(seconds, tick, &makespan);
        if ((double)choices.processor_ns > 0.01 * makespan * 1e9 + 5 * (double)tick) /* its last look */
            fail_msg("tasks of %g s: %g ns of %g", seconds, (double)choices.processor_ns, makespan * 1e9);
    }
}

static uint64_t most_tasks(const od_choices *choices)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < od_choices_kept(choices); i++)
        most = choices->kept[i].tasks > most ? choices->kept[i].tasks : most;
    return most;
}

enum { PART = 512 }; /* tasks that stand for more */

/* What a choice among few tasks has taken says little of what one among many will. */
static void costs_are_those_of_many_tasks(void **state)
{
    enum { FIRST = 40, ALL = 32 * 32 };
    model_graph graph = graph_of(32, 1e-3);
    model_machine m = machine;
    od_choices choices;
    (void)state;
    m.ndevices = 1;
    m.bandwidth = 1000;
    m.first = FIRST;
    m.tick = 50000;
    m.choices = &choices;
    model_run(&graph, &m);
    assert_in_range(choices.kept[0].tasks, FIRST / 2, FIRST);
    assert_in_range(most_tasks(&choices), PART, ALL);
    model_free(&graph);
}

/* Where there is no time to play all tasks under several settings the first ones stand for them. */
static void plays_a_part_of_many_tasks(void **state)
{
    enum { SIDE = 64 };
    model_graph graph = graph_of(SIDE, 1e-3);
    model_machine m = machine;
    od_choices choices;
    (void)state;
    m.bandwidth = 1000;
    m.tick = 100000;
    m.choices = &choices;
    model_run(&graph, &m);
    assert_true(choices.count > 0 && choices.kept[0].tried > 1);
    assert_in_range(most_tasks(&choices), PART, SIDE * SIDE / 4);
    m.tick = 0;
    model_run(&graph, &m);
    assert_in_range(most_tasks(&choices), SIDE * SIDE - machine.ndevices, SIDE * SIDE); /* some may have begun */
    model_free(&graph);
}

/* Where there is little time few settings are tried, and none where there is none. */
static void tries_what_it_can_afford(void **state)
{
    double makespan;
    (void)state;
    od_choices all = choices_of(0.1, 0, &makespan), many = choices_of(0.1, 1000, &makespan),
               few = choices_of(0.1, 2000000, &makespan), none = choices_of(1e-4, 1000, &makespan);
    assert_true(all.count > 0 && all.kept[0].tried > 27 && all.processor_ns == 0);
    assert_true(many.count > 0 && many.kept[0].tried > 5);
    assert_true(few.count > 0 && few.kept[0].tried < many.kept[0].tried);
    assert_int_equal(none.count, 0);
}

static void says_what_it_expects(void **state)
{
    double makespan;
    (void)state;
    od_choices choices = choices_of(0.02, 0, &makespan);
    const od_choice *c = od_choices_last(&choices);
    assert_non_null(strchr(c->present.name, '+'));
    assert_false(c->present.at_least || c->best.at_least);
    assert_true(c->best.seconds <= c->present.seconds && c->best.name[0] && c->second.name[0]);
    assert_true(c->second.seconds >= c->best.seconds);
    assert_true(!c->adopted || c->best.seconds < c->present.seconds);
    assert_true(c->half_predicted > 0 && c->half_predicted <= c->best.seconds);
    assert_true(c->half_taken > 0);
}

/* Its lower bound is below what the best takes, and nothing else is known of it. */
static void what_time_was_over_for_is_not_second(void **state)
{
    static od_trial t = {.ntried = 3,
                         .tried = {{.seconds = 2}, {.seconds = 1, .at_least = true}, {.seconds = 3, .at_least = true}}};
    (void)state;
    t.best = &t.tried[0];
    assert_ptr_equal(od_trial_second(&t), &t.tried[2]);
    t.ntried = 2;
    assert_null(od_trial_second(&t));
}

/* How long it takes until the code of a task runs is learnt. */
static void learns_what_it_takes_to_begin(void **state)
{
    model_graph graph = graph_of(16, 0.02);
    model_machine m = machine;
    od_choices choices;
    (void)state;
    m.starting = 0.04;
    m.bandwidth = 500;
    m.choices = &choices;
    model_run(&graph, &m);
    model_free(&graph);
    double most = 0;
    for (const od_choice *c = choices.kept; c < choices.kept + od_choices_kept(&choices); c++)
        most = c->half_taken > 0 ? fmax(most, c->half_taken / c->half_predicted) : most;
    const od_choice *last = od_choices_last(&choices);
    print_message("half of the tasks took up to %.1f times what was predicted, at last %.3f s instead of %.3f s\n", most,
                  last->half_taken, last->half_predicted);
    assert_true(most > 2 && fabs(last->half_taken / last->half_predicted - 1) < 0.1);
}

static void goes_on_without_a_lost_device(void **state)
{
    model_graph graph = graph_of(16, 0.02);
    model_machine m = machine;
    od_choices choices;
    (void)state;
    m.bandwidth = 50;
    m.choices = &choices;
    m.lost = 2;
    m.lost_after = 60;
    model_run(&graph, &m);
    assert_true(choices.count >= 2);
    const od_choice *last = od_choices_last(&choices);
    assert_true(last->tasks < 16 * 16 - 40 && last->tried > 5);
    model_free(&graph);
}

/* Each combination once, with what the user has given. */
static void the_grid_has_every_combination(void **state)
{
    static od_candidate grid[OD_CANDIDATES_GRID];
    od_settings given = {.buffer = 3, .evict = od_evict_find("luf"), .active = OD_ACTIVE_AS_POLICY};
    char error[256];
    unsigned count = 0, looked_for = 0;
    (void)state;
    assert_int_equal(od_policy_choose("auto", &given.policy, error, sizeof error), OD_OK);
    od_work work = {.given = &given, .ndevices = 4, .ntasks = 100, .depends = true};
    od_candidate best = {.settings = given, .policy = "darts"};
    best.settings.devices = (od_placeset){{5}};
    best.settings.active = 2;
    for (unsigned i = 0; i < OD_CANDIDATES_GRID; i++)
        count += od_candidates_of_grid(i, &best, &work, &grid[count]);
    assert_int_equal(count, OD_CANDIDATES_GRID);
    for (unsigned i = 0; i < count; i++) {
        looked_for += strcmp(grid[i].name, "dmdas+lru, buffer 3, 3 ahead, as many devices as load fastest") == 0;
        looked_for += strcmp(grid[i].name, "lws+luf, buffer 3, 12 ahead, devices 0 2") == 0;
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(grid[i].name, grid[j].name);
    }
    assert_int_equal(looked_for, 2);
    const od_placeset two = {{6}};
    for (unsigned i = 0; i < OD_CANDIDATES_ON_SET; i++) {
        assert_true(od_candidates_on_set(i, two, &work, &grid[i]));
        assert_true(od_placeset_equal(grid[i].settings.devices, two));
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(grid[i].name, grid[j].name);
    }
    given.policy.ahead = 500;
    given.active = 3;
    for (unsigned i = 0; i < OD_CANDIDATES_GRID; i++)
        if (od_candidates_of_grid(i, &best, &work, &grid[0]))
            assert_true(grid[0].settings.policy.ahead == 500 && i % 3 == 0);
    assert_false(od_candidates_on_set(0, two, &work, &grid[0]));
}

/* --- iterations ------------------------------------------------------------------------------ */

enum { ROUNDS = 10 };

/* Adds what the second and the last ones take. */
static void iterate(model_graph graph, unsigned ndevices, size_t memory, double *second, double *tenth)
{
    double seconds[ROUNDS];
    model_machine m = machine;
    m.bandwidth = 2000;
    m.ndevices = ndevices;
    m.memory = memory;
    m.rounds = ROUNDS;
    m.round_s = seconds;
    m.tick = 2;
    model_run(&graph, &m);
    model_free(&graph);
    *second += seconds[1];
    /* Each finds data where the one before has left them, and two may try something. */
    double last = fmin(seconds[ROUNDS - 1], fmin(seconds[ROUNDS - 2], seconds[ROUNDS - 3]));
    *tenth += last;
    if (last > 1.1 * seconds[1])
        fail_msg("%u devices of %zu: %g s, the second took %g s", ndevices, memory, last, seconds[1]);
}

static void iterations_do_not_slow_down(void **state)
{
    double second = 0, tenth = 0;
    (void)state;
    for (unsigned n = 2; n <= 4; n *= 2)
        for (size_t memory = 12; memory <= 48; memory *= 4) {
            iterate(model_cholesky(9), n, memory, &second, &tenth);
            iterate(model_gemm2d(12), n, memory, &second, &tenth);
            iterate(model_gemm3d(5), n, memory, &second, &tenth);
        }
    assert_true(tenth <= second);
}

static od_candidate candidate_of(const char *name)
{
    od_candidate c = {.policy = name};
    snprintf(c.name, sizeof c.name, "%s", name);
    return c;
}

/* What takes longer than it did gives way at once to what is expected to be faster. */
static void slower_iterations_try_others(void **state)
{
    static od_iterations all;
    od_pattern pattern = {.hash = 5, .tasks = 40, .first = 3};
    od_candidate a = candidate_of("a"), b = candidate_of("b"), c = candidate_of("c");
    (void)state;
    od_iterations_end(&all, &pattern, &a, 9);
    od_iterations_end(&all, &pattern, &a, 2);
    od_iteration *it = od_iterations_find(&all, &pattern);
    od_iteration_propose(it, &b);
    od_iterations_end(&all, &pattern, &b, 3);
    od_iteration_propose(it, &c);
    it->searched = true;
    od_iterations_end(&all, &pattern, &a, 2.2);
    od_iterations_end(&all, &pattern, &a, 2.01);
    od_iterations_end(&all, &pattern, &a, 2.2);
    assert_true(strcmp(od_iteration_settings(it)->name, "a") == 0 && it->searched); /* not so soon after b */
    od_iterations_end(&all, &pattern, &a, 2.2);
    assert_true(strcmp(od_iteration_settings(it)->name, "c") == 0 && !it->searched);
    od_iterations_end(&all, &pattern, &c, 2.1);
    assert_true(strcmp(it->best.name, "c") == 0 && !it->proposed);
    od_iterations_end(&all, &pattern, &c, 2.1);
    assert_int_equal(it->slower, 0);
}

/* What was expected to be faster stays only if it was. */
static void measured_times_decide(void **state)
{
    static od_iterations all;
    od_pattern pattern = {.hash = 5, .tasks = 40, .first = 3};
    od_candidate a = candidate_of("a"), b = candidate_of("b"), c = candidate_of("c");
    (void)state;
    assert_null(od_iterations_find(&all, &pattern));
    od_iterations_end(&all, &pattern, &a, 9); /* the first does not count */
    od_iteration *it = od_iterations_find(&all, &pattern);
    assert_true(it && it->seconds <= 0 && od_iteration_is_open(it) && !od_iteration_may_try(it, &a));
    od_iterations_end(&all, &pattern, &a, 2);
    od_iteration_propose(it, &b);
    assert_true(it->proposed && !od_iteration_is_open(it));
    od_iterations_end(&all, &pattern, &b, 0); /* others counted in between */
    assert_true(it->proposed);
    od_iterations_end(&all, &pattern, &b, 3);
    assert_true(!it->proposed && strcmp(it->best.name, "a") == 0 && !od_iteration_may_try(it, &b));
    od_iteration_propose(it, &c);
    od_iterations_end(&all, &pattern, &c, 1);
    assert_true(strcmp(it->best.name, "c") == 0 && it->seconds <= 1);
    pattern.hash = 6; /* another graph that begins as that one */
    od_iterations_end(&all, &pattern, &a, 7);
    assert_true(it->seconds <= 0 && it->hash == 6 && it->nrefuted == 0);
}

/* The latest patterns are kept, and enough refutations end the search. */
static void what_is_kept_is_bounded(void **state)
{
    static od_iterations all;
    od_candidate a = candidate_of("a");
    (void)state;
    for (uint64_t first = 0; first < 3 * OD_ITERATIONS_KNOWN; first++) {
        od_iterations_end(&all, &(od_pattern){.hash = first, .tasks = 20, .first = first}, &a, 1);
        assert_non_null(od_iterations_find(&all, &(od_pattern){.first = first}));
    }
    assert_int_equal(all.count, OD_ITERATIONS_KNOWN);
    od_pattern pattern = {.hash = 23, .tasks = 20, .first = 23};
    od_iteration *it = od_iterations_find(&all, &pattern);
    od_iterations_end(&all, &pattern, &a, 1);
    for (int i = 0; i < OD_ITERATIONS_REFUTED; i++) {
        od_candidate next = candidate_of((const char *[]){"x", "y", "z"}[i]);
        assert_true(od_iteration_is_open(it));
        od_iteration_propose(it, &next);
        od_iterations_end(&all, &pattern, &next, 2);
    }
    assert_false(od_iteration_is_open(it));
}

/* --- between runs ------------------------------------------------------------------------------ */

/* What is written is read again; what is none, or not what the user wants, is not. */
static void settings_survive_as_text(void **state)
{
    static const char *const wrong[] = {"", "darts", "none luf 3 0 0 0 0", "darts none 3 0 0 0 0", "darts luf 0 0 0 0 0",
                                        "darts luf 3 0 0 0 0 x", "darts luf 3 0 0 0", "eager:x luf 3 0 0 0 0"};
    od_settings given = {.buffer = 3, .evict = od_evict_find("luf"), .active = OD_ACTIVE_AS_POLICY}, fixed;
    od_candidate c, again;
    char error[256], line[256];
    (void)state;
    assert_int_equal(od_policy_choose("auto", &given.policy, error, sizeof error), OD_OK);
    od_work work = {.given = &given, .ndevices = 4, .ntasks = 100, .depends = true};
    od_candidate best = {.settings = given, .policy = "darts"};
    best.settings.devices = (od_placeset){{5}};
    for (unsigned i = 0; i < OD_CANDIDATES_GRID; i++) {
        assert_true(od_candidates_of_grid(i, &best, &work, &c));
        assert_true(od_candidate_write(&c, line, sizeof line) && od_candidate_read(line, NULL, &given, &again));
        assert_true(od_candidate_is_same(&c, &again));
        assert_string_equal(c.name, again.name);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(od_candidate_read(wrong[i], NULL, &given, &again));
    assert_true(od_candidate_read("dmdas lru 3 0 2 0 0", NULL, &given, &again));
    fixed = given;
    fixed.evict = od_evict_find("belady");
    assert_false(od_candidate_read("dmdas lru 3 0 2 0 0", NULL, &fixed, &again));
    fixed = given;
    fixed.active = 3;
    assert_false(od_candidate_read("dmdas lru 3 0 2 0 0", NULL, &fixed, &again));
    fixed = given;
    fixed.policy.ahead = 5;
    assert_false(od_candidate_read("dmdas lru 3 0 2 0 0", NULL, &fixed, &again));
}

/* Seconds of the last of so many iterations, in a process of its own. */
static double iterations_after(model_kept *kept, unsigned rounds)
{
    double seconds[ROUNDS];
    model_graph graph = model_cholesky(9);
    model_machine m = machine;
    m.bandwidth = 2000;
    m.ndevices = 2;
    m.memory = 12;
    m.rounds = rounds;
    m.round_s = seconds;
    m.tick = 2;
    m.kept = kept;
    model_run(&graph, &m);
    model_free(&graph);
    return seconds[rounds - 1];
}

/* A process begins as the one before has ended: with its schedule, which it goes on to improve. */
static void schedules_survive_the_process(void **state)
{
    static model_kept kept;
    unsigned schedules = 0;
    (void)state;
    double alone = iterations_after(NULL, 2), first = iterations_after(&kept, ROUNDS);
    for (unsigned i = 0; i < kept.count; i++)
        schedules += kept.row[i].row.schedule != NULL;
    double again = iterations_after(&kept, 2);
    print_message("second iteration: %.4f s alone, %.4f s after a process whose tenth took %.4f s; %u schedules kept\n",
                  alone, again, first, schedules);
    assert_true(schedules > 0);
    assert_true(again < 0.98 * alone && again < 1.05 * first);
    model_forget(&kept);
}

/* Seconds of a process that carries out the graph once. */
static double once_after(model_kept *kept, model_graph graph, unsigned ndevices, size_t memory)
{
    double seconds[1];
    model_machine m = machine;
    m.bandwidth = 2000;
    m.ndevices = ndevices;
    m.memory = memory;
    m.rounds = 1;
    m.round_s = seconds;
    m.tick = 2;
    m.kept = kept;
    model_run(&graph, &m);
    model_free(&graph);
    return seconds[0];
}

static model_graph graph_of_kind(unsigned kind)
{
    return kind == 0 ? model_cholesky(14) : kind == 1 ? model_gemm2d(20) : model_gemm3d(8);
}

/* What a first run has ended with may be worse from the beginning on than what it began with: that is tried once. */
static void later_processes_are_no_slower(void **state)
{
    enum { PROCESSES = 8, LAST = 3 };
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned n = 2; n <= 8; n *= 2)
            for (size_t memory = 12; memory <= 48; memory *= 4) {
                static model_kept kept;
                double first = once_after(&kept, graph_of_kind(kind), n, memory), later = first;
                for (unsigned i = 1; i < PROCESSES; i++) {
                    double seconds = once_after(&kept, graph_of_kind(kind), n, memory);
                    later = i + LAST <= PROCESSES ? seconds : fmin(later, seconds); /* one may try something */
                }
                if (later > 1.02 * first)
                    fail_msg("graph %u, %u devices of %zu: %g s, the first process took %g s", kind, n, memory, later,
                             first);
                model_forget(&kept);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_a_hundredth_of_the_processor_time),
        cmocka_unit_test(plays_a_part_of_many_tasks),
        cmocka_unit_test(idle_processors_count),
        cmocka_unit_test(costs_are_those_of_many_tasks),
        cmocka_unit_test(tries_what_it_can_afford),
        cmocka_unit_test(says_what_it_expects),
        cmocka_unit_test(what_time_was_over_for_is_not_second),
        cmocka_unit_test(learns_what_it_takes_to_begin),
        cmocka_unit_test(goes_on_without_a_lost_device),
        cmocka_unit_test(the_grid_has_every_combination),
        cmocka_unit_test(iterations_do_not_slow_down),
        cmocka_unit_test(measured_times_decide),
        cmocka_unit_test(slower_iterations_try_others),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(settings_survive_as_text),
        cmocka_unit_test(schedules_survive_the_process),
        cmocka_unit_test(later_processes_are_no_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
