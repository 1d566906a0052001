/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reverse Cuthill-McKee (Gonthier's thesis, Algorithm 3) without building the graph of tasks.
 *
 * The users of a datum are all adjacent, so a task's weighted degree is a sum over its data, and a datum
 * whose users have joined the order once has no more neighbours to offer. Time: O(uses + tasks log tasks).
 */
#include "sched/policy/batch/order/order.h"
#include "util/memory.h"

#include <stdlib.h>

struct vertex {
    uint64_t degree; /* bytes shared with other tasks, once for each of them */
    uint32_t task;
};

struct rcm {
    const od_batch *batch;
    od_users users;
    struct vertex *by_degree; /* all tasks */
    struct vertex *adjacent;  /* of the task being visited */
    uint64_t *degree;
    bool *ordered;   /* by task */
    bool *exhausted; /* by datum: all its users are in the order */
    uint32_t *order;
    uint32_t count; /* tasks in the order */
};

static int compare_vertices(const void *a, const void *b)
{
    const struct vertex *v = a, *w = b;
    if (v->degree != w->degree)
        return v->degree < w->degree ? -1 : 1;
    return (v->task > w->task) - (v->task < w->task);
}

static void append(struct rcm *rcm, uint32_t task)
{
    rcm->ordered[task] = true;
    rcm->order[rcm->count++] = task;
}

static void append_neighbours(struct rcm *rcm, uint32_t task)
{
    const od_batch *batch = rcm->batch;
    uint32_t found = 0;
    for (uint32_t u = batch->first[task]; u < batch->first[task + 1]; u++) {
        uint32_t d = batch->datum[u];
        for (uint32_t i = rcm->users.first[d]; !rcm->exhausted[d] && i < rcm->users.first[d + 1]; i++) {
            uint32_t other = rcm->users.task[i];
            if (rcm->ordered[other])
                continue;
            rcm->ordered[other] = true;
            rcm->adjacent[found++] = (struct vertex){rcm->degree[other], other};
        }
        rcm->exhausted[d] = true;
    }
    qsort(rcm->adjacent, found, sizeof *rcm->adjacent, compare_vertices);
    for (uint32_t i = 0; i < found; i++)
        append(rcm, rcm->adjacent[i].task);
}

static void compute_degrees(struct rcm *rcm)
{
    const od_batch *batch = rcm->batch;
    for (uint32_t t = 0; t < batch->ntasks; t++) {
        for (uint32_t u = batch->first[t]; u < batch->first[t + 1]; u++) {
            uint32_t d = batch->datum[u];
            rcm->degree[t] += batch->size[d] * (rcm->users.first[d + 1] - rcm->users.first[d] - 1);
        }
        rcm->by_degree[t] = (struct vertex){rcm->degree[t], t};
    }
    qsort(rcm->by_degree, batch->ntasks, sizeof *rcm->by_degree, compare_vertices);
}

static void cuthill_mckee(struct rcm *rcm)
{
    uint32_t visited = 0;
    compute_degrees(rcm);
    for (uint32_t start = 0; start < rcm->batch->ntasks; start++) {
        if (!rcm->ordered[rcm->by_degree[start].task])
            append(rcm, rcm->by_degree[start].task);
        while (visited < rcm->count)
            append_neighbours(rcm, rcm->order[visited++]);
    }
}

static void reverse(uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t task = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = task;
    }
}

od_status od_order_rcm(const od_batch *batch, uint32_t *order)
{
    size_t ntasks = (size_t)batch->ntasks + 1;
    struct rcm rcm = {.batch = batch, .order = order};
    od_status status = od_users_create(batch, &rcm.users);
    if (status)
        return status;
    rcm.by_degree = od_malloc(ntasks * sizeof *rcm.by_degree);
    rcm.adjacent = od_malloc(ntasks * sizeof *rcm.adjacent);
    rcm.degree = od_calloc(ntasks, sizeof *rcm.degree);
    rcm.ordered = od_calloc(ntasks, sizeof *rcm.ordered);
    rcm.exhausted = od_calloc((size_t)batch->ndata + 1, sizeof *rcm.exhausted);
    status = rcm.by_degree && rcm.adjacent && rcm.degree && rcm.ordered && rcm.exhausted ? OD_OK : OD_ENOMEM;
    if (!status) {
        cuthill_mckee(&rcm);
        reverse(order, rcm.count);
    }
    free(rcm.by_degree);
    free(rcm.adjacent);
    free(rcm.degree);
    free(rcm.ordered);
    free(rcm.exhausted);
    od_users_free(&rcm.users);
    return status;
}
