/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Orders in which one processor runs a graph, for the least memory.
 *
 *   depth-first    of the ready tasks, the one that became ready last
 *   breadth-first  the one that became ready first
 *   postorder      trees: each subtree as a whole, children by non-increasing peak less residual: the best of all
 *                  postorders
 *   liu            trees: the optimum (Liu, An application of generalized tree pebbling to sparse matrix factorization,
 *                  1987), in O(n log n)
 *   series         series-parallel graphs: the optimum (Kayaaslan, Lambert, Marchal, Uçar, Scheduling series-parallel
 *                  task graphs to minimize peak memory, 2018). Others are made series-parallel by synchronisation
 *                  points; never worse than the order it starts from
 */
#ifndef OD_DAG_ORDER_ORDER_H
#define OD_DAG_ORDER_ORDER_H

#include "dag/memory.h"

/* `order` has room for all tasks. All return OD_OK or OD_ENOMEM, and what else is said. */

od_status od_dag_depth_first(const od_dag *dag, uint32_t *order);
od_status od_dag_breadth_first(const od_dag *dag, uint32_t *order);

/* A tree or several: towards the roots if no task has two after it, away from them if none has two before it. */
typedef enum od_dag_shape { OD_DAG_GENERAL, OD_DAG_IN_TREE, OD_DAG_OUT_TREE } od_dag_shape;

/* GENERAL, too, where data have several readers, or where, seen from its leaves, memory is in use that no task of the
 * tree has taken. */
od_dag_shape od_dag_tree_shape(const od_dag *dag);

/* OD_EINVAL: no tree. */
od_status od_dag_postorder(const od_dag *dag, od_dag_model model, uint32_t *order);
od_status od_dag_liu(const od_dag *dag, od_dag_model model, uint32_t *order);

typedef struct od_dag_series {
    uint32_t synchronisations; /* that were added; 0: the graph is series-parallel */
    bool optimal;              /* it is, and no datum has several last readers */
} od_dag_series;

/* From the order `start`, which may be `order` itself. OD_EBUSY: nested too deeply to be done in reasonable time. */
od_status od_dag_series_parallel(const od_dag *dag, od_dag_model model, const uint32_t *start, uint32_t *order,
                                 od_dag_series *found);

#endif
