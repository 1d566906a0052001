/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/recursion/shape.h"

#include "sim/graph/graph.h"

#include <math.h>
#include <stdlib.h>

const sim_op_info sim_ops[SIM_OPS] = {
    [SIM_POTRF] = {"potrf", 1. / 3, 1, {{OD_READ_WRITE, SIM_LOWER}}},
    [SIM_TRSM] = {"trsm", 1, 2, {{OD_READ, SIM_LOWER}, {OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_SYRK] = {"syrk", 1, 2, {{OD_READ, SIM_WHOLE}, {OD_READ_WRITE, SIM_LOWER}}},
    [SIM_GEMM_NT] = {"gemm", 2, 3, {{OD_READ, SIM_WHOLE}, {OD_READ, SIM_WHOLE}, {OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_GETRF] = {"getrf", 2. / 3, 1, {{OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_TRSM_LEFT] = {"trsm", 1, 2, {{OD_READ, SIM_LOWER}, {OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_TRSM_RIGHT] = {"trsm", 1, 2, {{OD_READ, SIM_UPPER}, {OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_GEMM] = {"gemm", 2, 3, {{OD_READ, SIM_WHOLE}, {OD_READ, SIM_WHOLE}, {OD_READ_WRITE, SIM_WHOLE}}},
    [SIM_GEMM_FIRST] = {"gemm", 2, 3, {{OD_READ, SIM_WHOLE}, {OD_READ, SIM_WHOLE}, {OD_WRITE, SIM_WHOLE}}},
};

/* --- the algorithms ----------------------------------------------------------------- */

static void add(sim_children *c, sim_op op, sim_place a, sim_place b, sim_place last)
{
    c->items = sim_grown(c->items, c->count, &c->capacity, sizeof *c->items);
    c->items[c->count++] = (sim_child){.op = op, .place = {a, b, last}};
}

static sim_place at(unsigned operand, unsigned row, unsigned column)
{
    return (sim_place){(uint8_t)operand, (uint16_t)row, (uint16_t)column};
}

static const sim_place nothing;

static void split_potrf(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++) {
        add(c, SIM_POTRF, at(0, k, k), nothing, nothing);
        for (unsigned i = k + 1; i < r; i++)
            add(c, SIM_TRSM, at(0, k, k), at(0, i, k), nothing);
        for (unsigned i = k + 1; i < r; i++) {
            add(c, SIM_SYRK, at(0, i, k), at(0, i, i), nothing);
            for (unsigned j = k + 1; j < i; j++)
                add(c, SIM_GEMM_NT, at(0, i, k), at(0, j, k), at(0, i, j));
        }
    }
}

static void split_trsm(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned i = 0; i < r; i++) {
            add(c, SIM_TRSM, at(0, k, k), at(1, i, k), nothing);
            for (unsigned j = k + 1; j < r; j++)
                add(c, SIM_GEMM_NT, at(1, i, k), at(0, j, k), at(1, i, j));
        }
}

static void split_syrk(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned i = 0; i < r; i++) {
            add(c, SIM_SYRK, at(0, i, k), at(1, i, i), nothing);
            for (unsigned j = 0; j < i; j++)
                add(c, SIM_GEMM_NT, at(0, i, k), at(0, j, k), at(1, i, j));
        }
}

static void split_gemm_nt(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned i = 0; i < r; i++)
            for (unsigned j = 0; j < r; j++)
                add(c, SIM_GEMM_NT, at(0, i, k), at(1, j, k), at(2, i, j));
}

static void split_getrf(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++) {
        add(c, SIM_GETRF, at(0, k, k), nothing, nothing);
        for (unsigned j = k + 1; j < r; j++)
            add(c, SIM_TRSM_LEFT, at(0, k, k), at(0, k, j), nothing);
        for (unsigned i = k + 1; i < r; i++)
            add(c, SIM_TRSM_RIGHT, at(0, k, k), at(0, i, k), nothing);
        for (unsigned i = k + 1; i < r; i++)
            for (unsigned j = k + 1; j < r; j++)
                add(c, SIM_GEMM, at(0, i, k), at(0, k, j), at(0, i, j));
    }
}

static void split_trsm_left(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned j = 0; j < r; j++) {
            add(c, SIM_TRSM_LEFT, at(0, k, k), at(1, k, j), nothing);
            for (unsigned i = k + 1; i < r; i++)
                add(c, SIM_GEMM, at(0, i, k), at(1, k, j), at(1, i, j));
        }
}

static void split_trsm_right(sim_children *c, unsigned r)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned i = 0; i < r; i++) {
            add(c, SIM_TRSM_RIGHT, at(0, k, k), at(1, i, k), nothing);
            for (unsigned j = k + 1; j < r; j++)
                add(c, SIM_GEMM, at(1, i, k), at(0, k, j), at(1, i, j));
        }
}

static void split_gemm(sim_children *c, unsigned r, sim_op first)
{
    for (unsigned k = 0; k < r; k++)
        for (unsigned i = 0; i < r; i++)
            for (unsigned j = 0; j < r; j++)
                add(c, k ? SIM_GEMM : first, at(0, i, k), at(1, k, j), at(2, i, j));
}

void sim_children_make(sim_op op, unsigned parts, sim_children *children)
{
    static void (*const splits[SIM_OPS])(sim_children *, unsigned) = {
        [SIM_POTRF] = split_potrf,          [SIM_TRSM] = split_trsm,   [SIM_SYRK] = split_syrk,
        [SIM_GEMM_NT] = split_gemm_nt,      [SIM_GETRF] = split_getrf, [SIM_TRSM_LEFT] = split_trsm_left,
        [SIM_TRSM_RIGHT] = split_trsm_right};
    *children = (sim_children){.parts = parts};
    if (splits[op])
        splits[op](children, parts);
    else
        split_gemm(children, parts, op);
}

void sim_children_free(sim_children *children)
{
    free(children->items);
    *children = (sim_children){0};
}

/* --- dependences among them ------------------------------------------------------------ */

static size_t block_of(const sim_children *c, sim_place p)
{
    return ((size_t)p.operand * c->parts + p.row) * c->parts + p.column;
}

double sim_children_levels(sim_children *c, const double *seconds)
{
    /* Of each block the longest path from later tasks: from the next one that writes, from those before it. */
    struct later {
        double writer, readers;
    } *later = sim_checked(calloc((size_t)SIM_OPERANDS * c->parts * c->parts, sizeof *later));
    double longest = 0;
    for (uint32_t t = c->count; t-- > 0;) {
        sim_child *child = &c->items[t];
        const sim_op_info *info = &sim_ops[child->op];
        double after = 0;
        for (unsigned i = 0; i < info->noperands; i++) {
            const struct later *l = &later[block_of(c, child->place[i])];
            after = fmax(after, l->writer);
            if (info->operand[i].mode & OD_WRITE)
                after = fmax(after, l->readers);
        }
        child->level_s = after + seconds[child->op];
        longest = fmax(longest, child->level_s);
        for (unsigned i = 0; i < info->noperands; i++) {
            struct later *l = &later[block_of(c, child->place[i])];
            if (info->operand[i].mode & OD_WRITE)
                *l = (struct later){.writer = child->level_s};
            else
                l->readers = fmax(l->readers, child->level_s);
        }
    }
    free(later);
    return longest;
}

/* As a graph of one datum per block, which finds its own dependences. */
void sim_children_graph(const sim_children *c, od_split_graph *graph)
{
    sim_graph g = {0};
    for (size_t b = 0; b < (size_t)SIM_OPERANDS * c->parts * c->parts; b++)
        sim_graph_datum(&g, &(sim_datum){.bytes = 1});
    for (uint32_t t = 0; t < c->count; t++) {
        const sim_op_info *info = &sim_ops[c->items[t].op];
        sim_graph_task(&g, &(sim_task){0});
        for (unsigned i = 0; i < info->noperands; i++)
            sim_graph_access(&g, (uint32_t)block_of(c, c->items[t].place[i]), info->operand[i].mode);
    }
    sim_graph_depend(&g);
    uint8_t *kind = sim_checked(malloc(c->count + (size_t)1));
    uint32_t *first = sim_checked(malloc((c->count + (size_t)1) * sizeof *first));
    uint32_t *before = sim_checked(malloc((g.nbefore + (size_t)1) * sizeof *before));
    for (uint32_t t = 0; t < c->count; t++) {
        kind[t] = (uint8_t)c->items[t].op;
        first[t] = g.tasks[t].first_before;
    }
    first[c->count] = g.nbefore;
    for (uint32_t i = 0; i < g.nbefore; i++)
        before[i] = g.before[i];
    *graph = (od_split_graph){c->count, kind, first, before};
    sim_graph_free(&g);
}

void sim_split_graph_free(od_split_graph *graph)
{
    free((void *)(uintptr_t)graph->kind);
    free((void *)(uintptr_t)graph->first_before);
    free((void *)(uintptr_t)graph->before);
    *graph = (od_split_graph){0};
}
