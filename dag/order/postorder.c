/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The best postorder. Of two neighbouring subtrees j and k, j first has the peaks P_j and f_j + P_k, k first P_k and
 * f_k + P_j (f: what a subtree leaves in memory). If P_k - f_k >= P_j - f_j, then f_k + P_j <= f_j + P_k: k first is
 * never worse. So subtrees by non-increasing P - f are optimal.
 */
#include "dag/order/tree.h"

#include <stdlib.h>

typedef struct subtree {
    int64_t key; /* peak less residual */
    uint32_t task;
} subtree;

typedef struct workspace {
    od_dag_tree tree;
    od_dag_step *whole;     /* by task: the step of its subtree */
    subtree *children;      /* of one task; of the tasks that are not finished, while orders are written */
    uint32_t *next, *first; /* by task: its next sibling and first child in the order, plus one; 0: none */
} workspace;

static int by_key(const void *left, const void *right)
{
    const subtree *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* Sorts w->children and links them. */
static uint32_t link_children(workspace *w, uint32_t count)
{
    qsort(w->children, count, sizeof *w->children, by_key);
    for (uint32_t i = 0; i + 1 < count; i++)
        w->next[w->children[i].task] = w->children[i + 1].task + 1;
    return count ? w->children[0].task + 1 : 0;
}

static void add_child(workspace *w, uint32_t *count, uint32_t task)
{
    w->children[(*count)++] = (subtree){w->whole[task].rise - w->whole[task].change, task};
}

static void sum_up(workspace *w, uint32_t t)
{
    const od_dag_lists *children = w->tree.children;
    od_dag_step sum = {0, 0};
    uint32_t count = 0;
    for (uint32_t i = children->first[t]; i < children->first[t + 1]; i++)
        add_child(w, &count, children->items[i]);
    w->first[t] = link_children(w, count);
    for (uint32_t i = 0; i < count; i++)
        sum = od_dag_step_then(sum, w->whole[w->children[i].task]);
    w->whole[t] = od_dag_step_then(sum, w->tree.steps[t]);
}

/* From the root at the end backwards: a task, then its children, the last one first. */
static void write_order(const workspace *w, uint32_t roots, uint32_t ntasks, uint32_t *order)
{
    uint32_t *stack = order, top = 0, end = ntasks;
    /* What is left of `order` is as large as what is not written yet, of which the stack holds some. */
    for (uint32_t r = roots; r; r = w->next[r - 1])
        stack[top++] = r - 1;
    while (top > 0) {
        uint32_t t = stack[--top];
        order[--end] = t;
        for (uint32_t c = w->first[t]; c; c = w->next[c - 1])
            stack[top++] = c - 1;
    }
}

static void order_tree(workspace *w, uint32_t ntasks, uint32_t *order)
{
    uint32_t roots = 0;
    for (uint32_t i = 0; i < ntasks; i++)
        sum_up(w, w->tree.sorted[i]);
    for (uint32_t t = 0; t < ntasks; t++)
        if (od_dag_tree_is_root(&w->tree, t))
            add_child(w, &roots, t);
    write_order(w, link_children(w, roots), ntasks, order);
    od_dag_tree_turn(&w->tree, order, ntasks);
}

od_status od_dag_postorder(const od_dag *dag, od_dag_model model, uint32_t *order)
{
    size_t room = (size_t)dag->ntasks + 1;
    workspace w = {.whole = malloc(room * sizeof *w.whole),
                   .children = malloc(room * sizeof *w.children),
                   .next = calloc(room, sizeof *w.next),
                   .first = calloc(room, sizeof *w.first)};
    od_status status = od_dag_tree_make(dag, model, &w.tree);
    if (!status && (!w.whole || !w.children || !w.next || !w.first))
        status = OD_ENOMEM;
    if (!status)
        order_tree(&w, dag->ntasks, order);
    od_dag_tree_free(&w.tree);
    free(w.whole);
    free(w.children);
    free(w.next);
    free(w.first);
    return status;
}
