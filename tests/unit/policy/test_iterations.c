/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs that submit the same graph again and again, under `auto`: on random machines, and what decides. */
#include "sched/auto/iterations.h"

#include "tests/unit/policy/model.h"
#include "tests/unit/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- random programs ------------------------------------------------------------------------- */

enum { ROUNDS = 10 };

static model_graph random_graph(uint64_t *seed)
{
    return random_below(seed, 2) ? model_cholesky(6 + (uint32_t)random_below(seed, 3))
                                 : model_gemm3d(4 + (uint32_t)random_below(seed, 3));
}

/* The last iterations beside the second. Each finds data where the one before has left them, and two may try
 * something. In `*tenth` the very last one. On one bus, or with a link for each direction and between devices. */
static double last_beside_second(uint64_t draw, bool bus, double *tenth)
{
    double seconds[ROUNDS];
    uint64_t seed = draw;
    model_graph graph = random_graph(&seed);
    model_machine m = {
        .buffer = 3, .policy = "auto", .seed = 1, .rounds = ROUNDS, .round_s = seconds, .tick = 2, .bus = bus};
    m.ndevices = 2 + (unsigned)random_below(&seed, 7);
    m.memory = 12 + random_below(&seed, 40);
    m.bandwidth = 500 << random_below(&seed, 4);
    m.peer_bandwidth = random_below(&seed, 2) ? (bus ? 1 : 2) * m.bandwidth : 0;
    model_run(&graph, &m);
    model_free(&graph);
    double last = fmin(seconds[ROUNDS - 1], fmin(seconds[ROUNDS - 2], seconds[ROUNDS - 3]));
    *tenth = seconds[ROUNDS - 1] / seconds[1];
    return last / seconds[1];
}

static void do_not_slow_down(uint64_t first, uint64_t last, bool bus)
{
    double logs = 0, tenth;
    unsigned slower = 0, count = (unsigned)(last - first + 1);
    for (uint64_t draw = first; draw <= last; draw++) {
        double ratio = last_beside_second(draw, bus, &tenth);
        if (ratio > 1.05 || tenth > 1.15) /* where it tries something */
            fail_msg("draw %u: %g times as long as the second, the last %g", (unsigned)draw, ratio, tenth);
        slower += tenth > 1 + 1e-9;
        logs += log(ratio);
    }
    double mean = exp(logs / count);
    print_message("the last iterations take %.2f times as long as the second; of %u the last is slower in %u\n", mean,
                  count, slower);
    assert_true(mean < 0.85 && 10 * slower <= count);
}

static void iterations_do_not_slow_down(void **state)
{
    (void)state;
    do_not_slow_down(1, 20, true);
}

static void nor_with_links_of_their_own(void **state)
{
    (void)state;
    do_not_slow_down(1, 12, false);
}

/* --- what decides ---------------------------------------------------------------------------- */

static const od_pattern pattern = {.hash = 5, .tasks = 40, .first = 3};

static od_candidate candidate_of(const char *name)
{
    od_candidate c = {.policy = name};
    snprintf(c.name, sizeof c.name, "%s", name);
    return c;
}

/* With settings `a`, which take two seconds. */
static od_iteration *begin(od_iterations *all, const od_candidate *a)
{
    *all = (od_iterations){.count = 0};
    od_iterations_end(all, &pattern, a, 9);
    od_iterations_end(all, &pattern, a, 2);
    return od_iterations_find(all, &pattern);
}

static void is_best(const od_iteration *it, const char *name, double seconds)
{
    assert_string_equal(it->best.name, name);
    assert_true(fabs(it->seconds - seconds) < 1e-9);
}

/* The first time profits from where others have left data. */
static void what_stays_faster_stays(void **state)
{
    static od_iterations all;
    od_candidate a = candidate_of("a"), b = candidate_of("b");
    (void)state;
    od_iteration *it = begin(&all, &a);
    od_iteration_propose(it, &b);
    od_iterations_end(&all, &pattern, &b, 1.9);
    is_best(it, "b", 1.9);
    od_iterations_end(&all, &pattern, &b, 2.0);
    is_best(it, "b", 1.95);
    od_iterations_end(&all, &pattern, &b, 2.4);
    is_best(it, "a", 2);
    assert_false(od_iteration_may_try(it, &b));
    od_iterations_end(&all, &pattern, &a, 1.8);
    is_best(it, "a", 1.9);
}

