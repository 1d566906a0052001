/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/recursion/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- data --------------------------------------------------------------------------- */

sim_op sim_tables_root(const sim_workload *w)
{
    return strcmp(w->name, "cholesky") == 0 ? SIM_POTRF : strcmp(w->name, "lu") == 0 ? SIM_GETRF : SIM_GEMM_FIRST;
}

uint32_t sim_tables_kernel(const sim_workload *w, sim_op op, unsigned level)
{
    return (uint32_t)op * w->nlevels + level;
}

static unsigned span_of(const sim_workload *w, unsigned level)
{
    return w->level[level] / w->level[w->nlevels - 1];
}

uint32_t sim_tables_block(const sim_tables *t, unsigned matrix, uint32_t row, uint32_t column)
{
    return t->first[matrix] + (t->triangular ? row * (row + 1) / 2 + column : row * t->side + column);
}

void sim_recursion_data(const sim_workload *w, sim_graph *graph)
{
    static const char *const names[] = {"A", "B", "C"};
    sim_op root = sim_tables_root(w);
    uint32_t side = w->n * span_of(w, 0);
    size_t order = w->level[w->nlevels - 1];
    *graph = (sim_graph){0};
    for (int op = 0; op < SIM_OPS; op++)
        for (unsigned l = 0; l < w->nlevels; l++) {
            double b = w->level[l];
            uint32_t kernel = sim_graph_kernel(graph, sim_ops[op].kernel, w->level[l], sim_ops[op].flops * b * b * b);
            graph->kernels[kernel].calls = 1;
        }
    for (unsigned m = 0; m < sim_ops[root].noperands; m++) {
        uint32_t matrix = sim_graph_matrix(graph, names[m]);
        for (uint32_t i = 0; i < side; i++)
            for (uint32_t j = 0; j < (root == SIM_POTRF ? i + 1 : side); j++)
                sim_graph_datum(
                    graph, &(sim_datum){.bytes = order * order * w->element, .matrix = matrix, .row = i, .column = j});
    }
}

/* --- operations ---------------------------------------------------------------------- */

/* Bit op: the workload consists of such tasks. */
static uint32_t ops_of(sim_op root)
{
    uint32_t found = UINT32_C(1) << root, before = 0;
    while (found != before) {
        before = found;
        for (int op = 0; op < SIM_OPS; op++) {
            sim_children children = {0};
            if (found >> op & 1)
                sim_children_make((sim_op)op, 3, &children);
            for (uint32_t c = 0; c < children.count; c++)
                found |= UINT32_C(1) << children.items[c].op;
            sim_children_free(&children);
        }
    }
    return found;
}

static void fill_durations(const sim_recursion_config *config, sim_tables *t, int op)
{
    const sim_workload *w = config->workload;
    for (unsigned l = 0; l < w->nlevels; l++) {
        const sim_kernel *kernel = &config->graph->kernels[sim_tables_kernel(w, (sim_op)op, l)];
        t->view.kind[op].device_s[l] = config->device_seconds(config->arg, kernel);
        t->view.kind[op].host_s[l] = config->host_seconds(config->arg, kernel);
    }
}

/* Seconds that the tasks of level `to` take on all devices, without transfers: their longest path, or their sum. */
static double spread(const sim_tables *t, sim_children *children, unsigned to)
{
    double seconds[SIM_OPS], sum = 0;
    for (int op = 0; op < SIM_OPS; op++)
        seconds[op] = t->view.kind[op].device_s[to];
    double path = sim_children_levels(children, seconds);
    for (uint32_t c = 0; c < children->count; c++)
        sum += seconds[children->items[c].op];
    return t->view.ndevices ? fmax(path, sum / t->view.ndevices) : 0;
}

static void fill_spread(const sim_workload *w, sim_tables *t, sim_op op, unsigned level)
{
    od_split_kind *kind = &t->view.kind[op];
    for (unsigned to = level + 1; to < w->nlevels; to++) {
        sim_children children;
        sim_children_make(op, w->level[level] / w->level[to], &children);
        double seconds = spread(t, &children, to);
        if (to == level + 1 || seconds < kind->spread_s[level]) {
            kind->spread_s[level] = seconds;
            kind->spread_to[level] = (uint8_t)to;
        }
        sim_children_free(&children);
    }
}

