/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Parts of equal duration that share few data: a hypergraph whose vertices are the tasks and whose hyperedges
 * are the data, partitioned by METIS (Gonthier's thesis, 4.1.2).
 *
 * METIS knows graphs only. In the graph of tasks and data, with an edge for each use, weights on the tasks alone and
 * communication volumes on the data alone, its total-volume objective is the hypergraph's: the size of each datum times
 * the number of parts that use it, less one.
 *
 * The library is opened when the policy is created, not linked. While it computes it catches SIGABRT and SIGTERM.
 */
#ifndef OD_SCHED_POLICY_BATCH_ORDER_PARTITION_H
#define OD_SCHED_POLICY_BATCH_ORDER_PARTITION_H

#include "sched/policy/batch/order/order.h"

#include <stddef.h>

typedef struct od_partitioner {
    int (*set_default_options)(int32_t *options);
    int (*partition)(int32_t *nvertices, int32_t *nweights, int32_t *first, int32_t *neighbour, int32_t *weight,
                     int32_t *volume, int32_t *edge_weight, int32_t *nparts, float *targets, float *imbalance,
                     int32_t *options, int32_t *objective, int32_t *part);
} od_partitioner;

/* OD_EIO, and one line in `error`: METIS is not there, or was built with wider numbers than these. */
od_status od_partitioner_load(od_partitioner *partitioner, char *error, size_t size);

/* Tasks keep their order within each part. `cuts`: partitions to try, of which the best is kept. Batches that are too
 * small to partition are cut by od_order_split(), and so are, with a message, those that METIS refuses. */
od_status od_order_partition(const od_batch *batch, uint32_t parts, const od_partitioner *partitioner, uint32_t cuts,
                             uint32_t *order, uint32_t *begin);

#endif
