/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/analyze/recorded.h"

#include "sim/graph/graph_file.h"
#include "sim/graph/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in the graph, by task of the other one. */
typedef struct converter {
    const sim_graph *from;
    od_dag *to;
    uint32_t *task;
    uint32_t *first, *user; /* by datum: its users, tasks of `to` */
} converter;

static uint32_t add_task(converter *c, const char *kernel, uint32_t number, double seconds)
{
    char name[96];
    snprintf(name, sizeof name, "%.64s.%u", kernel, number);
    for (char *at = name; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == '"')
            *at = '_';
    return od_dag_add_task(c->to, name, seconds, 0);
}

static const sim_kernel *kernel_of(const converter *c, uint32_t task)
{
    return &c->from->kernels[c->from->tasks[task].kernel];
}

/* Who uses each datum, in the order of submission. */
static bool list_users(converter *c)
{
    const sim_graph *g = c->from;
    c->first = calloc((size_t)g->ndata + 2, sizeof *c->first);
    c->user = malloc(((size_t)g->naccesses + 1) * sizeof *c->user);
    if (!c->first || !c->user)
        return false;
    for (uint32_t a = 0; a < g->naccesses; a++)
        c->first[g->accesses[a].datum + 2]++;
    for (uint32_t d = 0; d < g->ndata; d++)
        c->first[d + 2] += c->first[d + 1];
    for (uint32_t t = 0; t < g->ntasks; t++)
        for (uint32_t a = 0; a < g->tasks[t].naccess; a++)
            c->user[c->first[g->accesses[g->tasks[t].first_access + a].datum + 1]++] = c->task[t];
    return true;
}

static bool comes_after(const od_dag *dag, uint32_t task, uint32_t before)
{
    for (uint32_t i = dag->before.first[task]; i < dag->before.first[task + 1]; i++)
        if (dag->before.items[i] == before)
            return true;
    return false;
}

/* Its first user is its producer where that precedes all others. */
static bool add_datum(converter *c, uint32_t d)
{
    const uint32_t *user = c->user + c->first[d];
    uint32_t count = c->first[d + 1] - c->first[d];
    bool made = count > 1;
    for (uint32_t i = 1; i < count && made; i++)
        made = user[i] != user[0] && comes_after(c->to, user[i], user[0]);
    if (!count)
        return true;
    bool fine =
        od_dag_add_datum(c->to, (int64_t)c->from->data[d].bytes, made ? user[0] : OD_DAG_NONE, true) != OD_DAG_NONE;
    for (uint32_t i = made; i < count && fine; i++)
        if (i == 0 || user[i] != user[i - 1])
            fine = od_dag_add_reader(c->to, user[i]) != OD_DAG_NONE;
    return fine;
}

/* The tasks and their orders are there. */
static od_status add_data(converter *c, char *error, size_t size)
{
    for (uint32_t d = 0; d < c->from->ndata; d++)
        if (c->from->data[d].bytes > (size_t)OD_DAG_MOST_BYTES) {
            snprintf(error, size, "datum %u has more than 2^60 bytes", d);
            return OD_EINVAL;
        }
    od_status status = od_dag_finish(c->to, error, size); /* for comes_after() */
    bool fine = !status && list_users(c);
    for (uint32_t d = 0; d < c->from->ndata && fine; d++)
        fine = add_datum(c, d);
    if (status)
        return status;
    return fine ? od_dag_finish(c->to, error, size) : OD_ENOMEM;
}

static void free_converter(converter *c)
{
    free(c->task);
    free(c->first);
    free(c->user);
}

/* Nodes that are no task of the scheduler order others all the same. */
static bool add_nodes(converter *c, const sim_recording *r, uint32_t *number)
{
    for (uint32_t n = 0; n < r->nnodes; n++) {
        uint32_t t = r->nodes[n].task;
        number[n] = t == SIM_NO_TASK ? add_task(c, "host", n + 1, 0)
                                     : add_task(c, kernel_of(c, t)->name, n + 1, c->from->tasks[t].seconds);
        if (number[n] == OD_DAG_NONE)
            return false;
        if (t != SIM_NO_TASK)
            c->task[t] = number[n];
    }
    for (uint32_t n = 0; n < r->nnodes; n++)
        for (uint32_t i = 0; i < r->nodes[n].nbefore; i++)
            if (od_dag_add_order(c->to, number[r->before[r->nodes[n].first_before + i]], number[n]) == OD_DAG_NONE)
                return false;
    return true;
}

static od_status convert_recording(const sim_graph *graph, const sim_recording *r, od_dag *dag, char *error,
                                   size_t size)
{
    converter c = {.from = graph, .to = dag, .task = malloc(((size_t)graph->ntasks + 1) * sizeof *c.task)};
    uint32_t *number = malloc(((size_t)r->nnodes + 1) * sizeof *number);
    od_status status = c.task && number && add_nodes(&c, r, number) ? OD_OK : OD_ENOMEM;
    if (!status)
        status = add_data(&c, error, size);
    if (!status && !dag->ntasks) {
        snprintf(error, size, "no task");
        status = OD_EINVAL;
    }
    free(number);
    free_converter(&c);
    return status;
}

od_status analyze_read_recorded(const char *path, od_dag *dag, int64_t *memory, char *error, size_t size)
{
    sim_graph graph = {0};
    sim_recording recording = {0};
    od_status status = sim_graph_read(path, &graph, &recording, error, size);
    if (!status)
        status = convert_recording(&graph, &recording, dag, error, size);
    *memory = (int64_t)recording.memory;
    sim_recording_free(&recording);
    sim_graph_free(&graph);
    return status;
}

static bool add_workload_tasks(converter *c)
{
    for (uint32_t t = 0; t < c->from->ntasks; t++) {
        const sim_kernel *kernel = kernel_of(c, t);
        double seconds = c->from->tasks[t].seconds > 0 ? c->from->tasks[t].seconds : kernel->flops * 1e-12;
        c->task[t] = add_task(c, kernel->name, t, seconds);
        if (c->task[t] == OD_DAG_NONE)
            return false;
    }
    for (uint32_t t = 0; t < c->from->ntasks; t++)
        for (uint32_t i = 0; i < c->from->tasks[t].nbefore; i++)
            if (od_dag_add_order(c->to, c->task[c->from->before[c->from->tasks[t].first_before + i]], c->task[t]) ==
                OD_DAG_NONE)
                return false;
    return true;
}

od_status analyze_make_workload(const char *text, od_dag *dag, char *error, size_t size)
{
    sim_workload workload = {0};
    sim_graph graph = {0};
    od_status status = sim_workload_parse(text, &workload, error, size);
    if (status)
        return status;
    sim_workload_make(&workload, &graph);
    converter c = {.from = &graph, .to = dag, .task = malloc(((size_t)graph.ntasks + 1) * sizeof *c.task)};
    status = c.task && add_workload_tasks(&c) ? add_data(&c, error, size) : OD_ENOMEM;
    free_converter(&c);
    sim_graph_free(&graph);
    return status;
}
