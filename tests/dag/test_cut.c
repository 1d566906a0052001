/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The maximum topological cut: by flow, by looking at all states, and (where GLPK is there) by the linear program of
 * Marchal et al. with its rounding: all thresholds give the optimum.
 */
#include "world.h"

#include "dag/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef DAG_GLPK
#include <glpk.h>
#endif

enum { GRAPHS = 10000, SMALL = 7 };

static void assert_state(const od_dag *dag, const od_dag_phase *phase)
{
    for (uint32_t t = 0; t < dag->ntasks; t++)
        for (uint32_t i = dag->before.first[t]; i < dag->before.first[t + 1]; i++)
            assert_true(phase[t] == OD_DAG_WAITING || phase[dag->before.items[i]] == OD_DAG_ENDED);
}

static int64_t bound_of(const od_dag *dag, od_dag_model model)
{
    od_dag_cut cut;
    bool *held = malloc(dag->ndata + 1);
    assert_int_equal(od_dag_cut_best(dag, model, held, &cut), OD_OK);
    assert_state(dag, cut.phase);
    assert_int_equal(cut.reached, od_dag_state_bytes(dag, model, cut.phase));
    assert_true(cut.reached <= cut.bound);
    if (cut.exact)
        assert_int_equal(cut.reached, cut.bound);
    int64_t bound = cut.bound;
    od_dag_cut_free(&cut);
    free(held);
    return bound;
}

static void check_exact(world_kind kind, uint64_t seed)
{
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_make(&dag, kind, SMALL, &seed);
        for (od_dag_model model = OD_DAG_RESIDENT; model <= OD_DAG_REPLACE; model++)
            assert_int_equal(bound_of(&dag, model), world_maximum_cut(&dag, model));
        od_dag_free(&dag);
    }
}

static void test_trees(void **unused)
{
    (void)unused;
    check_exact(WORLD_TREE, 1);
}

static void test_series_parallel(void **unused)
{
    (void)unused;
    check_exact(WORLD_SERIES_PARALLEL, 2);
}

static void test_general(void **unused)
{
    (void)unused;
    check_exact(WORLD_PRIVATE, 3);
}

/* Between what is reached and the bound. */
static void test_shared(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    uint32_t tight = 0, reached = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        od_dag_cut cut;
        world_make(&dag, WORLD_SHARED, SMALL, &seed);
        od_dag_model model = i % 2 ? OD_DAG_REPLACE : OD_DAG_RESIDENT;
        bool held[64];
        assert_int_equal(od_dag_cut_best(&dag, model, held, &cut), OD_OK);
        int64_t most = world_maximum_cut(&dag, model);
        assert_true(cut.reached <= most && most <= cut.bound);
        assert_int_equal(bound_of(&dag, model), cut.bound);
        tight += most == cut.bound;
        reached += most == cut.reached;
        od_dag_cut_free(&cut);
        od_dag_free(&dag);
    }
    print_message("data with several last readers: the bound is the maximum for %u of %u, the state for %u\n", tight,
                  (unsigned)GRAPHS, reached);
    assert_true(tight > GRAPHS / 4 && reached > GRAPHS / 2);
}

/* Precedences that are added later. */
static void test_incremental(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    for (uint32_t i = 0; i < GRAPHS / 4; i++) {
        od_dag dag;
        od_dag_cut cut;
        od_dag_model model = i % 2 ? OD_DAG_REPLACE : OD_DAG_RESIDENT;
        world_make(&dag, WORLD_PRIVATE, WORLD_MOST, &seed);
        assert_int_equal(od_dag_cut_make(&dag, model, NULL, &cut), OD_OK);
        od_dag_cut_solve(&cut);
        for (uint32_t n = 0; n < 6 && dag.ntasks > 1; n++) {
            uint32_t b = 1 + (uint32_t)random_below(&seed, dag.ntasks - 1), a = (uint32_t)random_below(&seed, b);
            od_dag_add_order(&dag, a, b);
            world_finish(&dag);
            assert_int_equal(od_dag_cut_add(&cut, a, b), OD_OK);
            od_dag_cut_solve(&cut);
            assert_state(&dag, cut.phase);
            assert_int_equal(cut.bound, bound_of(&dag, model));
        }
        od_dag_cut_free(&cut);
        od_dag_free(&dag);
    }
}

/* --- the linear program ------------------------------------------------------------------------- */

#ifdef DAG_GLPK

/* Columns: p of each event, starts before ends, then d of each edge; p of the source is 1, of the target 0. */
typedef struct program {
    glp_prob *lp;
    const od_dag *dag;
    int source, target;
    int from[4096], to[4096];
    int64_t bytes[4096];
    int edges;
} program;

static int start_of(uint32_t t)
{
    return 1 + 2 * (int)t;
}

static int end_of(uint32_t t)
{
    return 2 + 2 * (int)t;
}

static void add_edge(program *p, int from, int to, int64_t bytes)
{
    p->from[p->edges] = from;
    p->to[p->edges] = to;
    p->bytes[p->edges++] = bytes;
    assert_true(p->edges < 4096);
}

