/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recursive workloads. Whatever is split, in whatever order tasks run: they respect the dependences of the sequential
 * program on the smallest blocks, and do all of its work.
 */
#include "sim/recursion/recursion.h"
#include "tests/unit/random.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* --- a rule that splits at random ---------------------------------------------------------- */

static uint64_t seed = 26;

static od_status create(const od_split_view *view, unsigned level, void **state, char *error, size_t size)
{
    (void)level, (void)error, (void)size;
    *state = (void *)(uintptr_t)view;
    return OD_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static bool holds(void *state)
{
    (void)state;
    return random_below(&seed, 2);
}

static od_split_answer decide(void *state, od_split_task *task)
{
    const od_split_view *view = state;
    od_split_answer answer = (od_split_answer)random_below(&seed, 3);
    assert_true(task->level + 1 < view->nlevels);
    if (answer == OD_SPLIT_SPLIT && random_below(&seed, 4) == 0)
        task->plan =
            (od_split_plan){.to = (uint8_t)(task->level + 1 + random_below(&seed, view->nlevels - task->level - 1)),
                            .on_host = (uint32_t)seed};
    return answer;
}

static const od_split_ops any_rule = {
    .name = "any", .holds = holds, .create = create, .destroy = destroy, .decide = decide};

/* --- order ----------------------------------------------------------------------------------- */

typedef struct running {
    uint32_t task, nuses;
    sim_access uses[SIM_MOST_BLOCKS];
} running;

/* What runs at once does not conflict. */
static bool conflicts(const running *a, const running *b)
{
    for (uint32_t i = 0; i < a->nuses; i++)
        for (uint32_t j = 0; j < b->nuses; j++)
            if (a->uses[i].datum == b->uses[j].datum && ((a->uses[i].mode | b->uses[j].mode) & OD_WRITE))
                return true;
    return false;
}

static double seconds(void *arg, const sim_kernel *kernel)
{
    (void)arg;
    return kernel->flops * 1e-9;
}

static double no_seconds(void *arg, const sim_kernel *kernel)
{
    (void)arg, (void)kernel;
    return 0;
}

/* --- the sequential program, on numbers -------------------------------------------------------- */

/* Blocks are numbers, and a task of the last level a function of those it uses that depends on their order: equal results
 * mean that each task has found what it finds in the sequential program. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 29);
}

static void run_leaf(sim_op op, const uint32_t *block, uint64_t *value)
{
    unsigned n = sim_ops[op].noperands;
    uint64_t result = (uint64_t)(op == SIM_GEMM_FIRST ? SIM_GEMM : op);
    for (unsigned i = 0; i < n; i++)
        if (op != SIM_GEMM_FIRST || i + 1 < n)
            result = mix(result, value[block[i]]);
    value[block[n - 1]] = result;
}

/* A task of blocks: where each of its operands begins, and how many there are per side. */
typedef struct tile {
    uint32_t row, column;
    unsigned matrix;
} tile;

typedef struct numbers {
    bool triangular;
    uint32_t side;
    uint64_t *value;
} numbers;

static uint32_t block_at(const numbers *m, unsigned matrix, uint32_t row, uint32_t column)
{
    return m->triangular ? row * (row + 1) / 2 + column : (matrix * m->side + row) * m->side + column;
}

/* Recursively, through the given factors; the last one is 1. */
static void run_tile(const numbers *m, sim_op op, const tile *tiles, unsigned span, unsigned parts)
{
    if (span == 1) {
        uint32_t block[SIM_OPERANDS];
        for (unsigned i = 0; i < sim_ops[op].noperands; i++)
            block[i] = block_at(m, tiles[i].matrix, tiles[i].row, tiles[i].column);
        run_leaf(op, block, m->value);
        return;
    }
    sim_children c;
    sim_children_make(op, parts, &c);
    for (uint32_t t = 0; t < c.count; t++) {
        tile child[SIM_OPERANDS];
        for (unsigned i = 0; i < sim_ops[c.items[t].op].noperands; i++) {
            child[i] = tiles[c.items[t].place[i].operand];
            child[i].row += c.items[t].place[i].row * span / parts;
            child[i].column += c.items[t].place[i].column * span / parts;
        }
        run_tile(m, c.items[t].op, child, span / parts, span / parts);
    }
    sim_children_free(&c);
}

/* The blocks of an operand in the order of sim_recursion_uses() begin with its corner. */
static void run_task(const numbers *m, const sim_graph *graph, const sim_recursive_task *about, const running *r,
                     unsigned span)
{
    tile tiles[SIM_OPERANDS] = {0};
    uint32_t at = 0;
    for (unsigned i = 0; i < sim_ops[about->op].noperands; i++) {
        const sim_datum *d = &graph->data[r->uses[at].datum];
        tiles[i] = (tile){d->row, d->column, d->matrix};
        at += sim_ops[about->op].operand[i].part == SIM_WHOLE ? span * span : span * (span + 1) / 2;
    }
    assert_int_equal(at, r->nuses);
    run_tile(m, about->op, tiles, span, span);
}

static uint64_t *fresh(uint32_t n)
{
    uint64_t *value = sim_checked(malloc(n * sizeof *value));
    for (uint32_t b = 0; b < n; b++)
        value[b] = b;
    return value;
}

/* The whole workload on its smallest blocks. */
static uint64_t *sequential(const sim_workload *w, const sim_graph *graph, numbers *m)
{
    sim_op root = strcmp(w->name, "cholesky") == 0 ? SIM_POTRF
                  : strcmp(w->name, "lu") == 0     ? SIM_GETRF
                                                   : SIM_GEMM_FIRST;
    tile tiles[SIM_OPERANDS] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}};
    uint32_t side = w->n * w->level[0] / w->level[w->nlevels - 1];
    *m = (numbers){root == SIM_POTRF, side, fresh(graph->ndata)};
    run_tile(m, root, tiles, side, side);
    return m->value;
}

