/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The algorithms of sched/policy/batch/order/ straight from their pseudo-code: full scans over small batches, sets of
 * data as bit masks, nothing kept between two steps. And the number of loads of an order in the model of the papers.
 */
#ifndef TESTS_UNIT_ORDER_REFERENCE_H
#define TESTS_UNIT_ORDER_REFERENCE_H

#include "sched/policy/batch/order/order.h"

enum { REF_TASKS = 32, REF_DATA = 24 };

/* A batch with memory of its own. */
typedef struct ref_batch {
    od_batch batch;
    uint32_t first[REF_TASKS + 1];
    uint32_t datum[REF_TASKS * REF_DATA];
    uint64_t size[REF_DATA];
    double duration[REF_TASKS];
} ref_batch;

/* ntasks tasks with the data whose bits are set in `uses`; unit sizes and durations. */
void ref_make(ref_batch *batch, uint32_t ntasks, uint32_t ndata, const uint32_t *uses);
uint32_t ref_uses(const od_batch *batch, uint32_t task);

void ref_rcm(const od_batch *batch, uint32_t *order);
void ref_mst(const od_batch *batch, uint32_t *order);
void ref_hfp(const od_batch *batch, const od_hfp_options *options, uint32_t *order, uint32_t *begin);
void ref_balance(const od_batch *batch, uint32_t parts, uint32_t *order, uint32_t *begin);

typedef enum ref_rule { REF_BELADY, REF_LRU } ref_rule;

/* Bytes loaded when the tasks run in this order on a device of `memory` bytes; any size of batch. */
uint64_t ref_loads(const od_batch *batch, const uint32_t *order, uint32_t count, uint64_t memory, ref_rule rule);

/* The fewest loads of all ways to evict, by trying all; unit sizes. */
uint64_t ref_fewest_loads(const od_batch *batch, const uint32_t *order, uint32_t count, uint32_t memory);

#endif
