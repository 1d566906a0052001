/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Batch policies: on which node a job is to run, and when (Gonthier's thesis, section 6.4).
 *
 * A policy is a constant table of functions. The planner (batch/plan/planner.h) takes the waiting jobs in the order of
 * their submission. For each it works out what every node offers: from when its cores are free, for good or, with
 * backfilling, for the job's walltime; how long the file would then take to come; what that would evict. `score` turns
 * the offers into numbers, and the node with the lowest one is reserved, the first of several. So a policy is a pure
 * function: no state, no clock, no I/O. What it must keep to:
 *
 * - A node's score depends on what that node offers and on nothing of the others.
 * - It does not fall where the load is longer.
 * - An offer that starts at infinity is none (the job does not fit that node): its score must be infinite.
 * - `offers` is only to be read, and only during the call.
 *
 * The smallest policy is batch/policy/fcfs.c. Registration: define a `const od_batch_policy_ops` and put
 * OD_REGISTER_BATCH_POLICY(it) at the end of the file. No central list is edited.
 */
#ifndef OD_BATCH_POLICY_H
#define OD_BATCH_POLICY_H

#include "util/container/registry.h"

#include <stdbool.h>
#include <stdint.h>

enum { OD_BATCH_POLICY_INTERFACE = 1 };

#define OD_BATCH_USUAL_WEIGHT 500 /* of loads, in lea; section 6.4.2 */

/* What the nodes offer to one job; the arrays have an entry for each node. */
typedef struct od_batch_offers {
    uint32_t nodes;
    double now, weight;     /* s; what --weight says */
    bool saturated;         /* each node is running a job now, those among them that are about to be started */
    const double *start;    /* s: the time from which the cores are free, not before now; infinite: none */
    const double *load;     /* s from then on until the file is there */
    const double *eviction; /* s to load again what the file evicts in proportion: EvictionPenalty of Algorithm 15 */
    uint32_t cores;         /* of the job */
    double walltime;        /* s, of the job, rounded up without backfilling; with `wants_congestion`, else perhaps 0 */
    double congestion;      /* sum of 1 / walltime of the jobs that wait for cores, divided by all cores; likewise */
} od_batch_offers;

typedef struct od_batch_policy_ops {
    unsigned interface_version; /* OD_BATCH_POLICY_INTERFACE; stays the first member in all versions */
    const char *name;
    const char *description; /* one line */
    bool wants_files;        /* `load` and `eviction` are worked out; else they are zeros */
    bool wants_congestion;   /* `walltime` and `congestion`, likewise */
    void (*score)(const od_batch_offers *offers, double *scores); /* fills one for each node */
} od_batch_policy_ops;

const od_batch_policy_ops *od_batch_policy_find(const char *name); /* NULL: unknown */
const char *const *od_batch_policy_names(void);                    /* sorted, NULL-terminated */

#define OD_REGISTER_BATCH_POLICY(ops) OD_REGISTER(od_batch_policies, od_batch_policy_ops, ops)

#endif
