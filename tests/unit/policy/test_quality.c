/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many loads darts needs in the papers' model: unit data, unit tasks, all ready at once, task buffers of five.
 *
 * The lower bound of the two-dimensional product is that of the thesis (3.5.1): floor(N^2/M^2) M + min(M, 2N).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/policy/model.h"

static const unsigned SEEDS = 2;

struct figures {
    double mean, most; /* loads, over the seeds */
    double imbalance;  /* of the busiest device over the mean, the worst seed */
};

static double bound_2d(uint32_t n, uint32_t m)
{
    return n * n / (m * m) * m + (m < 2 * n ? m : 2 * n);
}

static model_machine unit_machine(const char *policy, unsigned ndevices, size_t memory)
{
    /* A load takes a hundredth of a task's time; how long hardly matters to the count. */
    return (model_machine){.ndevices = ndevices, .memory = memory, .buffer = 5, .bandwidth = 1e5, .policy = policy};
}

static struct figures measure(const model_graph *graph, model_machine machine)
{
    struct figures figures = {0};
    for (machine.seed = 1; machine.seed <= SEEDS; machine.seed++) {
        model_result result = model_run(graph, &machine);
        double loads = (double)result.loads;
        figures.mean += loads / SEEDS;
        figures.most = loads > figures.most ? loads : figures.most;
        for (unsigned k = 0; k < machine.ndevices; k++) {
            double share = (double)result.tasks[k] * machine.ndevices / graph->ntasks - 1;
            figures.imbalance = share > figures.imbalance ? share : figures.imbalance;
        }
    }
    return figures;
}

/* The natural order keeps the limit, and a random one is at most a tenth worse. */
static struct figures check(const char *name, model_graph graph, const model_machine *machine, double limit)
{
    struct figures natural = measure(&graph, *machine);
    model_shuffle(&graph, 7);
    struct figures random = measure(&graph, *machine);
    model_free(&graph);
    print_message("%-28s %-15s %5.1f loads, at most %3.0f (limit %3.0f); random order %5.1f\n", name, machine->policy,
                  natural.mean, natural.most, limit, random.mean);
    assert_true(natural.most <= limit);
    assert_true(random.mean <= 1.1 * natural.mean);
    return natural;
}

static void test_gemm2d_on_one_device(void **unused)
{
    (void)unused;
    model_machine machine = unit_machine("darts", 1, 34);
    check("2D, N = 60, M = 34", model_gemm2d(60), &machine, 2.3 * bound_2d(60, 34));
}

static void test_gemm2d_on_two_devices(void **unused)
{
    (void)unused;
    model_machine machine = unit_machine("darts", 2, 34);
    struct figures figures = check("2D, N = 40, M = 34, 2 devices", model_gemm2d(40), &machine, 2.5 * bound_2d(40, 34));
    assert_true(figures.imbalance <= 0.02);
}

static void test_gemm3d(void **unused)
{
    (void)unused;
    const char *const policies[] = {"darts", "darts:alg11"};
    for (int i = 0; i < 2; i++) {
        model_machine machine = unit_machine(policies[i], 1, 100);
        check("3D, N = 10, M = 100", model_gemm3d(10), &machine, 620);
    }
}

static void test_cholesky_set(void **unused)
{
    (void)unused;
    model_machine machine = unit_machine("darts", 1, 60);
    check("Cholesky set, N = 20, M = 60", model_cholesky_set(20), &machine, 600);
}

/* Independent tasks that read one datum: nobody but the device that has it would be given any without stealing. */
static void test_common_datum(void **unused)
{
    (void)unused;
    model_graph graph = model_gemm2d(8);
    for (uint32_t t = 0; t < graph.ntasks; t++) {
        graph.task[t].nuses = 1;
        graph.task[t].datum[0] = 0;
    }
    model_machine machine = unit_machine("darts", 4, 34);
    model_result stolen = model_run(&graph, &machine);
    machine.policy = "darts:steal=0";
    model_result kept = model_run(&graph, &machine);
    model_free(&graph);
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(stolen.tasks[k], 16);
    assert_int_equal(stolen.loads, 4);
    assert_int_equal(kept.loads, 1);
    assert_int_equal(kept.tasks[0], 64);
}

/* More than a device steals at once, which have come while the devices were busy. */
static void test_many_with_common_datum(void **unused)
{
    (void)unused;
    enum { BEFORE = 12 };
    model_graph graph = model_gemm2d(100);
    for (uint32_t t = 0; t < graph.ntasks; t++) {
        graph.task[t].nuses = 1;
        graph.task[t].datum[0] = t < BEFORE ? t : BEFORE;
    }
    model_machine machine = unit_machine("darts", 2, 34);
    model_result result = model_run(&graph, &machine);
    model_free(&graph);
    print_message("one datum: %llu and %llu tasks\n", (unsigned long long)result.tasks[0],
                  (unsigned long long)result.tasks[1]);
    assert_in_range(result.tasks[1], 4990, 5010);
}

/* Half of the tasks read one datum, the others one each: while the former compute, the latter's loads can hide behind
 * them. */
static model_graph late_loads(void)
{
    model_graph graph = model_gemm2d(8); /* 64 tasks, 16 data */
    for (uint32_t t = 0; t < graph.ntasks; t++) {
        graph.task[t].nuses = 1;
        graph.task[t].datum[0] = t < 50 ? 0 : t - 49;
    }
    return graph;
}

/* Tasks of one millisecond, loads of two. */
static void test_lookahead(void **unused)
{
    (void)unused;
    model_graph graph = late_loads();
    model_machine machine = unit_machine("eager", 1, 34);
    machine.bandwidth = 500;
    machine.buffer = 3;
    model_result without = model_run(&graph, &machine);
    machine.ahead = 5; /* another load begins before the last has been used */
    model_result some = model_run(&graph, &machine);
    machine.ahead = 1000;
    model_result all = model_run(&graph, &machine);
    model_free(&graph);
    print_message("%.0f ms without lookahead, %.0f with 5 tasks, %.0f with 1000\n", without.makespan * 1e3,
                  some.makespan * 1e3, all.makespan * 1e3);
    assert_int_equal(without.loads, 15);
    assert_int_equal(all.loads, 15);
    assert_true(some.makespan < without.makespan - 1e-4);
    assert_true(fabs(all.makespan - (2 + 64) * 1e-3) < 1e-6); /* the first load, then no wait */
}

/* No device hoards tasks that another could run. */
static void test_lookahead_leaves_work_to_others(void **unused)
{
    (void)unused;
    model_graph graph = late_loads();
    for (uint32_t t = 0; t < graph.ntasks; t++)
        graph.task[t].datum[0] = 0;
    model_machine machine = unit_machine("eager", 4, 34);
    machine.ahead = 1000;
    model_result result = model_run(&graph, &machine);
    model_free(&graph);
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(result.tasks[k], 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm2d_on_one_device),
        cmocka_unit_test(test_gemm2d_on_two_devices),
        cmocka_unit_test(test_gemm3d),
        cmocka_unit_test(test_cholesky_set),
        cmocka_unit_test(test_common_datum),
        cmocka_unit_test(test_many_with_common_datum),
        cmocka_unit_test(test_lookahead),
        cmocka_unit_test(test_lookahead_leaves_work_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
