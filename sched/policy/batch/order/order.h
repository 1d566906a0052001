/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Orders of a batch from the literature, as Gonthier's thesis adapts them, and what is done to an order afterwards.
 *
 * Parts: K consecutive pieces of an order, one per device; part p is order[begin[p]] .. order[begin[p + 1] - 1].
 * `order` has room for ntasks elements, `begin` for K + 1. All functions are deterministic: ties go to the task
 * that comes first in the batch. They fail with OD_ENOMEM only, and leave the results undefined then.
 */
#ifndef OD_SCHED_POLICY_BATCH_ORDER_ORDER_H
#define OD_SCHED_POLICY_BATCH_ORDER_ORDER_H

#include "sched/policy/batch/order/batch.h"

#include <stdbool.h>

/* Reverse Cuthill-McKee (Algorithm 3), edges weighted by the bytes that two tasks share. A graph that is not connected:
 * each further component begins at its task of least weighted degree. */
od_status od_order_rcm(const od_batch *batch, uint32_t *order);

/* Maximum spanning tree (Algorithm 4): Prim's algorithm from the first task, tasks in the order in which they
 * join the tree. The length of an edge is the number of bytes that its two tasks share. */
od_status od_order_mst(const od_batch *batch, uint32_t *order);

typedef struct od_hfp_options {
    uint64_t memory; /* M: bytes that a device holds */
    uint32_t parts;  /* K: packages to end with, >= 1 */
    bool flip;       /* reverse packages where the ends that meet share more then (thesis, 3.3.5) */
    bool fast_start; /* the first iteration merges any two tasks that share something (3.5.1) */
} od_hfp_options;

/* Hierarchical Fair Packing (Algorithm 5; with K > 1 line 1 of Algorithm 8, to be balanced afterwards). */
od_status od_order_hfp(const od_batch *batch, const od_hfp_options *options, uint32_t *order, uint32_t *begin);

/* mHFP^2 (4.2.2): HFP anew inside each part. */
od_status od_order_hfp_again(const od_batch *batch, const od_hfp_options *options, uint32_t *order,
                             const uint32_t *begin);

/* Cuts an order into parts of about equal total duration. */
void od_order_split(const od_batch *batch, uint32_t parts, const uint32_t *order, uint32_t *begin);

/* Algorithm 8, lines 2 to 7, by durations: tasks move from the tail of the longest part to that of the shortest one,
 * neither passing the mean. */
void od_order_balance(const od_batch *batch, uint32_t parts, uint32_t *order, uint32_t *begin);

/* Interlacing (4.2.2): from the middle of each part outwards, the two halves by turns. */
od_status od_order_interlace(uint32_t parts, uint32_t *order, const uint32_t *begin);

#endif
