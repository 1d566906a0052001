/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Task graphs, workloads and the papers' bounds. */
#include "world.h"

#include <math.h>
#include <string.h>

static void expect(const char *text, uint32_t ntasks, uint32_t ndata, uint32_t nbefore)
{
    sim_workload workload;
    sim_graph graph = world_workload(text, 1, &workload);
    assert_int_equal(graph.ntasks, ntasks);
    assert_int_equal(graph.ndata, ndata);
    assert_int_equal(graph.nbefore, nbefore);
    sim_graph_free(&graph);
}

static void test_sizes(void **unused)
{
    (void)unused;
    expect("gemm2d:n=7", 49, 14, 0);
    expect("gemm2d-random:n=7", 49, 14, 0);
    expect("pairs:n=7", 49, 14, 0);
    expect("sparse2d:n=10,density=10%", 10, 20, 0);
    expect("gemm3d:n=4", 64, 48, 16 * 3);
    expect("gemm3d-set:n=4", 64, 48, 0);
    expect("cholesky-set:n=4", 20, 10, 0);
    /* Cholesky of 2 x 2 tiles: potrf, trsm, syrk, potrf in a chain. */
    expect("cholesky:n=2", 4, 3, 3);
    /* LU of 2 x 2 tiles: getrf before two trsm, both before gemm, which is before getrf. */
    expect("lu:n=2", 5, 4, 5);
    /* QR: geqrt before unmqr and tsqrt, both before tsmqr, tsqrt after geqrt; then geqrt. */
    expect("qr:n=2", 5, 8, 5);
}

/* Dependences lead backwards and name no task twice; accesses of one task name no datum twice. */
static void check_structure(const sim_graph *graph)
{
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        const sim_task *task = &graph->tasks[t];
        for (uint32_t i = 0; i < task->nbefore; i++) {
            assert_true(graph->before[task->first_before + i] < t);
            for (uint32_t j = 0; j < i; j++)
                assert_int_not_equal(graph->before[task->first_before + i], graph->before[task->first_before + j]);
        }
        for (uint32_t i = 0; i < task->naccess; i++)
            for (uint32_t j = 0; j < i; j++)
                assert_int_not_equal(graph->accesses[task->first_access + i].datum,
                                     graph->accesses[task->first_access + j].datum);
    }
}

static void test_structure(void **unused)
{
    (void)unused;
    for (const char *const *name = sim_workload_help(); *name; name += 2)
        for (uint32_t n = 1; n < 8; n++) {
            char text[64];
            sim_workload workload;
            snprintf(text, sizeof text, "%s:n=%u", *name, n);
            sim_graph graph = world_workload(text, n, &workload);
            check_structure(&graph);
            sim_graph_free(&graph);
        }
}

static bool conflict(const sim_graph *graph, uint32_t a, uint32_t b)
{
    const sim_task *one = &graph->tasks[a], *other = &graph->tasks[b];
    for (uint32_t i = 0; i < one->naccess; i++)
        for (uint32_t j = 0; j < other->naccess; j++) {
            const sim_access *x = &graph->accesses[one->first_access + i];
            const sim_access *y = &graph->accesses[other->first_access + j];
            if (x->datum == y->datum && ((x->mode | y->mode) & OD_WRITE))
                return true;
        }
    return false;
}

enum { MOST = 40 };

/* Two tasks are ordered, perhaps through others, where they conflict, and only where a chain of conflicts joins
 * them. */
static void test_dependences(void **unused)
{
    (void)unused;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        uint64_t state = seed;
        bool ordered[MOST][MOST] = {{0}}, needed[MOST][MOST] = {{0}};
        sim_graph graph = {0};
        uint32_t kernel = sim_graph_kernel(&graph, "any", 1, 1);
        for (int d = 0; d < 6; d++)
            sim_graph_datum(&graph, &(sim_datum){.bytes = 1});
        for (uint32_t t = 0; t < MOST; t++) {
            sim_graph_task(&graph, &(sim_task){.kernel = kernel});
            for (uint32_t d = 0; d < 6; d++) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
                uint32_t draw = (uint32_t)(state >> 33) % 8;
                if (draw < 3)
                    sim_graph_access(&graph, d, draw == 0 ? OD_WRITE : draw == 1 ? OD_READ_WRITE : OD_READ);
            }
        }
        sim_graph_depend(&graph);
        check_structure(&graph);
        for (uint32_t t = 0; t < MOST; t++) {
            for (uint32_t i = 0; i < graph.tasks[t].nbefore; i++) {
                uint32_t p = graph.before[graph.tasks[t].first_before + i];
                ordered[p][t] = true;
                for (uint32_t q = 0; q < p; q++)
                    ordered[q][t] |= ordered[q][p];
            }
            for (uint32_t p = 0; p < t; p++)
                if (conflict(&graph, p, t)) {
                    needed[p][t] = true;
                    for (uint32_t q = 0; q < p; q++)
                        needed[q][t] |= needed[q][p];
                }
        }
        assert_memory_equal(ordered, needed, sizeof ordered);
        sim_graph_free(&graph);
    }
}