static void collect_edges(program *p, od_dag_model model)
{
    const od_dag *dag = p->dag;
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        int from = datum->producer != OD_DAG_NONE ? start_of(datum->producer) : p->source, to = p->target;
        assert_true(datum->nreaders <= 1 && !datum->lazy);
        if (datum->nreaders)
            to = model == OD_DAG_RESIDENT ? end_of(dag->readers[datum->first_reader])
                                          : start_of(dag->readers[datum->first_reader]);
        add_edge(p, from, to, datum->bytes);
        if (datum->nreaders && datum->producer != OD_DAG_NONE)
            add_edge(p, end_of(datum->producer), start_of(dag->readers[datum->first_reader]), 0);
    }
    for (uint32_t i = 0; i < dag->norders; i++)
        add_edge(p, end_of(dag->orders[i].before), start_of(dag->orders[i].after), 0);
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        add_edge(p, p->source, start_of(t), 0);
        add_edge(p, start_of(t), end_of(t), dag->tasks[t].bytes);
        add_edge(p, end_of(t), p->target, 0);
    }
}

/* max sum m d, d = p_i - p_j >= 0, p_s = 1, p_t = 0. */
static void state_program(program *p)
{
    glp_set_obj_dir(p->lp, GLP_MAX);
    glp_add_cols(p->lp, p->target + p->edges);
    for (int i = 1; i <= p->target; i++)
        glp_set_col_bnds(p->lp, i, GLP_DB, 0, 1);
    glp_set_col_bnds(p->lp, p->source, GLP_FX, 1, 1);
    glp_set_col_bnds(p->lp, p->target, GLP_FX, 0, 0);
    glp_add_rows(p->lp, p->edges);
    for (int e = 0; e < p->edges; e++) {
        int columns[] = {0, p->from[e], p->to[e], p->target + 1 + e};
        double values[] = {0, 1, -1, -1};
        glp_set_col_bnds(p->lp, p->target + 1 + e, GLP_LO, 0, 0);
        glp_set_obj_coef(p->lp, p->target + 1 + e, (double)p->bytes[e]);
        glp_set_row_bnds(p->lp, e + 1, GLP_FX, 0, 0);
        glp_set_mat_row(p->lp, e + 1, 3, columns, values);
    }
}

static double rounded(const program *p, double threshold)
{
    double weight = 0;
    for (int e = 0; e < p->edges; e++) {
        bool from = glp_get_col_prim(p->lp, p->from[e]) > threshold, to = glp_get_col_prim(p->lp, p->to[e]) > threshold;
        assert_true(from || !to);
        weight += from && !to ? (double)p->bytes[e] : 0;
    }
    return weight;
}

static void check_program(const od_dag *dag, od_dag_model model, uint64_t *seed)
{
    static program p;
    glp_smcp settings;
    p = (program){
        .lp = glp_create_prob(), .dag = dag, .source = 2 * (int)dag->ntasks + 1, .target = 2 * (int)dag->ntasks + 2};
    collect_edges(&p, model);
    state_program(&p);
    glp_init_smcp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    assert_int_equal(glp_simplex(p.lp, &settings), 0);
    double optimum = glp_get_obj_val(p.lp), bound = (double)bound_of(dag, model);
    assert_true(fabs(optimum - bound) <= 1e-6 * (1 + bound));
    for (int i = 0; i < 5; i++) {
        double threshold = 0.001 + 0.998 * (double)random_below(seed, 1000000) / 1e6;
        assert_true(fabs(rounded(&p, threshold) - bound) <= 1e-6 * (1 + bound));
    }
    glp_delete_prob(p.lp);
}

static void test_linear_program(void **unused)
{
    (void)unused;
    static const world_kind kinds[] = {WORLD_TREE, WORLD_SERIES_PARALLEL, WORLD_PRIVATE, WORLD_PRIVATE};
    uint64_t seed = 6;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        od_dag dag;
        world_make(&dag, kinds[i % 4], WORLD_MOST, &seed);
        check_program(&dag, i / 4 % 2 ? OD_DAG_RESIDENT : OD_DAG_REPLACE, &seed);
        od_dag_free(&dag);
    }
    static const char *const larger[] = {"ligo:300", "montage:300", "layers:400", "series-parallel:400"};
    for (uint32_t i = 0; i < 4; i++) {
        char error[256];
        od_dag dag = {0};
        assert_int_equal(od_dag_generate(larger[i], &dag, error, sizeof error), OD_OK);
        check_program(&dag, OD_DAG_RESIDENT, &seed);
        check_program(&dag, OD_DAG_REPLACE, &seed);
        od_dag_free(&dag);
    }
}

#else

static void test_linear_program(void **unused)
{
    (void)unused;
    print_message("without GLPK (Debian: libglpk-dev): the linear program is not solved\n");
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees),       cmocka_unit_test(test_series_parallel),
                                       cmocka_unit_test(test_general),     cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_incremental), cmocka_unit_test(test_linear_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