/* --- any order -------------------------------------------------------------------------------- */

static void run_any(const sim_workload *w, const od_split_ops *rule)
{
    enum { AT_ONCE = 8 };
    char error[256] = "";
    sim_graph graph;
    numbers m;
    sim_recursion_data(w, &graph);
    uint64_t *expected = sequential(w, &graph, &m);
    m.value = fresh(graph.ndata);
    sim_recursion_config config = {.workload = w,
                                   .graph = &graph,
                                   .rule = {rule, 1},
                                   .ndevices = 2,
                                   .cpus = 2,
                                   .buffer = 2,
                                   .device_seconds = seconds,
                                   .host_seconds = no_seconds};
    sim_recursion *r = sim_recursion_create(&config, error, sizeof error);
    assert_non_null(r);
    running *now = sim_checked(calloc(AT_ONCE, sizeof *now));
    unsigned count = 0;
    double flops = 0;
    while (!sim_recursion_is_done(r)) {
        uint32_t task;
        while (count < AT_ONCE && random_below(&seed, 4) && sim_recursion_next(r, &task)) {
            running *new = &now[count];
            *new = (running){.task = task};
            new->nuses = sim_recursion_uses(r, task, new->uses);
            for (unsigned i = 0; i < count; i++)
                assert_false(conflicts(&now[i], new));
            count++;
        }
        if (count == 0)
            continue;
        unsigned i = (unsigned)random_below(&seed, count);
        sim_recursive_task about = sim_recursion_task(r, now[i].task);
        run_task(&m, &graph, &about, &now[i], w->level[about.level] / w->level[w->nlevels - 1]);
        flops += graph.kernels[about.kernel].flops;
        sim_recursion_done(r, now[i].task);
        now[i] = now[--count];
        if (graph.ndata < 200)
            assert_true(sim_recursion_is_valid(r));
    }
    assert_memory_equal(m.value, expected, graph.ndata * sizeof *expected);
    const od_split_view *view = sim_recursion_view(r);
    assert_true(view->work_s < 1e-9 * flops * 1e-9 && view->queued_s < 1e-9 * flops * 1e-9);
    free(now);
    free(expected);
    free(m.value);
    sim_recursion_destroy(r);
    sim_graph_free(&graph);
}

