/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/graph/graph.h"

#include "util/container/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *sim_checked(void *memory)
{
    if (!memory) {
        fprintf(stderr, "ompdarts sim: out of memory\n");
        exit(1);
    }
    return memory;
}

void *sim_grown(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    return od_array_reserve(&array, capacity, (uint64_t)count + 1, size) ? array : sim_checked(NULL);
}

void sim_graph_free(sim_graph *graph)
{
    free(graph->data);
    free(graph->tasks);
    free(graph->accesses);
    free(graph->before);
    free(graph->kernels);
    *graph = (sim_graph){0};
}

uint32_t sim_graph_matrix(sim_graph *graph, const char *name)
{
    for (uint32_t m = 0; m < graph->nmatrices; m++)
        if (strcmp(graph->matrix[m], name) == 0)
            return m;
    if (graph->nmatrices == SIM_MATRICES) /* what comes after is drawn with the last */
        return SIM_MATRICES - 1;
    snprintf(graph->matrix[graph->nmatrices], sizeof graph->matrix[0], "%s", name);
    return graph->nmatrices++;
}

uint32_t sim_graph_datum(sim_graph *graph, const sim_datum *datum)
{
    graph->data = sim_grown(graph->data, graph->ndata, &graph->data_capacity, sizeof *graph->data);
    graph->data[graph->ndata] = *datum;
    return graph->ndata++;
}

uint32_t sim_graph_kernel(sim_graph *graph, const char *name, uint32_t tile, double flops)
{
    graph->kernels = sim_grown(graph->kernels, graph->nkernels, &graph->kernels_capacity, sizeof *graph->kernels);
    sim_kernel *kernel = &graph->kernels[graph->nkernels];
    *kernel = (sim_kernel){.tile = tile, .flops = flops};
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    return graph->nkernels++;
}

uint32_t sim_graph_task(sim_graph *graph, const sim_task *task)
{
    graph->tasks = sim_grown(graph->tasks, graph->ntasks, &graph->tasks_capacity, sizeof *graph->tasks);
    sim_task *added = &graph->tasks[graph->ntasks];
    *added = *task;
    added->first_access = graph->naccesses;
    added->first_before = graph->nbefore;
    added->naccess = added->nbefore = 0;
    graph->has_priorities |= task->priority != 0;
    return graph->ntasks++;
}

void sim_graph_access(sim_graph *graph, uint32_t datum, od_mode mode)
{
    graph->accesses = sim_grown(graph->accesses, graph->naccesses, &graph->accesses_capacity, sizeof *graph->accesses);
    graph->accesses[graph->naccesses++] = (sim_access){datum, mode};
    graph->tasks[graph->ntasks - 1].naccess++;
}

static void add_before(sim_graph *graph, sim_task *task, uint32_t before)
{
    for (uint32_t i = task->first_before; i < graph->nbefore; i++)
        if (graph->before[i] == before)
            return;
    graph->before = sim_grown(graph->before, graph->nbefore, &graph->before_capacity, sizeof *graph->before);
    graph->before[graph->nbefore++] = before;
    task->nbefore++;
}

void sim_graph_before(sim_graph *graph, uint32_t before)
{
    add_before(graph, &graph->tasks[graph->ntasks - 1], before);
}

/* --- dependences from accesses ------------------------------------------------ */

/* Of a datum: its last writer and the accesses that have read it since, linked from the latest. */
struct history {
    uint32_t writer, reader; /* a task, an access; each plus one, 0: none */
};

static void depend_on_readers(sim_graph *graph, sim_task *task, const uint32_t *earlier, const uint32_t *task_of,
                              uint32_t reader)
{
    for (; reader; reader = earlier[reader - 1])
        add_before(graph, task, task_of[reader - 1]);
}

void sim_graph_depend(sim_graph *graph)
{
    struct history *history = sim_checked(calloc(graph->ndata + 1, sizeof *history));
    uint32_t *earlier =
        sim_checked(calloc(graph->naccesses + 1, sizeof *earlier)); /* by access: the reader before it */
    uint32_t *task_of = sim_checked(calloc(graph->naccesses + 1, sizeof *task_of));
    graph->nbefore = 0;
    for (uint32_t t = 0; t < graph->ntasks; t++) {
        sim_task *task = &graph->tasks[t];
        task->first_before = graph->nbefore;
        task->nbefore = 0;
        for (uint32_t a = task->first_access; a < task->first_access + task->naccess; a++) {
            struct history *datum = &history[graph->accesses[a].datum];
            if (graph->accesses[a].mode & OD_WRITE)
                depend_on_readers(graph, task, earlier, task_of, datum->reader);
            if (datum->writer && !((graph->accesses[a].mode & OD_WRITE) && datum->reader))
                add_before(graph, task, datum->writer - 1);
        }
        for (uint32_t a = task->first_access; a < task->first_access + task->naccess; a++) {
            struct history *datum = &history[graph->accesses[a].datum];
            task_of[a] = t;
            if (graph->accesses[a].mode & OD_WRITE) {
                *datum = (struct history){.writer = t + 1};
            } else {
                earlier[a] = datum->reader;
                datum->reader = a + 1;
            }
        }
    }
    free(history);
    free(earlier);
    free(task_of);
}

double sim_graph_flops(const sim_graph *graph)
{
    double flops = 0;
    for (uint32_t t = 0; t < graph->ntasks; t++)
        flops += graph->kernels[graph->tasks[t].kernel].flops;
    return flops;
}

double sim_graph_bytes(const sim_graph *graph)
{
    double bytes = 0;
    for (uint32_t d = 0; d < graph->ndata; d++)
        bytes += (double)graph->data[d].bytes;
    return bytes;
}
