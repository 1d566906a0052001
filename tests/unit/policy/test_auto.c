/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* auto: what it costs, what it says of it, and that it goes on where a device is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/policy/model.h"

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
static od_choices choices_of(double seconds, uint64_t tick, double *makespan)
{
    model_graph graph = graph_of(16, seconds);
    model_machine m = machine;
    od_choices choices;
    m.bandwidth = 1 / seconds;
    m.tick = tick;
    m.choices = &choices;
    *makespan = model_run(&graph, &m).makespan;
    model_free(&graph);
    return choices;
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
    assert_true(c->second.at_least || c->second.seconds >= c->best.seconds);
    assert_true(!c->adopted || c->best.seconds < c->present.seconds);
    assert_true(c->half_predicted > 0 && c->half_predicted <= c->best.seconds);
    assert_true(c->half_taken > 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_a_hundredth_of_the_processor_time),
        cmocka_unit_test(tries_what_it_can_afford),
        cmocka_unit_test(says_what_it_expects),
        cmocka_unit_test(goes_on_without_a_lost_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
