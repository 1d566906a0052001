/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The guard on random graphs, run in random orders: memory never exceeds a bound that the order of submission keeps,
 * every run ends, and nothing ever waits where the bound is the maximum topological cut.
 */
#include "world.h"

#include "dag/memory.h"
#include "sched/guard/banker.h"

#include <stdlib.h>

enum { GRAPHS = 2000, MOST_TASKS = 40, MOST_DATA = 4 * MOST_TASKS };

typedef enum phase { WAITING, RUNNING, ENDED } phase;

/* A graph under the guard. Each datum dies at a step of its own, as where a program frees it. */
typedef struct world {
    const od_dag *dag;
    od_banker *banker;
    od_banker_datum *data;
    od_banker_step *step, *freed; /* of the tasks; of the data */
    phase *phase;
    bool *dead;
    uint64_t *seed;
    int64_t memory; /* what is really there */
    uint32_t ended, running, waits;
} world;

static bool is_made_by_task(const od_dag *dag, uint32_t d)
{
    return dag->data[d].producer != OD_DAG_NONE;
}

static uint32_t last_reader(const world *w, uint32_t d, const uint32_t *position)
{
    const od_dag_datum *datum = &w->dag->data[d];
    uint32_t last = datum->producer;
    for (uint32_t i = 0; i < datum->nreaders; i++) {
        uint32_t reader = w->dag->readers[datum->first_reader + i];
        last = position[reader] > position[last] ? reader : last;
    }
    return last;
}

/* `late`: deaths are known only when they come. */
static void submit(world *w, bool late)
{
    uint32_t *position = calloc(w->dag->ntasks + 1, sizeof *position);
    assert_non_null(position);
    for (uint32_t i = 0; i < w->dag->ntasks; i++)
        position[w->dag->sorted[i]] = i;
    for (uint32_t d = 0; d < w->dag->ndata; d++)
        w->freed[d] = OD_BANKER_NO_STEP;
    for (uint32_t i = 0; i < w->dag->ntasks; i++) {
        uint32_t t = w->dag->sorted[i];
        w->step[t] = od_banker_submit(w->banker, w->dag->tasks[t].seconds);
        for (uint32_t d = 0; d < w->dag->ndata; d++)
            if (w->dag->data[d].producer == t)
                assert_int_equal(od_banker_born(w->banker, &w->data[d], w->step[t], w->dag->data[d].bytes), OD_OK);
        for (uint32_t d = 0; d < w->dag->ndata; d++)
            if (is_made_by_task(w->dag, d) && w->dag->data[d].nreaders && last_reader(w, d, position) == t) {
                w->freed[d] = od_banker_submit(w->banker, 0);
                if (!late)
                    od_banker_dies(w->banker, &w->data[d], w->freed[d]);
            }
    }
    assert_true(od_banker_is_valid(w->banker));
    free(position);
}

static bool is_ready(const world *w, uint32_t t)
{
    for (uint32_t i = w->dag->before.first[t]; i < w->dag->before.first[t + 1]; i++)
        if (w->phase[w->dag->before.items[i]] != ENDED)
            return false;
    return w->phase[t] == WAITING;
}

