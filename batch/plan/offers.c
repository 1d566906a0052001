/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each node offers to jobs of one shape; see offers.h. */
#include "batch/plan/offers.h"

#include <math.h>
#include <stdlib.h>

static void offer_nothing(od_batch_shape *shape, const od_batch_nodes *nodes)
{
    for (uint32_t k = 0; k < nodes->cluster->count; k++) {
        const od_batch_node *node = &nodes->cluster->nodes[k];
        bool fits = shape->cores <= node->cores && shape->size <= node->memory;
        shape->start[k] = fits ? -HUGE_VAL : HUGE_VAL;
    }
}

od_batch_shape *od_batch_shape_create(const od_batch_nodes *nodes, uint32_t cores, double size, double walltime)
{
    uint32_t n = nodes->cluster->count, leaves = 1;
    while (leaves < n)
        leaves *= 2;
    od_batch_shape *shape = calloc(1, sizeof *shape);
    double *numbers = calloc(n, 4 * sizeof *numbers);
    uint32_t *numbers_of_nodes = calloc((size_t)leaves * 2 + n, sizeof *numbers_of_nodes);
    if (!shape || !numbers || !numbers_of_nodes) {
        free(shape);
        free(numbers);
        free(numbers_of_nodes);
        return NULL;
    }
    *shape = (od_batch_shape){.size = size,
                              .walltime = walltime,
                              .cores = cores,
                              .now = -HUGE_VAL,
                              .leaves = leaves,
                              .nrescore = n,
                              .winners = numbers_of_nodes,
                              .start = numbers};
    shape->load = numbers + n;
    shape->eviction = numbers + (size_t)2 * n;
    shape->scores = numbers + (size_t)3 * n;
    shape->rescore = numbers_of_nodes + (size_t)leaves * 2;
    offer_nothing(shape, nodes);
    return shape;
}

void od_batch_shape_free(od_batch_shape *shape)
{
    free(shape->start);
    free(shape->winners);
    free(shape);
}

/* --- offers --------------------------------------------------------------------------- */

static void ask(od_batch_shape *shape, const od_batch_nodes *nodes, uint32_t k, double now, bool wants_files)
{
    const od_batch_node *node = &nodes->cluster->nodes[k];
    if (shape->start[k] >= HUGE_VAL)
        return;
    if (shape->nrescore < nodes->cluster->count)
        shape->rescore[shape->nrescore++] = k;
    shape->start[k] = od_batch_timeline_earliest(&nodes->node[k].planned, shape->cores, shape->walltime, now);
    if (!wants_files)
        return;
    shape->load[k] = od_batch_load(shape->size, node);
    shape->eviction[k] =
        od_batch_nodes_resident(nodes, k, shape->start[k]) * shape->size / node->memory / node->bandwidth;
}

/* Nodes that had something to offer in the past. What is in memory changes when a job starts, which changes the
 * node. */
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

bool od_batch_shape_can_start(const od_batch_shape *shape, const od_batch_nodes *nodes)
{
    for (uint32_t i = 0; i < nodes->nidle; i++) {
        uint32_t k = nodes->idle[i];
        const od_batch_plan_node *node = &nodes->node[k];
        if (node->soon >= shape->cores && shape->start[k] < HUGE_VAL &&
            od_batch_timeline_earliest(&node->planned, shape->cores, shape->walltime, nodes->now) <= nodes->until)
            return true;
    }
    return false;
}

/* --- scores --------------------------------------------------------------------------- */

static void score(const od_batch_shape *shape, const od_batch_policy_ops *policy, uint32_t k, uint32_t count,
                  double load, double *scores)
{
    od_batch_offers offers = shape->scored;
    offers.nodes = count;
    offers.start = shape->start + k;
    offers.load = count == 1 ? &load : shape->load + k;
    offers.eviction = shape->eviction + k;
    policy->score(&offers, scores);
}

static uint32_t better(const od_batch_shape *shape, uint32_t a, uint32_t b)
{
    if (a == OD_BATCH_NONE || b == OD_BATCH_NONE)
        return a < b ? a : b;
    return shape->scores[b] < shape->scores[a] ? b : a; /* a is the lower number */
}

static void hold_tournament(od_batch_shape *shape, uint32_t nodes)
{
    for (uint32_t k = 0; k < shape->leaves; k++)
        shape->winners[shape->leaves + k] = k < nodes ? k : OD_BATCH_NONE;
    for (uint32_t i = shape->leaves - 1; i > 0; i--)
        shape->winners[i] = better(shape, shape->winners[2 * i], shape->winners[2 * i + 1]);
}

static void update_tournament(od_batch_shape *shape, uint32_t k)
{
    for (uint32_t i = (shape->leaves + k) / 2; i > 0; i /= 2)
        shape->winners[i] = better(shape, shape->winners[2 * i], shape->winners[2 * i + 1]);
}

static bool scored_otherwise(const od_batch_shape *shape, const od_batch_offers *now)
{
    const od_batch_offers *then = &shape->scored;
    return then->now < now->now || then->saturated != now->saturated || then->congestion < now->congestion ||
           then->congestion > now->congestion || shape->nrescore >= now->nodes;
}

static void rank(od_batch_shape *shape, const od_batch_offers *offers, const od_batch_policy_ops *policy)
{
    if (scored_otherwise(shape, offers)) {
        shape->scored = *offers;
        shape->policy = policy;
        score(shape, policy, 0, offers->nodes, 0, shape->scores);
        hold_tournament(shape, offers->nodes);
    } else {
        for (uint32_t i = 0; i < shape->nrescore; i++) {
            uint32_t k = shape->rescore[i];
            score(shape, policy, k, 1, shape->load[k], &shape->scores[k]);
            update_tournament(shape, k);
        }
    }
    shape->nrescore = 0;
}

typedef struct choice {
    const od_batch_shape *shape;
    double score;
    uint32_t node;
} choice;

/* A node that has the file scores better than it would without. */
static void consider(void *argument, uint32_t k, double ready)
{
    double value;
    choice *best = argument;
    score(best->shape, best->shape->policy, k, 1, ready - best->shape->start[k], &value);
    if (value < best->score || (value <= best->score && k < best->node)) {
        best->score = value;
        best->node = k;
    }
}

uint32_t od_batch_shape_choose(od_batch_shape *shape, od_batch_nodes *nodes, uint32_t file,
                               const od_batch_policy_ops *policy, od_batch_offers offers)
{
    offers.nodes = nodes->cluster->count;
    offers.saturated = od_batch_nodes_saturated(nodes);
    offers.cores = shape->cores;
    offers.walltime = shape->walltime;
    rank(shape, &offers, policy);
    choice best = {.shape = shape, .node = shape->winners[1]};
    best.score = shape->scores[best.node];
    if (policy->wants_files)
        od_batch_nodes_holding(nodes, file, shape->start, consider, &best);
    return best.node;
}
