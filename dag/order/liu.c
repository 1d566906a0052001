/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Liu's optimal traversal. An order of a subtree is cut into segments behind its valleys: up to the highest hill and
 * down to the lowest level after it, then the same of what follows. Orders of several subtrees are merged by
 * non-increasing hill less valley; the root comes last, and segments that it rises above become one with it.
 *
 * A segment is kept relative to the level at which it begins, so that merging moves nothing: the segments of a subtree
 * are a heap from which the last one comes out first, heaps of children are joined, and the root pops those that it
 * absorbs. Each segment is popped once: O(n log n).
 */
#include "dag/order/tree.h"

#include <stdlib.h>

typedef struct segment {
    od_dag_step step;     /* never lower behind than before */
    uint32_t first, last; /* its tasks, linked by forest.follower */
    uint32_t left, right; /* in a heap; plus one, 0: none */
} segment;

typedef struct forest {
    od_dag_tree tree;
    segment *segments;  /* by task: that which ends with it */
    uint32_t *heap;     /* by task: of its subtree, plus one */
    uint32_t *follower; /* by task, within its segment */
} forest;

static int64_t key(const forest *f, uint32_t s)
{
    return f->segments[s - 1].step.rise - f->segments[s - 1].step.change;
}

/* A skew heap, whose root is the segment with the lowest key. */
static uint32_t join(forest *f, uint32_t a, uint32_t b)
{
    uint32_t top = 0, *place = &top;
    while (a && b) {
        if (key(f, b) < key(f, a)) {
            uint32_t other = a;
            a = b;
            b = other;
        }
        *place = a;
        segment *s = &f->segments[a - 1];
        uint32_t right = s->right;
        s->right = s->left;
        place = &s->left;
        a = right;
    }
    *place = a ? a : b;
    return top;
}

static uint32_t pop(forest *f, uint32_t heap)
{
    return join(f, f->segments[heap - 1].left, f->segments[heap - 1].right);
}

/* `s` comes directly after `earlier`. */
static void absorb(forest *f, segment *s, const segment *earlier)
{
    s->step = od_dag_step_then(earlier->step, s->step);
    f->follower[earlier->last] = s->first;
    s->first = earlier->first;
}

static void add_root(forest *f, uint32_t t)
{
    const od_dag_lists *children = f->tree.children;
    uint32_t heap = 0;
    segment *s = &f->segments[t];
    *s = (segment){.step = f->tree.steps[t], .first = t, .last = t};
    for (uint32_t i = children->first[t]; i < children->first[t + 1]; i++)
        heap = join(f, heap, f->heap[children->items[i]]);
    while (heap && (s->step.change < 0 || key(f, heap) <= s->step.rise - s->step.change)) {
        uint32_t last = heap;
        heap = pop(f, heap);
        absorb(f, s, &f->segments[last - 1]);
    }
    f->heap[t] = join(f, heap, t + 1);
}

/* The last segment first, from the end of `order`. */
static void write_order(forest *f, uint32_t heap, uint32_t ntasks, uint32_t *order)
{
    uint32_t end = ntasks;
    while (heap) {
        const segment *s = &f->segments[heap - 1];
        uint32_t count = 1;
        for (uint32_t t = s->first; t != s->last; t = f->follower[t])
            count++;
        end -= count;
        for (uint32_t i = 0, t = s->first; i < count; i++, t = f->follower[t])
            order[end + i] = t;
        heap = pop(f, heap);
    }
}

static void order_tree(forest *f, uint32_t ntasks, uint32_t *order)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < ntasks; i++)
        add_root(f, f->tree.sorted[i]);
    for (uint32_t t = 0; t < ntasks; t++)
        if (od_dag_tree_is_root(&f->tree, t))
            all = join(f, all, f->heap[t]);
    write_order(f, all, ntasks, order);
    od_dag_tree_turn(&f->tree, order, ntasks);
}

od_status od_dag_liu(const od_dag *dag, od_dag_model model, uint32_t *order)
{
    size_t room = (size_t)dag->ntasks + 1;
    forest f = {.segments = malloc(room * sizeof *f.segments),
                .heap = malloc(room * sizeof *f.heap),
                .follower = calloc(room, sizeof *f.follower)};
    od_status status = od_dag_tree_make(dag, model, &f.tree);
    if (!status && (!f.segments || !f.heap || !f.follower))
        status = OD_ENOMEM;
    if (!status)
        order_tree(&f, dag->ntasks, order);
    od_dag_tree_free(&f.tree);
    free(f.segments);
    free(f.heap);
    free(f.follower);
    return status;
}