static void test_any_order(void **unused)
{
    static const char *const texts[] = {"cholesky:n=3,levels=8/4/1", "cholesky:n=2,levels=8/4/2/1",
                                        "cholesky:n=5,levels=4/1",   "cholesky:n=1,levels=6/3/1",
                                        "lu:n=3,levels=4/2/1",       "lu:n=2,levels=8/2/1",
                                        "gemm3d:n=2,levels=4/2/1",   "gemm3d:n=3,levels=3/1"};
    (void)unused;
    for (int i = 0; i < 5; i++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            char error[256] = "";
            sim_workload w = {0};
            assert_int_equal(sim_workload_parse(texts[t], &w, error, sizeof error), OD_OK);
            run_any(&w, &any_rule);
            for (const char *const *name = od_split_names(); i == 0 && *name; name++)
                if (strcmp(*name, "lp") != 0) /* GLPK may be missing */
                    run_any(&w, od_split_find(*name));
        }
}

/* --- against ordinary workloads ------------------------------------------------------------------ */

/* Without a split, the tasks of the ordinary workload. */
static void test_same_tasks(void **unused)
{
    static const char *const names[] = {"cholesky", "lu", "gemm3d"};
    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[64];
        sim_workload w;
        snprintf(text, sizeof text, "%s:n=7,tile=480", names[i]);
        sim_graph graph = world_workload(text, 1, &w);
        sim_children program;
        sim_children_make(i == 0 ? SIM_POTRF : i == 1 ? SIM_GETRF : SIM_GEMM_FIRST, 7, &program);
        double flops = 0;
        for (uint32_t t = 0; t < program.count; t++)
            flops += sim_ops[program.items[t].op].flops * 480. * 480 * 480;
        assert_int_equal(program.count, graph.ntasks);
        world_near(flops, sim_graph_flops(&graph), 1e-9 * flops);
        od_split_graph edges;
        sim_children_graph(&program, &edges);
        assert_int_equal(edges.first_before[edges.ntasks], graph.nbefore);
        sim_split_graph_free(&edges);
        sim_children_free(&program);
        sim_graph_free(&graph);
    }
}

/* --- bad input ------------------------------------------------------------------------------------ */

static void refused(const char *text)
{
    char error[256] = "";
    sim_workload w = {0};
    assert_int_equal(sim_workload_parse(text, &w, error, sizeof error), OD_EINVAL);
    assert_non_null(strstr(error, "levels="));
    assert_null(strchr(error, '\n'));
}

static void test_bad_levels(void **unused)
{
    (void)unused;
    refused("cholesky:levels=");
    refused("cholesky:levels=3840/");
    refused("cholesky:levels=3840/1921");
    refused("cholesky:levels=480/960");
    refused("cholesky:levels=960/960");
    refused("cholesky:levels=3840/240"); /* a sixteenth */
    refused("cholesky:levels=-1");
    refused("cholesky:levels=99999999999999999999");
    refused("cholesky:levels=256/128/64/32/16/8/4/2/1");
    refused("cholesky:levels=960/480,tile=480");
    refused("cholesky:levels=960/480,unit=1");
    refused("cholesky:n=257,levels=960/480");
    char error[256];
    sim_workload w = {0};
    assert_int_equal(sim_workload_parse("qr:levels=960/480", &w, error, sizeof error), OD_EINVAL);
    assert_null(strstr(error, "levels=,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_same_tasks),
        cmocka_unit_test(test_bad_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
