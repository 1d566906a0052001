/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Orders of one processor are what they claim to be: for 10,000 random graphs of each kind, beside all orders. */
#include "world.h"

#include "dag/generate.h"

#include <stdio.h>
#include <stdlib.h>

enum { GRAPHS = 10000, SMALL = 9 };

typedef od_status (*order_function)(const od_dag *dag, od_dag_model model, uint32_t *order);

static int64_t peak_of(const od_dag *dag, od_dag_model model, order_function function)
{
    uint32_t *order = malloc((dag->ntasks + 1) * sizeof *order);
    assert_non_null(order);
    assert_int_equal(function(dag, model, order), OD_OK);
    world_assert_order(dag, order);
    int64_t peak = od_dag_peak(dag, model, order, NULL);
    free(order);
    return peak;
}

static int64_t series_peak(const od_dag *dag, od_dag_model model, int64_t *start, od_dag_series *found)
{
    uint32_t *order = malloc((dag->ntasks + 1) * sizeof *order);
    assert_non_null(order);
    assert_int_equal(od_dag_depth_first(dag, order), OD_OK);
    world_assert_order(dag, order);
    *start = od_dag_peak(dag, model, order, NULL);
    assert_int_equal(od_dag_series_parallel(dag, model, order, order, found), OD_OK);
    world_assert_order(dag, order);
    int64_t peak = od_dag_peak(dag, model, order, NULL);
    free(order);
    return peak;
}

static void check_tree(const od_dag *dag, world_kind kind, od_dag_model model, uint32_t *worse)
{
    od_dag_series found;
    int64_t start, best = world_best_peak(dag, model), postorder = peak_of(dag, model, od_dag_postorder);
    assert_int_equal(peak_of(dag, model, od_dag_liu), best);
    assert_int_equal(series_peak(dag, model, &start, &found), best);
    assert_true(found.optimal);
    if (kind == WORLD_TREE)
        assert_int_equal(postorder, world_best_postorder(dag, model));
    assert_true(postorder >= best);
    *worse += postorder > best;
}

static void test_trees(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    uint32_t worse = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_kind kind = i % 2 ? WORLD_TREE : WORLD_OUT_TREE;
        world_make(&dag, kind, SMALL, &seed);
        assert_int_not_equal(od_dag_tree_shape(&dag), OD_DAG_GENERAL);
        check_tree(&dag, kind, OD_DAG_RESIDENT, &worse);
        check_tree(&dag, kind, OD_DAG_REPLACE, &worse);
        od_dag_free(&dag);
    }
    assert_in_range(worse, 1, GRAPHS); /* postorders are not always optimal */
}

static void test_series_parallel(void **unused)
{
    (void)unused;
    uint64_t seed = 2;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_make(&dag, WORLD_SERIES_PARALLEL, SMALL, &seed);
        for (od_dag_model model = OD_DAG_RESIDENT; model <= OD_DAG_REPLACE; model++) {
            od_dag_series found;
            int64_t start, peak = series_peak(&dag, model, &start, &found);
            assert_true(found.optimal && !found.synchronisations);
            assert_int_equal(peak, world_best_peak(&dag, model));
        }
        od_dag_free(&dag);
    }
}

/* Never worse than the start; optimal where it says so. */
static void check_general(const od_dag *dag, od_dag_model model, uint32_t *optimal, uint32_t *synchronised)
{
    od_dag_series found;
    int64_t start, peak = series_peak(dag, model, &start, &found), best = world_best_peak(dag, model);
    assert_true(peak >= best);
    if (found.optimal)
        assert_int_equal(peak, best);
    *synchronised += found.synchronisations > 0;
    *optimal += found.synchronisations && peak == best;
}

static void test_general(void **unused)
{
    (void)unused;
    uint64_t seed = 3;
    uint32_t optimal = 0, synchronised = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_make(&dag, WORLD_PRIVATE, SMALL, &seed);
        for (od_dag_model model = OD_DAG_RESIDENT; model <= OD_DAG_REPLACE; model++) {
            od_dag_series found;
            int64_t start, peak = series_peak(&dag, model, &start, &found);
            assert_true(peak <= start);
            check_general(&dag, model, &optimal, &synchronised);
        }
        od_dag_free(&dag);
    }
    print_message("%u of %u graphs that are not series-parallel: the optimum\n", optimal, synchronised);
    assert_true(synchronised > GRAPHS / 4 && optimal > synchronised / 2);
}

static void test_shared(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    uint32_t optimal = 0, synchronised = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_make(&dag, WORLD_SHARED, SMALL, &seed);
        check_general(&dag, OD_DAG_RESIDENT, &optimal, &synchronised);
        check_general(&dag, OD_DAG_REPLACE, &optimal, &synchronised);
        od_dag_free(&dag);
    }
}

/* Too large to look at all orders: two algorithms, one optimum. */
static void test_large_trees(void **unused)
{
    (void)unused;
    for (uint32_t i = 0; i < 200; i++) {
        char what[64], error[256];
        od_dag dag = {0};
        od_dag_series found;
        int64_t start;
        snprintf(what, sizeof what, "%s:%u:%u", i % 2 ? "tree" : "out-tree", 10 + 7 * i, i);
        assert_int_equal(od_dag_generate(what, &dag, error, sizeof error), OD_OK);
        od_dag_model model = i % 4 < 2 ? OD_DAG_RESIDENT : OD_DAG_REPLACE;
        assert_int_equal(peak_of(&dag, model, od_dag_liu), series_peak(&dag, model, &start, &found));
        assert_true(found.optimal);
        od_dag_free(&dag);
    }
}

/* The slides' tree in which postorders are bad: b chains M -> e -> M/b, of which one subtree is again such a tree. */
static void test_bad_postorder(void **unused)
{
    (void)unused;
    enum { BRANCHES = 4, MEMORY = 400, SMALL_DATUM = 1 };
    od_dag dag = {0};
    uint32_t root = od_dag_add_task(&dag, "root", 1, 0);
    for (uint32_t b = 0; b < BRANCHES; b++) {
        uint32_t third = od_dag_add_task(&dag, "c", 1, 0), second = od_dag_add_task(&dag, "b", 1, 0);
        world_edge(&dag, third, root, MEMORY / BRANCHES);
        world_edge(&dag, second, third, SMALL_DATUM);
        world_edge(&dag, od_dag_add_task(&dag, "a", 1, 0), second, MEMORY);
    }
    world_finish(&dag);
    assert_int_equal(peak_of(&dag, OD_DAG_REPLACE, od_dag_liu), MEMORY + (BRANCHES - 1) * SMALL_DATUM);
    assert_int_equal(peak_of(&dag, OD_DAG_REPLACE, od_dag_postorder), MEMORY + (BRANCHES - 1) * MEMORY / BRANCHES);
    od_dag_free(&dag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees),       cmocka_unit_test(test_series_parallel),
                                       cmocka_unit_test(test_general),     cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_large_trees), cmocka_unit_test(test_bad_postorder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
