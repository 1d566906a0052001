/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- random graphs ---------------------------------------------------------------------------- */

static uint32_t new_task(od_dag *dag, uint64_t *seed)
{
    char name[16];
    snprintf(name, sizeof name, "t%u", dag->ntasks);
    int64_t own = random_below(seed, 3) ? 0 : (int64_t)random_below(seed, 6);
    return od_dag_add_task(dag, name, (double)(1 + random_below(seed, 5)), own);
}

void world_edge(od_dag *dag, uint32_t from, uint32_t to, int64_t bytes)
{
    assert_int_not_equal(od_dag_add_datum(dag, bytes, from, false), OD_DAG_NONE);
    assert_int_not_equal(od_dag_add_reader(dag, to), OD_DAG_NONE);
}

void world_finish(od_dag *dag)
{
    char error[512] = "";
    if (od_dag_finish(dag, error, sizeof error))
        fail_msg("%s", error);
}

static int64_t some_bytes(uint64_t *seed)
{
    return (int64_t)random_below(seed, 9);
}

static void make_tree(od_dag *dag, uint32_t n, bool out, uint64_t *seed)
{
    for (uint32_t t = 0; t < n; t++)
        new_task(dag, seed);
    for (uint32_t t = 1; t < n; t++) {
        uint32_t parent = (uint32_t)random_below(seed, random_below(seed, 2) ? t : t < 3 ? t : 3); /* deep or wide */
        if (random_below(seed, 12) == 0)
            continue; /* a forest */
        world_edge(dag, out ? parent : t, out ? t : parent, some_bytes(seed));
    }
}

/* A random order that is series-parallel by construction, between sources and sinks of parts. */
static void make_series_parallel(od_dag *dag, uint32_t begin, uint32_t end, uint64_t *seed)
{
    uint32_t n = end - begin;
    if (n <= 1)
        return;
    uint32_t middle = begin + 1 + (uint32_t)random_below(seed, n - 1);
    make_series_parallel(dag, begin, middle, seed);
    make_series_parallel(dag, middle, end, seed);
    if (random_below(seed, 5) < 2)
        return;
    /* Each sink of the one before each source of the other. */
    for (uint32_t a = begin; a < middle; a++)
        for (uint32_t b = middle; b < end; b++) {
            bool sink = true, source = true;
            for (uint32_t d = 0; d < dag->ndata; d++) {
                sink &= dag->data[d].producer != a;
                source &= dag->readers[d] != b;
            }
            for (uint32_t i = 0; i < dag->norders; i++) {
                sink &= dag->orders[i].before != a || dag->orders[i].after >= middle;
                source &= dag->orders[i].after != b || dag->orders[i].before < middle;
            }
            if (sink && source)
                od_dag_add_order(dag, a, b);
        }
    if (random_below(seed, 4) == 0) /* one more that follows from the others */
        world_edge(dag, begin, end - 1, some_bytes(seed));
}

/* Orders that carry something are edges; so the loop above could see orders alone. */
static void orders_to_edges(od_dag *dag, uint64_t *seed)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dag->norders; i++) {
        od_dag_order order = dag->orders[i];
        if (random_below(seed, 4))
            world_edge(dag, order.before, order.after, some_bytes(seed));
        else
            dag->orders[kept++] = order;
    }
    dag->norders = kept;
}

static void make_general(od_dag *dag, uint32_t n, bool shared, uint64_t *seed)
{
    uint32_t density = 1 + (uint32_t)random_below(seed, 4);
    for (uint32_t t = 0; t < n; t++)
        new_task(dag, seed);
    for (uint32_t b = 1; b < n; b++)
        for (uint32_t a = 0; a < b; a++)
            if (random_below(seed, 8) < density) {
                if (random_below(seed, 5) == 0)
                    od_dag_add_order(dag, a, b);
                else
                    world_edge(dag, a, b, some_bytes(seed));
            }
    for (uint32_t i = 0; i < 3; i++) { /* results, initial data, data with several readers */
        uint32_t producer = random_below(seed, 2) ? OD_DAG_NONE : (uint32_t)random_below(seed, n);
        od_dag_add_datum(dag, some_bytes(seed), producer, shared && random_below(seed, 2));
        for (uint32_t t = producer == OD_DAG_NONE ? 0 : producer + 1; t < n; t++)
            if (random_below(seed, 3) == 0 && (shared || dag->data[dag->ndata - 1].nreaders == 0))
                od_dag_add_reader(dag, t);
    }
}

void world_make(od_dag *dag, world_kind kind, uint32_t most, uint64_t *seed)
{
    uint32_t n = 1 + (uint32_t)random_below(seed, most);
    *dag = (od_dag){0};
    if (kind == WORLD_TREE || kind == WORLD_OUT_TREE)
        make_tree(dag, n, kind == WORLD_OUT_TREE, seed);
    else if (kind == WORLD_SERIES_PARALLEL) {
        for (uint32_t t = 0; t < n; t++)
            new_task(dag, seed);
        make_series_parallel(dag, 0, n, seed);
        orders_to_edges(dag, seed);
    } else
        make_general(dag, n, kind == WORLD_SHARED, seed);
    world_finish(dag);
}

/* --- answers ------------------------------------------------------------------------------------ */