/* Or suffers from it: what was a little slower has another chance. */
static void a_second_chance(void **state)
{
    static od_iterations all;
    od_candidate a = candidate_of("a"), b = candidate_of("b"), c = candidate_of("c");
    (void)state;
    od_iteration *it = begin(&all, &a);
    od_iteration_propose(it, &b);
    od_iterations_end(&all, &pattern, &b, 2.1);
    assert_string_equal(od_iteration_settings(it)->name, "b");
    od_iterations_end(&all, &pattern, &b, 1.8);
    is_best(it, "b", 1.8);
    od_iteration_propose(it, &c);
    od_iterations_end(&all, &pattern, &c, 1.9);
    assert_true(it->proposed);
    od_iterations_end(&all, &pattern, &c, 1.9);
    is_best(it, "b", 1.8);
    assert_true(!it->proposed && !od_iteration_may_try(it, &c));
}

/* What the best takes on the average can grow to more than something else has taken, which comes back then. */
static void what_was_faster_comes_back(void **state)
{
    static od_iterations all;
    od_candidate a = candidate_of("a"), b = candidate_of("b");
    (void)state;
    od_iteration *it = begin(&all, &a);
    od_iteration_propose(it, &b);
    for (int i = 0; i < 2; i++)
        od_iterations_end(&all, &pattern, &b, 2.1);
    is_best(it, "a", 2);
    od_iterations_end(&all, &pattern, &a, 9); /* it finds data where b has left them */
    is_best(it, "a", 2);
    od_iterations_end(&all, &pattern, &a, 2.3);
    is_best(it, "b", 2.1);
    assert_false(od_iteration_may_try(it, &a));
    od_iterations_end(&all, &pattern, &b, 2.5);
    is_best(it, "b", 2.1);
    od_iterations_end(&all, &pattern, &b, 2.3);
    is_best(it, "a", 2.15);
}

/* Where it takes longer and longer, what is expected to be faster comes first. */
static void what_is_proposed_comes_before_it(void **state)
{
    static od_iterations all;
    od_candidate a = candidate_of("a"), b = candidate_of("b"), c = candidate_of("c");
    (void)state;
    od_iteration *it = begin(&all, &a);
    od_iteration_propose(it, &b);
    for (int i = 0; i < 2; i++)
        od_iterations_end(&all, &pattern, &b, 2.1);
    od_iteration_propose(it, &c);
    for (int i = 0; i < 2; i++)
        od_iterations_end(&all, &pattern, &a, 2.2);
    assert_string_equal(od_iteration_settings(it)->name, "a"); /* b is too little time ago */
    od_iterations_end(&all, &pattern, &a, 2.4);
    assert_string_equal(od_iteration_settings(it)->name, "c");
    od_iterations_end(&all, &pattern, &c, 9);
    for (int i = 0; i < 2; i++)
        od_iterations_end(&all, &pattern, &a, 2.4);
    is_best(it, "b", 2.1);
}

/* It has its settings from its first task on. */
static void what_came_last_is_expected(void **state)
{
    static od_iterations all;
    od_pattern other = {.hash = 6, .tasks = 40, .first = 4};
    od_candidate a = candidate_of("a"), b = candidate_of("b");
    (void)state;
    all.count = 0;
    assert_null(od_iterations_expected(&all));
    od_iterations_end(&all, &pattern, &a, 9);
    assert_null(od_iterations_expected(&all));
    od_iterations_end(&all, &pattern, &a, 2);
    assert_string_equal(od_iterations_expected(&all)->name, "a");
    od_iteration_propose(od_iterations_find(&all, &pattern), &b);
    assert_string_equal(od_iterations_expected(&all)->name, "b");
    od_iterations_end(&all, &other, &a, 9);
    assert_null(od_iterations_expected(&all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_do_not_slow_down), cmocka_unit_test(nor_with_links_of_their_own),
        cmocka_unit_test(what_stays_faster_stays),     cmocka_unit_test(a_second_chance),
        cmocka_unit_test(what_was_faster_comes_back),  cmocka_unit_test(what_is_proposed_comes_before_it),
        cmocka_unit_test(what_came_last_is_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
