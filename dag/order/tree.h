/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A graph that is a tree, or several, as its algorithms want it: edges towards the roots. A tree with edges away from
 * its root is taken backwards in time: the same levels, and so the same peak, in the opposite order.
 */
#ifndef OD_DAG_ORDER_TREE_H
#define OD_DAG_ORDER_TREE_H

#include "dag/order/order.h"

typedef struct od_dag_tree {
    const od_dag_lists *children, *parent; /* lists of the graph */
    uint32_t *sorted;                      /* children before parents */
    od_dag_step *steps;                    /* by task; in the tree's direction of time */
    bool backwards;
} od_dag_tree;

/* OD_EINVAL: no tree. */
od_status od_dag_tree_make(const od_dag *dag, od_dag_model model, od_dag_tree *tree);
void od_dag_tree_free(od_dag_tree *tree);

static inline bool od_dag_tree_is_root(const od_dag_tree *tree, uint32_t task)
{
    return !od_dag_count(tree->parent, task);
}

/* What was ordered in the tree's direction, in the graph's. */
void od_dag_tree_turn(const od_dag_tree *tree, uint32_t *order, uint32_t count);

#endif
