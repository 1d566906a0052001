/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many loads the static policies need in the papers' model: the engine on virtual time, unit data, unit tasks, all
 * ready at once, task buffers of five, each policy with the rule that it asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/policy/model.h"

/* The lower bound of the two-dimensional product (thesis, 3.5.1). */
static double bound_2d(uint32_t n, uint32_t m)
{
    return n * n / (m * m) * m + (m < 2 * n ? m : 2 * n);
}

/* A load takes a hundredth of a task's time. */
static model_result run(const model_graph *graph, const char *policy, const char *evict, unsigned ndevices,
                        size_t memory)
{
    model_machine machine = {.ndevices = ndevices,
                             .memory = memory,
                             .buffer = 5,
                             .bandwidth = 1e5,
                             .policy = policy,
                             .evict = evict,
                             .seed = 1};
    model_result result = model_run(graph, &machine);
    print_message("%-16s %-7s %u devices, memory %3zu: %4lu loads\n", policy, evict ? evict : "", ndevices, memory,
                  (unsigned long)result.loads);
    for (unsigned k = 0; k < ndevices; k++)
        assert_true((double)result.tasks[k] * ndevices <= 1.02 * graph->ntasks);
    return result;
}

static double loads(const model_graph *graph, const char *policy, const char *evict, unsigned ndevices, size_t memory)
{
    return (double)run(graph, policy, evict, ndevices, memory).loads;
}

static void test_gemm2d_on_one_device(void **unused)
{
    (void)unused;
    model_graph graph = model_gemm2d(60);
    double bound = bound_2d(60, 34), hfp = loads(&graph, "hfp", NULL, 1, 34);
    assert_true(hfp <= 2.0 * bound);
    assert_true(loads(&graph, "mhfp", NULL, 1, 34) == hfp);
    assert_true(loads(&graph, "hfp:faststart", NULL, 1, 34) <= 2.0 * bound);
    assert_true(loads(&graph, "hfp:flip=0", NULL, 1, 34) > hfp);
    assert_true(loads(&graph, "hfp", "lru", 1, 34) > hfp);
    /* Row by row, as the thesis finds: Belady's rule halves the loads, and does not make the orders good ones. */
    assert_true(loads(&graph, "mst", NULL, 1, 34) > 10 * bound);
    assert_true(loads(&graph, "rcm", NULL, 1, 34) > 10 * bound);
    model_shuffle(&graph, 7);
    assert_true(loads(&graph, "hfp", NULL, 1, 34) <= 2.5 * bound);
    assert_true(loads(&graph, "hfp:sort=0", NULL, 1, 34) > 4 * bound);
    model_free(&graph);
}

static void test_several_devices(void **unused)
{
    (void)unused;
    model_graph graph = model_gemm2d(60);
    double bound = bound_2d(60, 34);
    assert_true(loads(&graph, "mhfp", NULL, 2, 34) <= 2.5 * bound);
    assert_true(loads(&graph, "mhfp", NULL, 4, 34) <= 3 * bound);
    assert_true(loads(&graph, "hfp", NULL, 4, 34) <= 3 * bound);
    assert_true(loads(&graph, "mhfp:interlace", NULL, 4, 34) <= 4 * bound);
    assert_true(loads(&graph, "mhfp:mhfp2", NULL, 4, 34) <= 4 * bound);
    model_free(&graph);
}

static void test_other_task_sets(void **unused)
{
    (void)unused;
    model_graph product = model_gemm3d(10), cholesky = model_cholesky_set(20);
    assert_true(loads(&product, "hfp", NULL, 1, 100) <= 400);
    assert_true(loads(&cholesky, "hfp", NULL, 1, 60) <= 600);
    model_free(&product);
    model_free(&cholesky);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm2d_on_one_device),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_other_task_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
