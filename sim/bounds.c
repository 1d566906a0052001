/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/bounds.h"

#include "sim/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* Thesis 3.5.1: full phases that read M bytes each, the first one twice as many. */
static double gemm2d(double matrix, double memory)
{
    return floor(matrix * matrix / (memory * memory)) * memory + fmin(memory, 2 * matrix);
}

double sim_bound_formula(const sim_workload *w, double memory)
{
    static const char *const products[] = {"gemm2d", "gemm2d-random", NULL};
    static const char *const products3[] = {"gemm3d", "gemm3d-set", NULL};
    static const char *const choleskys[] = {"cholesky", "cholesky-set", NULL};
    double n = w->n, tile = w->unit ? 1 : (double)w->tile * w->tile * (double)SIM_ELEMENT;
    double tiles = memory / tile; /* that fit */
    if (is_one_of(w->name, products))
        return gemm2d(n * tile * (w->unit ? 1 : w->depth), memory);
    if (is_one_of(w->name, products3))
        return 2 * memory * floor(n * n * n / (tiles * sqrt(tiles)));
    if (is_one_of(w->name, choleskys))
        return n * n * n / (3 * sqrt(2 * tiles)) * tile;
    if (strcmp(w->name, "lu") == 0)
        return 2 * n * n * n / (3 * sqrt(tiles)) * tile;
    return 0;
}

double sim_bound_compulsory(const sim_graph *graph)
{
    double bytes = 0;
    bool *seen = sim_checked(calloc(graph->ndata + 1, sizeof *seen)); /* read or written by an earlier access */
    for (uint32_t t = 0; t < graph->ntasks; t++)
        for (uint32_t i = 0; i < graph->tasks[t].naccess; i++) {
            const sim_access *a = &graph->accesses[graph->tasks[t].first_access + i];
            if (!seen[a->datum] && (a->mode & OD_READ))
                bytes += (double)graph->data[a->datum].bytes;
            seen[a->datum] = true;
        }
    free(seen);
    return bytes;
}

static double critical_path(const sim_graph *graph, const sim_platform *platform)
{
    double longest = 0, *end = sim_checked(calloc(graph->ntasks + 1, sizeof *end));
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        const sim_task *task = &graph->tasks[t];
        for (uint32_t i = 0; i < task->nbefore; i++)
            end[t] = fmax(end[t], end[graph->before[task->first_before + i]]);
        end[t] += sim_task_seconds(graph, platform, t);
        longest = fmax(longest, end[t]);
    }
    free(end);
    return longest;
}

sim_bounds sim_bounds_of(const sim_graph *graph, const sim_workload *workload, const sim_platform *platform,
                         unsigned ndevices, size_t memory)
{
    double compulsory = sim_bound_compulsory(graph), all = (double)memory * ndevices, work = 0;
    double formula = workload ? sim_bound_formula(workload, (double)memory) : 0;
    double from_host = fmax(compulsory, workload && platform->peer ? sim_bound_formula(workload, all) : formula);
    for (uint32_t t = 0; t < graph->ntasks; t++)
        work += sim_task_seconds(graph, platform, t);
    sim_bounds bounds = {.load_bytes = fmax(compulsory, formula),
                         .compute_s = work / (ndevices * platform->slots),
                         .critical_path_s = critical_path(graph, platform),
                         .bus_s = from_host / sim_platform_inbound(platform, ndevices)};
    bounds.time_s = fmax(fmax(bounds.compute_s, bounds.critical_path_s), bounds.bus_s);
    return bounds;
}
