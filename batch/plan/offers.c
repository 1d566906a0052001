/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each node offers to jobs of one shape; see offers.h. */
#include "batch/plan/offers.h"

#include <math.h>
#include <stdlib.h>

od_batch_shape *od_batch_shape_create(const od_batch_nodes *nodes, const od_batch_job *job, double walltime)
{
    uint32_t n = nodes->cluster->count;
    od_batch_shape *shape = calloc(1, sizeof *shape);
    double *numbers = calloc(n, 4 * sizeof *numbers);
    uint32_t *holders = calloc(n, sizeof *holders);
    if (!shape || !numbers || !holders) {
        free(shape);
        free(numbers);
        free(holders);
        return NULL;
    }
    *shape = (od_batch_shape){.size = job->size, .walltime = walltime, .cores = job->cores, .now = -HUGE_VAL,
                              .holders = holders};
    shape->start = numbers;
    shape->load = numbers + n;
    shape->eviction = numbers + (size_t)2 * n;
    shape->scores = numbers + (size_t)3 * n;
    for (uint32_t k = 0; k < n; k++) {
        const od_batch_node *node = &nodes->cluster->nodes[k];
        bool fits = job->cores <= node->cores && job->size <= node->memory;
        shape->start[k] = fits ? -HUGE_VAL : HUGE_VAL;
    }
    return shape;
}

void od_batch_shape_free(od_batch_shape *shape)
{
    free(shape->start);
    free(shape->holders);
    free(shape);
}

static void ask(od_batch_shape *shape, const od_batch_nodes *nodes, uint32_t k, double now, bool wants_files)
{
    const od_batch_node *node = &nodes->cluster->nodes[k];
    if (shape->start[k] >= HUGE_VAL)
        return;
    shape->start[k] = od_batch_timeline_earliest(&nodes->node[k].planned, shape->cores, shape->walltime, now);
    if (!wants_files)
        return;
    shape->load[k] = od_batch_load(shape->size, node);
    shape->eviction[k] = od_batch_nodes_resident(nodes, k, shape->start[k]) * shape->size / node->memory / node->bandwidth;
}

/* Nodes that had something to offer in the past. What is in memory changes when a job starts, which changes the node. */
static void catch_up(od_batch_shape *shape, const od_batch_nodes *nodes, double now, bool wants_files)
{
    for (uint32_t k = 0; k < nodes->cluster->count; k++)
        if (shape->start[k] < now) {
            bool same = !nodes->node[k].planned.backfill && !isinf(shape->start[k]);
            if (same)
                shape->start[k] = now;
            else
                ask(shape, nodes, k, now, wants_files);
        }
    shape->now = now;
}

void od_batch_shape_refresh(od_batch_shape *shape, const od_batch_nodes *nodes, double now, bool wants_files)
{
    uint32_t n = nodes->cluster->count;
    if (nodes->change - shape->change >= n) {
        for (uint32_t k = 0; k < n; k++)
            if (nodes->node[k].change > shape->change)
                ask(shape, nodes, k, now, wants_files);
    } else {
        for (uint64_t i = shape->change + 1; i <= nodes->change; i++) {
            uint32_t k = nodes->changed[i % n];
            if (nodes->node[k].change == i)
                ask(shape, nodes, k, now, wants_files);
        }
    }
    shape->change = nodes->change;
    if (shape->now < now)
        catch_up(shape, nodes, now, wants_files);
}

static uint32_t lowest(const double *values, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < count; k++)
        if (values[k] < values[best])
            best = k;
    return best;
}

double od_batch_shape_earliest(const od_batch_shape *shape, const od_batch_nodes *nodes)
{
    return shape->start[lowest(shape->start, nodes->cluster->count)];
}

static void shorten_load(void *argument, uint32_t k, double ready)
{
    od_batch_shape *shape = argument;
    shape->load[k] = ready - shape->start[k];
    shape->holders[shape->nholders++] = k;
}

static void forget_holders(od_batch_shape *shape, const od_batch_cluster *cluster)
{
    while (shape->nholders > 0) {
        uint32_t k = shape->holders[--shape->nholders];
        shape->load[k] = od_batch_load(shape->size, &cluster->nodes[k]);
    }
}

uint32_t od_batch_shape_choose(od_batch_shape *shape, od_batch_nodes *nodes, const od_batch_job *job,
                               const od_batch_policy_ops *policy, double now, double weight)
{
    od_batch_offers offers = {.nodes = nodes->cluster->count, .now = now, .weight = weight,
                              .saturated = od_batch_nodes_saturated(nodes), .start = shape->start,
                              .load = shape->load, .eviction = shape->eviction};
    if (policy->wants_files)
        od_batch_nodes_holding(nodes, job->file, shape->start, shorten_load, shape);
    policy->score(&offers, shape->scores);
    forget_holders(shape, nodes->cluster);
    return lowest(shape->scores, offers.nodes);
}