static bool start(world *w, uint32_t t, int64_t bound)
{
    od_banker_datum *made[MOST_DATA] = {0};
    od_banker_step wait = OD_BANKER_NO_STEP;
    uint32_t n = 0;
    for (uint32_t d = 0; d < w->dag->ndata; d++)
        if (w->dag->data[d].producer == t)
            made[n++] = &w->data[d];
    if (!od_banker_make(w->banker, made, n, &wait)) {
        w->waits++;
        assert_true(wait >= od_banker_front(w->banker) && wait < w->step[t]);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        w->memory += made[i]->bytes;
    assert_true(w->memory <= bound);
    assert_int_equal(w->memory, od_banker_in_memory(w->banker));
    w->phase[t] = RUNNING;
    w->running++;
    return true;
}

static void free_datum(world *w, uint32_t d)
{
    const od_dag_datum *datum = &w->dag->data[d];
    for (uint32_t i = 0; i < datum->nreaders; i++)
        if (w->phase[w->dag->readers[datum->first_reader + i]] != ENDED)
            return;
    w->dead[d] = true;
    w->memory -= datum->bytes;
    od_banker_died(w->banker, &w->data[d]);
    od_banker_end(w->banker, w->freed[d]);
}

static void end(world *w, uint32_t t)
{
    w->phase[t] = ENDED;
    w->running--;
    w->ended++;
    od_banker_end(w->banker, w->step[t]);
    for (uint32_t d = 0; d < w->dag->ndata; d++)
        if (w->freed[d] != OD_BANKER_NO_STEP && !w->dead[d] && w->phase[w->dag->data[d].producer] == ENDED)
            free_datum(w, d);
}

/* From a random task on, the first that can be started, or ended. False: there is none. */
static bool advance(world *w, bool starts, int64_t bound)
{
    uint32_t first = (uint32_t)(random_next(w->seed) % w->dag->ntasks);
    for (uint32_t i = 0; i < w->dag->ntasks; i++) {
        uint32_t t = (first + i) % w->dag->ntasks;
        if (starts && is_ready(w, t) && start(w, t, bound))
            return true;
        if (!starts && w->phase[t] == RUNNING) {
            end(w, t);
            return true;
        }
    }
    return false;
}

/* Runs the graph under the bound; 0: only what the order of submission needs. */
static int64_t needed(const od_dag *dag, bool late, uint64_t *seed, int64_t bound, uint32_t *waits)
{
    world w = {.dag = dag,
               .banker = od_banker_create(bound),
               .data = calloc(dag->ndata + 1, sizeof *w.data),
               .step = calloc(dag->ntasks + 1, sizeof *w.step),
               .freed = calloc(dag->ndata + 1, sizeof *w.freed),
               .phase = calloc(dag->ntasks + 1, sizeof *w.phase),
               .dead = calloc(dag->ndata + 1, sizeof *w.dead),
               .seed = seed};
    assert_true(w.banker && w.data && w.step && w.freed && w.phase && w.dead);
    submit(&w, late);
    int64_t need = od_banker_need(w.banker);
    while (bound && w.ended < dag->ntasks) {
        bool starts = random_next(seed) % 3 > 0;
        assert_true(advance(&w, starts, bound) || advance(&w, !starts, bound));
        assert_true(od_banker_is_valid(w.banker));
    }
    *waits = w.waits;
    od_banker_destroy(w.banker);
    free(w.data);
    free(w.step);
    free(w.freed);
    free(w.phase);
    free(w.dead);
    return need;
}

/* Data that are there from the beginning are none that the guard knows. */
static void drop_initial(od_dag *dag)
{
    for (uint32_t d = 0; d < dag->ndata; d++)
        if (!is_made_by_task(dag, d))
            dag->data[d].bytes = 0;
}

static void check(od_dag *dag, bool late, uint64_t *seed)
{
    uint32_t waits;
    drop_initial(dag);
    int64_t need = needed(dag, false, seed, 0, &waits);
    assert_true(need <= od_dag_peak(dag, OD_DAG_RESIDENT, dag->sorted, NULL));
    od_dag_cut cut;
    bool held[MOST_DATA];
    assert_int_equal(od_dag_cut_best(dag, OD_DAG_RESIDENT, held, &cut), OD_OK);
    int64_t most = cut.bound;
    od_dag_cut_free(&cut);
    assert_true(need <= most);
    for (int i = 0; i < 4; i++)
        needed(dag, late, seed, need + (most - need) * i / 4 + (need == 0), &waits);
    needed(dag, false, seed, most + (most == 0), &waits);
    assert_int_equal(waits, 0);
}

static void test_random(void **unused)
{
    (void)unused;
    uint64_t seed = 27;
    for (int i = 0; i < GRAPHS; i++) {
        od_dag dag = {0};
        world_make(&dag, (world_kind)(i % WORLD_KINDS), i % 2 ? WORLD_MOST : MOST_TASKS, &seed);
        if (dag.ntasks && dag.ndata < MOST_DATA)
            check(&dag, i % 3 == 0, &seed);
        od_dag_free(&dag);
    }
}

/* Two chains of a datum each, of which the first is to come first; only one fits. */
static void test_waits(void **unused)
{
    (void)unused;
    od_banker *g = od_banker_create(10);
    od_banker_datum a = {0}, b = {0}, *data[2] = {&a, &b};
    od_banker_step wait, make_a = od_banker_submit(g, 1), free_a = od_banker_submit(g, 0), make_b = od_banker_submit(g, 2);
    assert_int_equal(od_banker_born(g, &a, make_a, 6), OD_OK);
    od_banker_dies(g, &a, free_a);
    assert_int_equal(od_banker_born(g, &b, make_b, 6), OD_OK);
    assert_int_equal(od_banker_need(g), 6);
    assert_true(od_banker_seconds(g, free_a) > 0.9 && od_banker_seconds(g, make_b) > 2.9);
    assert_false(od_banker_make(g, &data[1], 1, &wait));
    assert_int_equal(wait, free_a);
    assert_true(od_banker_make(g, &data[0], 1, &wait));
    od_banker_end(g, make_a);
    assert_false(od_banker_make(g, &data[1], 1, &wait));
    od_banker_died(g, &a);
    assert_true(od_banker_make(g, &data[1], 1, &wait));
    assert_int_equal(od_banker_in_memory(g), 6);
    od_banker_end(g, free_a);
    assert_int_equal(od_banker_front(g), make_b);
    od_banker_destroy(g);
}

/* What is larger than the bound waits for all before it, and for nothing else. */
static void test_too_large(void **unused)
{
    (void)unused;
    od_banker *g = od_banker_create(10);
    od_banker_datum d = {0}, *data = &d;
    od_banker_step first = od_banker_submit(g, 1), second = od_banker_submit(g, 1);
    assert_int_equal(od_banker_born(g, &d, second, 100), OD_OK);
    assert_int_equal(od_banker_need(g), 100);
    assert_false(od_banker_make(g, &data, 1, NULL));
    od_banker_end(g, first);
    assert_true(od_banker_make(g, &data, 1, NULL));
    od_banker_destroy(g);
}

/* Many more steps than the tree has room for at first, most of them ended. */
static void test_long(void **unused)
{
    (void)unused;
    enum { STEPS = 20000, AHEAD = 100 };
    od_banker *g = od_banker_create(30);
    od_banker_datum d[AHEAD] = {0};
    for (int i = 0; i < STEPS; i++) {
        od_banker_datum *one = &d[i % AHEAD];
        if (i >= AHEAD) {
            assert_true(one->made || od_banker_make(g, &one, 1, NULL));
            od_banker_died(g, one);
            od_banker_end(g, (od_banker_step)(2 * (i - AHEAD)));
            od_banker_end(g, (od_banker_step)(2 * (i - AHEAD) + 1));
        }
        assert_int_equal(od_banker_born(g, one, od_banker_submit(g, 1), 1), OD_OK);
        od_banker_dies(g, one, od_banker_submit(g, 0));
        assert_int_equal(od_banker_need(g), 1);
        if (i % 500 == 0)
            assert_true(od_banker_is_valid(g));
    }
    od_banker_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_too_large), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
