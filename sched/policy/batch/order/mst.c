/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Maximum spanning tree (Gonthier's thesis, Algorithm 4): Prim's algorithm on the graph of tasks, whose edges are
 * found with the inverted index when a task joins. Time: O(sum over data of users^2 + tasks log tasks) at worst;
 * users that have joined are dropped from the index, which halves it.
 */
#include "sched/policy/batch/order/order.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

struct mst {
    const od_batch *batch;
    od_users users;
    uint32_t *outside; /* by datum: how many of its users are not in the tree; these come first in users.task */
    uint64_t *key;     /* by task: longest edge to the tree, bytes */
    uint64_t *shared;  /* by task: bytes shared with the task that joins; 0 between two joinings */
    uint32_t *touched; /* tasks whose `shared` is not 0 */
    od_heap heap;      /* tasks outside the tree */
};

static bool longer_key(const void *owner, uint32_t a, uint32_t b)
{
    const struct mst *mst = owner;
    return mst->key[a] != mst->key[b] ? mst->key[a] > mst->key[b] : a < b;
}

/* Adds the datum's size to what its users outside the tree share with the joining task, which leaves the index. */
static uint32_t share(struct mst *mst, uint32_t d, uint32_t joining, uint32_t ntouched)
{
    uint32_t *user = mst->users.task + mst->users.first[d];
    uint32_t gone = 0;
    for (uint32_t i = 0; i < mst->outside[d]; i++) {
        uint32_t task = user[i];
        if (task == joining)
            gone = i;
        else if (!mst->shared[task])
            mst->touched[ntouched++] = task;
        mst->shared[task] += mst->batch->size[d];
    }
    user[gone] = user[--mst->outside[d]];
    return ntouched;
}

static void join(struct mst *mst, uint32_t task)
{
    const od_batch *batch = mst->batch;
    uint32_t ntouched = 0;
    for (uint32_t u = batch->first[task]; u < batch->first[task + 1]; u++)
        ntouched = share(mst, batch->datum[u], task, ntouched);
    mst->shared[task] = 0;
    for (uint32_t i = 0; i < ntouched; i++) {
        uint32_t other = mst->touched[i];
        if (mst->key[other] < mst->shared[other]) {
            mst->key[other] = mst->shared[other];
            od_heap_raised(&mst->heap, other);
        }
        mst->shared[other] = 0;
    }
}

static void prim(struct mst *mst, uint32_t *order)
{
    for (uint32_t d = 0; d < mst->batch->ndata; d++)
        mst->outside[d] = mst->users.first[d + 1] - mst->users.first[d];
    for (uint32_t t = 0; t < mst->batch->ntasks; t++)
        od_heap_push(&mst->heap, t);
    for (uint32_t count = 0; count < mst->batch->ntasks; count++) {
        uint32_t task = od_heap_first(&mst->heap);
        od_heap_remove(&mst->heap, task);
        join(mst, task);
        order[count] = task;
    }
}

od_status od_order_mst(const od_batch *batch, uint32_t *order)
{
    size_t ntasks = (size_t)batch->ntasks + 1;
    struct mst mst = {.batch = batch};
    od_status status = od_users_create(batch, &mst.users);
    if (status)
        return status;
    od_heap_init(&mst.heap, longer_key, &mst);
    mst.outside = od_malloc(((size_t)batch->ndata + 1) * sizeof *mst.outside);
    mst.key = od_calloc(ntasks, sizeof *mst.key);
    mst.shared = od_calloc(ntasks, sizeof *mst.shared);
    mst.touched = od_malloc(ntasks * sizeof *mst.touched);
    status =
        mst.outside && mst.key && mst.shared && mst.touched ? od_heap_reserve(&mst.heap, batch->ntasks) : OD_ENOMEM;
    if (!status)
        prim(&mst, order);
    od_heap_free(&mst.heap);
    free(mst.outside);
    free(mst.key);
    free(mst.shared);
    free(mst.touched);
    od_users_free(&mst.users);
    return status;
}
