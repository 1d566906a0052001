/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the guard's bookkeeping costs per task: usage: guard_cost [N]
 *
 * The tasks of a tiled Cholesky factorisation of N x N tiles (60) are submitted, run and ended, once with no region
 * that the guard looks at, once with every tile entered by `alloc`, so that each first write asks the banker.
 */
#include "sched/guard/lifetimes.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_USES = 3, TILE = 4096 };

typedef struct task {
    uint32_t nuses;
    od_level_use uses[MOST_USES];
} task;

typedef struct graph {
    unsigned n; /* tiles along each side */
    uint32_t ntasks;
    task *tasks;
} graph;

static uintptr_t tile(const graph *g, unsigned i, unsigned j)
{
    return ((uintptr_t)i * g->n + j + 1) * TILE;
}

/* The last use is the tile that is written. */
static void add(graph *g, uint32_t nuses, uintptr_t a, uintptr_t b, uintptr_t c)
{
    const uintptr_t address[MOST_USES] = {a, b, c};
    task *t = &g->tasks[g->ntasks++];
    t->nuses = nuses;
    for (uint32_t i = 0; i < nuses; i++)
        t->uses[i] = (od_level_use){address[i], i + 1 == nuses, false};
}

static bool make_cholesky(graph *g)
{
    size_t n = g->n;
    g->tasks = calloc(n * (n + 1) * (n + 2) / 6, sizeof *g->tasks);
    for (unsigned k = 0; g->tasks && k < g->n; k++) {
        add(g, 1, tile(g, k, k), 0, 0);
        for (unsigned i = k + 1; i < g->n; i++)
            add(g, 2, tile(g, k, k), tile(g, i, k), 0);
        for (unsigned i = k + 1; i < g->n; i++) {
            add(g, 2, tile(g, i, k), tile(g, i, i), 0);
            for (unsigned j = k + 1; j < i; j++)
                add(g, 3, tile(g, i, k), tile(g, j, k), tile(g, i, j));
        }
    }
    return g->tasks;
}

static void make_first_writes(od_lifetimes *l, const task *t, od_banker_step step)
{
    for (uint32_t i = 0; i < t->nuses; i++) {
        od_banker_datum *d = od_lifetimes_use(l, t->uses[i].address, TILE, step);
        if (d && !d->made && !od_banker_make(od_lifetimes_banker(l), &d, 1, NULL))
            od_banker_make_anyway(od_lifetimes_banker(l), &d, 1);
    }
}

static double microseconds_per_task(const graph *g, bool guarded)
{
    od_lifetimes *l = od_lifetimes_create((int64_t)g->n * g->n / 4 * TILE);
    if (!l)
        return -1;
    uint64_t begin = od_clock_ns();
    for (unsigned i = 0; guarded && i < g->n; i++)
        for (unsigned j = 0; j <= i; j++)
            od_lifetimes_opens(l, tile(g, i, j), TILE);
    for (uint32_t t = 0; t < g->ntasks; t++)
        od_lifetimes_submit(l, 1, g->tasks[t].uses, g->tasks[t].nuses);
    for (uint32_t t = 0; t < g->ntasks; t++) {
        if (guarded)
            make_first_writes(l, &g->tasks[t], t);
        od_lifetimes_end(l, t, g->tasks[t].uses, g->tasks[t].nuses);
    }
    double seconds = (double)(od_clock_ns() - begin) * 1e-9;
    od_lifetimes_destroy(l);
    return seconds * 1e6 / g->ntasks;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 60;
    graph g = {.n = n > 0 ? (unsigned)n : 1};
    if (!make_cholesky(&g)) {
        fputs("guard_cost: out of memory\n", stderr);
        return 1;
    }
    double plain = microseconds_per_task(&g, false), guarded = microseconds_per_task(&g, true);
    printf("cholesky %u x %u: %u tasks; us per task: %.3f without guarded data, %.3f with\n", g.n, g.n, g.ntasks, plain,
           guarded);
    free(g.tasks);
    return plain < 0 || guarded < 0;
}
