/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From tasks to the plain arrays that orders are computed from.
 *
 * What does not distinguish orders is left out: data that only one of the tasks uses, data that all of them
 * use, and data that more than OD_BATCH_HUB use, for which all pairs of these would have to be looked at. They need
 * memory all the same: that of the shared data left out, and of two tasks' own data (one running, one prefetched), is
 * taken off the memory for which the batch is packed, up to half of it.
 *
 * Tasks can be sorted by their data, these numbered in order of first use. For a program that creates its tasks in
 * nested loops that is its own order, nearly; where threads create them in any order it brings back what the
 * algorithms draw from ties: which of many equal partners is taken then agrees from task to task.
 */
#ifndef OD_SCHED_POLICY_BATCH_STATIC_BATCH_H
#define OD_SCHED_POLICY_BATCH_STATIC_BATCH_H

#include "sched/policy/batch/order/batch.h"
#include "sched/task.h"

enum { OD_BATCH_HUB = 2048 };

typedef struct od_static_batch {
    od_batch batch;
    uint64_t memory;           /* bytes of a device that remain for the batch's data */
    od_task **tasks;           /* batch.ntasks, in the batch's order */
    od_datum **data;           /* batch.ndata */
    uint32_t *users;           /* scratch: of each datum that any task uses */
    uint32_t *number;          /* scratch: the tasks' data in order of arrival */
    struct od_static_key *key; /* scratch: the tasks in the batch's order */
    uint32_t *first, *datum;
    uint64_t *size;
    double *duration;
} od_static_batch;

/* Of the first `ntasks` of the list (od_task.link). `index`: by datum id, all zero before and after. */
od_status od_static_batch_create(const od_list *tasks, uint32_t ntasks, uint64_t memory, bool sort, uint32_t *index,
                                 od_static_batch *batch);
void od_static_batch_free(od_static_batch *batch);

/* A task's predicted duration in nanoseconds, at least 1. */
uint64_t od_static_duration_ns(const od_task *task);

#endif
