/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/bounds.h"

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
    if (w->generate) /* what is made on devices need not be loaded */
        return 0;
    double n = w->n, tile = w->unit ? 1 : (double)w->tile * w->tile * w->element;
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

static double least_slowness(const sim_machine *machine, const char *kernel)
{
    double least = (double)INFINITY;
    unsigned speed_class = sim_platform_speed_class(machine->platform, kernel);
    for (unsigned k = 0; k < machine->ndevices; k++)
        least = fmin(least, od_slowness_of(&machine->platform->topology->slowness, speed_class, k));
    return least;
}

/* Where it ends first. */
static double least_seconds(const sim_graph *graph, const sim_machine *machine, uint32_t t)
{
    const char *kernel = graph->kernels[graph->tasks[t].kernel].name;
    double seconds = sim_task_seconds(graph, machine->platform, t) * least_slowness(machine, kernel);
    double host = sim_task_host_seconds(graph, machine, t);
    return host > 0 ? fmin(seconds, host) : seconds;
}

static double critical_path(const sim_graph *graph, const sim_machine *machine)
{
    double longest = 0, *end = sim_checked(calloc(graph->ntasks + 1, sizeof *end));
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        const sim_task *task = &graph->tasks[t];
        for (uint32_t i = 0; i < task->nbefore; i++)
            end[t] = fmax(end[t], end[graph->before[task->first_before + i]]);
        end[t] += least_seconds(graph, machine, t);
        longest = fmax(longest, end[t]);
    }
    free(end);
    return longest;
}

/* A task's seconds on a device, and on a CPU worker. */
typedef struct pair {
    double device, host;
} pair;

static int by_slowness(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    double left = x->host * y->device, right = y->host * x->device;
    return left < right ? -1 : left > right;
}

/* CPU workers take those that are least accelerated by devices, the last one in part, until both end at once. */
static double area(pair *tasks, uint32_t count, double slots, double workers)
{
    double on_devices = 0, on_workers = 0;
    for (uint32_t i = 0; i < count; i++)
        on_devices += tasks[i].device;
    qsort(tasks, count, sizeof *tasks, by_slowness);
    for (uint32_t i = 0; i < count && workers > 0 && isfinite(tasks[i].host); i++) {
        const pair *t = &tasks[i];
        double part = (on_devices * workers - on_workers * slots) / (t->host * slots + t->device * workers);
        part = fmin(part, 1);
        on_workers += part * t->host;
        on_devices -= part * t->device;
        if (part < 1)
            break;
    }
    return on_devices / slots;
}

static double compute_bound(const sim_graph *graph, const sim_machine *machine)
{
    pair *tasks = sim_checked(calloc(graph->ntasks + 1, sizeof *tasks));
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        double host = sim_task_host_seconds(graph, machine, t);
        tasks[t] = (pair){sim_task_seconds(graph, machine->platform, t), host > 0 ? host : (double)INFINITY};
    }
    double speed = sim_platform_speed(machine->platform, machine->ndevices);
    double seconds = area(tasks, graph->ntasks, speed * machine->platform->slots, machine->cpus);
    free(tasks);
    return seconds;
}

sim_bounds sim_bounds_of(const sim_graph *graph, const sim_workload *workload, const sim_machine *machine)
{
    const sim_platform *platform = machine->platform;
    double compulsory = sim_bound_compulsory(graph), memory = (double)machine->memory;
    double formula = workload ? sim_bound_formula(workload, memory) : 0;
    double all = workload && platform->peer ? sim_bound_formula(workload, memory * machine->ndevices) : formula;
    double inbound = sim_platform_inbound(platform, machine->ndevices);
    sim_bounds bounds = {.load_bytes = machine->cpus ? 0 : fmax(compulsory, formula),
                         .compute_s = compute_bound(graph, machine),
                         .critical_path_s = critical_path(graph, machine),
                         .bus_s = machine->cpus ? 0 : fmax(compulsory, all) / inbound};
    bounds.time_s = fmax(fmax(bounds.compute_s, bounds.critical_path_s), bounds.bus_s);
    return bounds;
}
