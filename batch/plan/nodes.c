/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The nodes as they are and as they are planned; see nodes.h. */
#include "batch/plan/nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 64 };

static uint32_t words(const od_batch_nodes *nodes)
{
    return (nodes->cluster->count + WORD - 1) / WORD;
}

od_status od_batch_nodes_init(od_batch_nodes *nodes, const od_batch_cluster *cluster, uint32_t files, bool backfill)
{
    uint32_t n = cluster->count;
    *nodes = (od_batch_nodes){.cluster = cluster, .files = files};
    nodes->node = calloc(n, sizeof *nodes->node);
    nodes->changed = calloc(n, sizeof *nodes->changed);
    nodes->differing = calloc(n, sizeof *nodes->differing);
    nodes->idle = calloc(n, sizeof *nodes->idle);
    nodes->file_size = calloc((size_t)files + 1, sizeof *nodes->file_size);
    nodes->holders = calloc((size_t)files + 1, sizeof *nodes->holders);
    bool fine = nodes->node && nodes->changed && nodes->differing && nodes->idle && nodes->file_size && nodes->holders;
    for (uint32_t k = 0; k < n && fine; k++) {
        nodes->cores += cluster->nodes[k].cores;
        fine = !od_batch_timeline_init(&nodes->node[k].actual, cluster->nodes[k].cores, backfill) &&
               !od_batch_timeline_init(&nodes->node[k].planned, cluster->nodes[k].cores, backfill);
    }
    return fine ? OD_OK : OD_ENOMEM;
}

void od_batch_nodes_free(od_batch_nodes *nodes)
{
    for (uint32_t k = 0; nodes->node && k < nodes->cluster->count; k++) {
        od_batch_timeline_free(&nodes->node[k].actual);
        od_batch_timeline_free(&nodes->node[k].planned);
    }
    for (uint32_t f = 0; nodes->holders && f < nodes->files; f++)
        free(nodes->holders[f]);
    free(nodes->node);
    free(nodes->changed);
    free(nodes->differing);
    free(nodes->idle);
    free(nodes->file_size);
    free(nodes->holders);
    *nodes = (od_batch_nodes){0};
}

/* --- changes --------------------------------------------------------------------------- */

static void note_change(od_batch_nodes *nodes, uint32_t k)
{
    nodes->node[k].change = ++nodes->change;
    nodes->changed[nodes->change % nodes->cluster->count] = k;
}

static void mark_differing(od_batch_nodes *nodes, uint32_t k)
{
    if (!nodes->node[k].differs)
        nodes->differing[nodes->ndiffering++] = k;
    nodes->node[k].differs = true;
    note_change(nodes, k);
}

od_status od_batch_nodes_reset(od_batch_nodes *nodes)
{
    for (uint32_t i = 0; i < nodes->ndiffering; i++) {
        od_batch_plan_node *node = &nodes->node[nodes->differing[i]];
        if (od_batch_timeline_copy(&node->planned, &node->actual))
            return OD_ENOMEM;
        node->differs = node->starts = false;
        note_change(nodes, nodes->differing[i]);
    }
    nodes->ndiffering = nodes->starting = 0;
    return OD_OK;
}

static void look_ahead(od_batch_nodes *nodes, od_batch_plan_node *node)
{
    node->soon = od_batch_timeline_most_free(&node->planned, nodes->now, nodes->until);
}

void od_batch_nodes_look_ahead(od_batch_nodes *nodes, double now, double until)
{
    nodes->now = now;
    nodes->until = until;
    nodes->nidle = 0;
    for (uint32_t k = 0; k < nodes->cluster->count; k++) {
        look_ahead(nodes, &nodes->node[k]);
        if (nodes->node[k].soon)
            nodes->idle[nodes->nidle++] = k;
    }
}

/* --- files ------------------------------------------------------------------------------- */

double od_batch_nodes_ready(const od_batch_nodes *nodes, uint32_t k, uint32_t file, double time, bool actual)
{
    bool ever;
    const od_batch_plan_node *node = &nodes->node[k];
    const od_batch_use *use = od_batch_timeline_find(actual ? &node->actual : &node->planned, file, time, &ever);
    return use ? fmax(use->ready, time) : time + od_batch_load(nodes->file_size[file], &nodes->cluster->nodes[k]);
}