static bool in(uint32_t set, uint32_t t)
{
    return set >> t & 1;
}

/* By the words of dag/graph.h. */
static int64_t bytes_in(const od_dag *dag, od_dag_model model, uint32_t started, uint32_t ended)
{
    int64_t bytes = 0;
    uint32_t freed = model == OD_DAG_REPLACE ? started : ended;
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        uint32_t readers = 0;
        for (uint32_t i = 0; i < datum->nreaders; i++)
            readers |= 1u << dag->readers[datum->first_reader + i];
        bool born = datum->producer != OD_DAG_NONE ? in(started, datum->producer)
                    : datum->lazy                  ? (started & readers) != 0
                                                   : true;
        if (born && (!readers || readers & ~freed))
            bytes += datum->bytes;
    }
    for (uint32_t t = 0; t < dag->ntasks; t++)
        bytes += in(started & ~ended, t) ? dag->tasks[t].bytes : 0;
    return bytes;
}

static uint32_t before_mask(const od_dag *dag, uint32_t t)
{
    uint32_t mask = 0;
    for (uint32_t i = dag->before.first[t]; i < dag->before.first[t + 1]; i++)
        mask |= 1u << dag->before.items[i];
    return mask;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t world_best_peak(const od_dag *dag, od_dag_model model)
{
    static int64_t best[1 << WORLD_MOST];
    uint32_t all = (1u << dag->ntasks) - 1, before[WORLD_MOST];
    for (uint32_t t = 0; t < dag->ntasks; t++)
        before[t] = before_mask(dag, t);
    for (uint32_t set = 0; set <= all; set++)
        best[set] = INT64_MAX;
    best[0] = bytes_in(dag, model, 0, 0);
    for (uint32_t set = 0; set < all; set++)
        for (uint32_t t = 0; t < dag->ntasks && best[set] < INT64_MAX; t++) {
            uint32_t next = set | 1u << t;
            if (in(set, t) || before[t] & ~set)
                continue;
            int64_t peak =
                most_of(best[set], most_of(bytes_in(dag, model, next, set), bytes_in(dag, model, next, next)));
            best[next] = peak < best[next] ? peak : best[next];
        }
    return best[all];
}

static int64_t heaviest(const od_dag *dag, od_dag_model model, uint32_t at, uint32_t started, uint32_t ended)
{
    if (at == dag->ntasks)
        return bytes_in(dag, model, started, ended);
    uint32_t t = dag->sorted[at], bit = 1u << t;
    int64_t most = heaviest(dag, model, at + 1, started, ended);
    if (before_mask(dag, t) & ~ended)
        return most;
    most = most_of(most, heaviest(dag, model, at + 1, started | bit, ended));
    return most_of(most, heaviest(dag, model, at + 1, started | bit, ended | bit));
}

int64_t world_maximum_cut(const od_dag *dag, od_dag_model model)
{
    return heaviest(dag, model, 0, 0, 0);
}

/* --- postorders ------------------------------------------------------------------------------------ */

typedef struct family {
    const od_dag *dag;
    od_dag_step *steps;
} family;

static od_dag_step best_subtree(const family *f, uint32_t t);

/* The lowest peak of the children that are left, in any order, above the level before the first of all. */
static int64_t try_children(const od_dag_step *children, uint32_t count, uint32_t left, int64_t level)
{
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (in(left, i)) {
            int64_t rest = try_children(children, count, left & ~(1u << i), level + children[i].change);
            int64_t peak = most_of(level + children[i].rise, rest);
            best = peak < best ? peak : best;
        }
    return left ? best : 0;
}

static od_dag_step best_family(const family *f, const uint32_t *tasks, uint32_t count)
{
    od_dag_step children[WORLD_MOST], sum = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        children[i] = best_subtree(f, tasks[i]);
        sum.change += children[i].change;
    }
    sum.rise = try_children(children, count, (1u << count) - 1, 0);
    return sum;
}

static od_dag_step best_subtree(const family *f, uint32_t t)
{
    od_dag_step sum = best_family(f, f->dag->before.items + f->dag->before.first[t], od_dag_count(&f->dag->before, t));
    sum.rise = most_of(sum.rise, sum.change + f->steps[t].rise);
    sum.change += f->steps[t].change;
    return sum;
}

int64_t world_best_postorder(const od_dag *dag, od_dag_model model)
{
    od_dag_step steps[WORLD_MOST];
    uint32_t roots[WORLD_MOST], count = 0;
    bool exact;
    assert_int_equal(od_dag_steps(dag, model, dag->sorted, steps, &exact), OD_OK);
    assert_true(exact);
    for (uint32_t t = 0; t < dag->ntasks; t++)
        if (!od_dag_count(&dag->after, t))
            roots[count++] = t;
    return best_family(&(family){dag, steps}, roots, count).rise;
}

void world_assert_order(const od_dag *dag, const uint32_t *order)
{
    bool *done = calloc(dag->ntasks, 1);
    assert_non_null(done);
    for (uint32_t i = 0; i < dag->ntasks; i++) {
        uint32_t t = order[i];
        assert_true(t < dag->ntasks && !done[t]);
        for (uint32_t k = dag->before.first[t]; k < dag->before.first[t + 1]; k++)
            assert_true(done[dag->before.items[k]]);
        done[t] = true;
    }
    free(done);
}
