/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Partial serialisation keeps its bound, says so truly, and adds nothing that is not needed. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 3000, SMALL = 7, MOST = 1000 };

/* Taking any of the added orders away breaks the bound. */
static void assert_needed(od_dag *dag, od_dag_model model, uint32_t added, int64_t bound)
{
    for (uint32_t i = dag->norders - added; i < dag->norders; i++) {
        od_dag_order taken = dag->orders[i];
        dag->orders[i] = dag->orders[--dag->norders];
        world_finish(dag);
        assert_true(world_maximum_cut(dag, model) > bound);
        dag->orders[dag->norders++] = dag->orders[i];
        dag->orders[i] = taken;
    }
    world_finish(dag);
}

static bool serialize(od_dag *dag, od_dag_model model, od_dag_rule rule, int64_t bound, const uint32_t *order,
                      bool exact)
{
    od_dag_serialized result;
    uint32_t before = dag->norders;
    double path = od_dag_critical_path(dag, NULL, NULL);
    assert_int_equal(od_dag_serialize(dag, model, rule, bound, order, MOST, &result), OD_OK);
    assert_int_equal(dag->norders, before + result.added);
    int64_t most = world_maximum_cut(dag, model);
    assert_true(most <= result.peak && result.path >= path);
    assert_int_equal(result.kept, result.peak <= bound);
    if (result.kept && exact)
        assert_needed(dag, model, result.added, bound);
    dag->norders = before;
    world_finish(dag);
    return result.kept;
}

static void check(world_kind kind, uint64_t seed, bool exact)
{
    uint32_t kept[OD_DAG_RULES] = {0}, tried = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        uint32_t order[WORLD_MOST];
        od_dag_series found;
        od_dag_model model = i % 2 ? OD_DAG_REPLACE : OD_DAG_RESIDENT;
        world_make(&dag, kind, SMALL, &seed);
        assert_int_equal(od_dag_depth_first(&dag, order), OD_OK);
        assert_int_equal(od_dag_series_parallel(&dag, model, order, order, &found), OD_OK);
        int64_t least = od_dag_peak(&dag, model, order, NULL), most = world_maximum_cut(&dag, model);
        for (int64_t bound = least; bound <= most; bound += 1 + (most - least) / 3, tried++)
            for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++)
                kept[rule] += serialize(&dag, model, rule, bound, order, exact);
        od_dag_free(&dag);
    }
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++) {
        print_message("%s: %u of %u bounds kept\n", od_dag_rule_names[rule], kept[rule], tried);
        assert_true(rule == OD_DAG_RESPECT_ORDER ? kept[rule] == tried : kept[rule] > tried / 2);
    }
}

static void test_private(void **unused)
{
    (void)unused;
    check(WORLD_PRIVATE, 1, true);
}

static void test_shared(void **unused)
{
    (void)unused;
    check(WORLD_SHARED, 2, false);
}

static void test_trees(void **unused)
{
    (void)unused;
    check(WORLD_TREE, 3, true);
}

/* What cannot be kept is not said to be. */
static void test_too_low(void **unused)
{
    (void)unused;
    od_dag dag = {0};
    od_dag_serialized result;
    uint32_t a = od_dag_add_task(&dag, "a", 1, 0), b = od_dag_add_task(&dag, "b", 1, 0), order[] = {a, b};
    world_edge(&dag, a, b, 10);
    world_finish(&dag);
    for (od_dag_rule rule = 0; rule < OD_DAG_RULES; rule++) {
        assert_int_equal(od_dag_serialize(&dag, OD_DAG_RESIDENT, rule, 9, order, MOST, &result), OD_OK);
        assert_true(!result.kept && result.peak == 10);
    }
    od_dag_free(&dag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_private), cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_trees), cmocka_unit_test(test_too_low)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