static od_status note_holder(od_batch_nodes *nodes, uint32_t file, uint32_t k)
{
    uint64_t **bits = &nodes->holders[file];
    if (!*bits)
        *bits = calloc(words(nodes), sizeof **bits);
    if (!*bits)
        return OD_ENOMEM;
    (*bits)[k / WORD] |= UINT64_C(1) << k % WORD;
    return OD_OK;
}

void od_batch_nodes_holding(od_batch_nodes *nodes, uint32_t file, const double *start,
                            void (*visit)(void *argument, uint32_t k, double ready), void *argument)
{
    uint64_t *bits = nodes->holders[file];
    for (uint32_t w = 0; bits && w < words(nodes); w++)
        for (uint64_t left = bits[w]; left; left &= left - 1) {
            bool ever;
            uint32_t k = w * WORD + (uint32_t)__builtin_ctzll(left);
            if (isinf(start[k]))
                continue;
            const od_batch_use *use = od_batch_timeline_find(&nodes->node[k].planned, file, start[k], &ever);
            if (use)
                visit(argument, k, fmax(use->ready, start[k]));
            else if (!ever)
                bits[w] &= ~(left & -left);
        }
}

typedef struct memory {
    const double *file_size;
    double sum;
    uint32_t seen[OD_BATCH_MOST_CORES], count; /* files; as many as fit are remembered, which is all */
} memory;

static void add_file(void *argument, uint32_t file)
{
    memory *m = argument;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->seen[i] == file)
            return;
    if (m->count < OD_BATCH_MOST_CORES)
        m->seen[m->count++] = file;
    m->sum += m->file_size[file];
}

double od_batch_nodes_resident(const od_batch_nodes *nodes, uint32_t k, double time)
{
    memory m;
    m.file_size = nodes->file_size;
    m.sum = 0;
    m.count = 0;
    od_batch_timeline_resident(&nodes->node[k].planned, time, add_file, &m);
    return m.sum;
}

/* --- jobs ---------------------------------------------------------------------------------- */

static od_batch_use use_of(const od_batch_job *job, double start, double ready)
{
    return (od_batch_use){.start = start,
                          .end = start + job->walltime,
                          .ready = ready,
                          .file = job->file,
                          .job = job->number,
                          .cores = job->cores};
}

od_status od_batch_nodes_reserve(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double start, double now,
                                 double *ready)
{
    od_batch_plan_node *node = &nodes->node[k];
    *ready = od_batch_nodes_ready(nodes, k, job->file, start, false);
    mark_differing(nodes, k);
    if (start <= now && !node->running && !node->starts) {
        node->starts = true;
        nodes->starting++;
    }
    od_status status = od_batch_timeline_add(&node->planned, use_of(job, start, *ready));
    look_ahead(nodes, node);
    return status ? status : note_holder(nodes, job->file, k);
}

od_status od_batch_nodes_start(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double now, double *ready)
{
    od_batch_plan_node *node = &nodes->node[k];
    *ready = od_batch_nodes_ready(nodes, k, job->file, now, true);
    mark_differing(nodes, k);
    nodes->busy += node->running++ == 0;
    nodes->taken += job->cores;
    od_batch_timeline_prune(&node->actual, now);
    od_status status = od_batch_timeline_add(&node->actual, use_of(job, now, *ready));
    return status ? status : note_holder(nodes, job->file, k);
}

void od_batch_nodes_end(od_batch_nodes *nodes, uint32_t k, const od_batch_job *job, double now)
{
    od_batch_plan_node *node = &nodes->node[k];
    od_batch_timeline_end(&node->actual, job->number, now);
    mark_differing(nodes, k);
    nodes->busy -= --node->running == 0;
    nodes->taken -= job->cores;
}

bool od_batch_nodes_is_valid(const od_batch_nodes *nodes)
{
    uint32_t busy = 0;
    for (uint32_t k = 0; k < nodes->cluster->count; k++) {
        const od_batch_plan_node *node = &nodes->node[k];
        busy += node->running > 0;
        if (!od_batch_timeline_is_valid(&node->actual) || !od_batch_timeline_is_valid(&node->planned))
            return false;
    }
    return busy == nodes->busy;
}