static void test_random_order(void **unused)
{
    (void)unused;
    sim_workload workload;
    sim_graph one = world_workload("gemm2d-random:n=8", 3, &workload),
              same = world_workload("gemm2d-random:n=8", 3, &workload);
    sim_graph other = world_workload("gemm2d-random:n=8", 4, &workload);
    bool seen[64] = {false};
    assert_memory_equal(one.accesses, same.accesses, one.naccesses * sizeof *one.accesses);
    assert_memory_not_equal(one.accesses, other.accesses, one.naccesses * sizeof *one.accesses);
    for (uint32_t t = 0; t < one.ntasks; t++)
        seen[one.tasks[t].coordinate[0] * 8 + one.tasks[t].coordinate[1]] = true;
    for (int i = 0; i < 64; i++)
        assert_true(seen[i]);
    sim_graph_free(&one);
    sim_graph_free(&same);
    sim_graph_free(&other);
}

static void refuse(const char *text, const char *message)
{
    char error[256] = "";
    sim_workload workload = {0};
    assert_int_equal(sim_workload_parse(text, &workload, error, sizeof error), OD_EINVAL);
    if (!strstr(error, message))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, error, message);
}

static void test_bad_input(void **unused)
{
    (void)unused;
    refuse("", "unknown workload");
    refuse("choleski", "did you mean 'cholesky'");
    refuse("lu:", "no argument");
    refuse("lu:m=3", "no argument 'm'");
    refuse("lu:n", "not a whole number");
    refuse("lu:n=0", "not a whole number");
    refuse("lu:n=-1", "not a whole number");
    refuse("lu:n=4x", "not a whole number");
    refuse("lu:depth=4", "no argument 'depth'");
    refuse("sparse2d:density=0", "above 0");
    refuse("sparse2d:density=200%", "above 0");
    refuse("lu:unit=2", "0 or 1");
}

static double formula(const char *text, double memory)
{
    sim_workload workload;
    sim_graph graph = world_workload(text, 1, &workload);
    sim_graph_free(&graph);
    return sim_bound_formula(&workload, memory);
}

/* By hand, in data of one byte. */
static void test_bounds(void **unused)
{
    (void)unused;
    /* Thesis 3.5.1: floor(60^2 / 34^2) 34 + 34 = 3 * 34 + 34. */
    world_near(formula("gemm2d:n=60,unit=1", 34), 136, 1e-9);
    /* Both matrices fit: 2 * 10. */
    world_near(formula("gemm2d:n=10,unit=1", 100), 20, 1e-9);
    /* Thesis 3.5.2: 2 * 100 * floor(16^3 / (100 * 10)). */
    world_near(formula("gemm3d:n=16,unit=1", 100), 800, 1e-9);
    /* Thesis 5.4: 20^3 / (3 sqrt(2 * 50)). */
    world_near(formula("cholesky:n=20,unit=1", 50), 8000. / 30, 1e-9);
    /* Thesis 5.5: 2 * 20^3 / (3 sqrt(100)). */
    world_near(formula("lu:n=20,unit=1", 100), 16000. / 30, 1e-9);
    world_near(formula("qr:n=20,unit=1", 100), 0, 0);
    /* The same in bytes: tiles of 2 x 2 floats are 16 bytes. */
    world_near(formula("lu:n=20,tile=2", 1600), 16 * 16000. / 30, 1e-6);
    world_near(formula("gemm2d:n=60,tile=2,depth=3", 34 * 48), 136 * 48, 1e-6);
}

static void test_compulsory(void **unused)
{
    (void)unused;
    sim_workload workload;
    sim_graph product = world_workload("gemm3d:n=3,unit=1", 1, &workload),
              qr = world_workload("qr:n=2,tile=64", 1, &workload);
    world_near(sim_bound_compulsory(&product), 18, 0); /* C is written first */
    world_near(sim_bound_compulsory(&qr), 4. * 64 * 64 * SIM_ELEMENT, 0);
    sim_graph_free(&product);
    sim_graph_free(&qr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_structure), cmocka_unit_test(test_dependences),
        cmocka_unit_test(test_random_order), cmocka_unit_test(test_bad_input), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_compulsory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
