/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dag/order/tree.h"

#include <stdlib.h>

static bool one_at_most(const od_dag *dag, const od_dag_lists *lists)
{
    for (uint32_t t = 0; t < dag->ntasks; t++)
        if (od_dag_count(lists, t) > 1)
            return false;
    return true;
}

od_dag_shape od_dag_tree_shape(const od_dag *dag)
{
    bool initial = false, kept = false;
    for (uint32_t d = 0; d < dag->ndata; d++) {
        const od_dag_datum *datum = &dag->data[d];
        if (datum->nreaders > 1)
            return OD_DAG_GENERAL;
        initial |= datum->producer == OD_DAG_NONE && !datum->lazy;
        kept |= datum->nreaders == 0;
    }
    if (!initial && one_at_most(dag, &dag->after))
        return OD_DAG_IN_TREE;
    return !kept && one_at_most(dag, &dag->before) ? OD_DAG_OUT_TREE : OD_DAG_GENERAL;
}

static void turn_array(uint32_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = items[count - 1 - i];
        items[count - 1 - i] = items[i];
        items[i] = other;
    }
}

void od_dag_tree_turn(const od_dag_tree *tree, uint32_t *order, uint32_t count)
{
    if (tree->backwards)
        turn_array(order, count);
}

od_status od_dag_tree_make(const od_dag *dag, od_dag_model model, od_dag_tree *tree)
{
    od_dag_shape shape = od_dag_tree_shape(dag);
    bool exact;
    *tree = (od_dag_tree){.children = &dag->before, .parent = &dag->after, .backwards = shape == OD_DAG_OUT_TREE};
    if (shape == OD_DAG_GENERAL)
        return OD_EINVAL;
    tree->sorted = malloc(((size_t)dag->ntasks + 1) * sizeof *tree->sorted);
    tree->steps = malloc(((size_t)dag->ntasks + 1) * sizeof *tree->steps);
    if (!tree->sorted || !tree->steps || od_dag_steps(dag, model, dag->sorted, tree->steps, &exact))
        return OD_ENOMEM;
    for (uint32_t i = 0; i < dag->ntasks; i++)
        tree->sorted[i] = dag->sorted[i];
    if (!tree->backwards)
        return OD_OK;
    tree->children = &dag->after;
    tree->parent = &dag->before;
    turn_array(tree->sorted, dag->ntasks);
    for (uint32_t t = 0; t < dag->ntasks; t++)
        tree->steps[t] = (od_dag_step){tree->steps[t].rise - tree->steps[t].change, -tree->steps[t].change};
    return OD_OK;
}

void od_dag_tree_free(od_dag_tree *tree)
{
    free(tree->sorted);
    free(tree->steps);
}
