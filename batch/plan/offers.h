/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What each node offers to jobs of one *shape*: cores, size of the file, and walltime where that matters. Worked
 * out anew for those nodes only that have changed since. A shape is there as long as jobs of it wait.
 */
#ifndef OD_BATCH_PLAN_OFFERS_H
#define OD_BATCH_PLAN_OFFERS_H

#include "batch/plan/nodes.h"
#include "batch/policy.h"
#include "util/container/list.h"

typedef struct od_batch_shape {
    od_node link;                    /* in the list of all */
    double size, walltime;           /* walltime 0: any */
    double *start, *load, *eviction; /* by node; load as if no node had the file */
    double now;                      /* at which `start` was worked out */
    uint64_t change;                 /* of the nodes, up to which they are known */
    uint32_t cores;
    uint32_t waiting;   /* jobs */
    uint32_t unplanned; /* of these, in the plan that is being made */
    bool live;          /* one could start early enough in that plan */

    double *scores;    /* by node, for files that are nowhere */
    uint32_t *winners; /* a tournament: [leaves + k] is node k, [i] the better one of [2 i] and [2 i + 1] */
    uint32_t leaves;
    uint32_t *rescore, nrescore; /* nodes whose offers have changed since; as many as nodes: all */
    od_batch_offers scored;      /* what else the scores depend on */
    const od_batch_policy_ops *policy;
} od_batch_shape;

/* NULL: out of memory. */
od_batch_shape *od_batch_shape_create(const od_batch_nodes *nodes, uint32_t cores, double size, double walltime);
void od_batch_shape_free(od_batch_shape *shape);

static inline bool od_batch_shape_is(const od_batch_shape *shape, uint32_t cores, double size, double walltime)
{
    return shape->cores == cores && !(shape->size < size) && !(shape->size > size) && !(shape->walltime < walltime) &&
           !(shape->walltime > walltime);
}

/* Brings the offers up to date. */
void od_batch_shape_refresh(od_batch_shape *shape, const od_batch_nodes *nodes, double now, bool wants_files);

/* Some node offers a start as soon as the nodes look ahead. The offers need not be up to date. */
bool od_batch_shape_can_start(const od_batch_shape *shape, const od_batch_nodes *nodes);

/* The node with the policy's lowest score for a job of this shape, which is up to date. What `offers` is to say of the
 * cluster is in there; the rest is filled in. */
uint32_t od_batch_shape_choose(od_batch_shape *shape, od_batch_nodes *nodes, uint32_t file,
                               const od_batch_policy_ops *policy, od_batch_offers offers);

#endif