static void fill_children(const sim_workload *w, sim_tables *t, sim_op op, unsigned level)
{
    sim_children *children = &t->children[op][level];
    sim_children_make(op, w->level[level] / w->level[level + 1], children);
    spread(t, children, level + 1); /* for level_s */
    for (uint32_t c = 0; c < children->count; c++)
        t->view.kind[op].children[level][children->items[c].op]++;
    fill_spread(w, t, op, level);
}

static const od_split_graph *graph_of(void *driver, unsigned kind, unsigned level, unsigned to)
{
    sim_tables *t = driver;
    od_split_graph *graph = &t->graph[kind][level][to];
    if (!graph->ntasks) {
        sim_children children;
        sim_children_make((sim_op)kind, t->span[level] / t->span[to], &children);
        sim_children_graph(&children, graph);
        sim_children_free(&children);
    }
    return graph;
}

static bool play(void *driver, double limit, double *end_s)
{
    const sim_tables *t = driver;
    return t->config->play(t->config->arg, limit, end_s);
}

/* --- groups ----------------------------------------------------------------------------- */

static int by_acceleration(const void *a, const void *b)
{
    const sim_group *x = a, *y = b;
    if (x->acceleration < y->acceleration || x->acceleration > y->acceleration)
        return x->acceleration < y->acceleration ? -1 : 1;
    return x->level != y->level ? (x->level < y->level ? -1 : 1) : (int)x->op - (int)y->op;
}

static void make_groups(const sim_workload *w, sim_tables *t, uint32_t ops)
{
    for (int op = 0; op < SIM_OPS; op++)
        for (unsigned l = 0; l + 1 < w->nlevels && (ops >> op & 1); l++) {
            const od_split_kind *kind = &t->view.kind[op];
            double acceleration = kind->host_s[l] > 0 ? kind->host_s[l] / kind->device_s[l] : (double)INFINITY;
            t->group[t->ngroups++] = (sim_group){(sim_op)op, l, acceleration};
        }
    qsort(t->group, t->ngroups, sizeof *t->group, by_acceleration);
}

/* --- all of it ---------------------------------------------------------------------------- */

void sim_tables_make(const sim_recursion_config *config, sim_tables *t)
{
    const sim_workload *w = config->workload;
    sim_op root = sim_tables_root(w);
    uint32_t ops = ops_of(root);
    *t = (sim_tables){.config = config, .side = w->n * span_of(w, 0), .triangular = root == SIM_POTRF};
    t->view = (od_split_view){.ndevices = config->ndevices,
                              .cpus = config->cpus,
                              .idle_cpus = config->cpus,
                              .nkinds = SIM_OPS,
                              .nlevels = w->nlevels,
                              .play = config->play ? play : NULL,
                              .graph = graph_of,
                              .driver = t};
    for (unsigned m = 0; m < sim_ops[root].noperands; m++) {
        t->first[m] = t->nblocks;
        t->nblocks += t->triangular ? t->side * (t->side + 1) / 2 : t->side * t->side;
    }
    for (unsigned l = 0; l < w->nlevels; l++)
        t->span[l] = span_of(w, l);
    for (int op = 0; op < SIM_OPS; op++)
        if (ops >> op & 1)
            fill_durations(config, t, op);
    for (int op = 0; op < SIM_OPS; op++)
        for (unsigned l = 0; l + 1 < w->nlevels && (ops >> op & 1); l++)
            fill_children(w, t, (sim_op)op, l);
    make_groups(w, t, ops);
}

void sim_tables_free(sim_tables *t)
{
    for (int op = 0; op < SIM_OPS; op++)
        for (int l = 0; l < OD_SPLIT_LEVELS; l++) {
            sim_children_free(&t->children[op][l]);
            for (int to = 0; to < OD_SPLIT_LEVELS; to++)
                sim_split_graph_free(&t->graph[op][l][to]);
        }
}
