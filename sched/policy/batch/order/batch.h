/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A batch: independent tasks and the data that they share, as plain arrays.
 *
 * Everything in sched/policy/batch/order/ is a pure function from a batch to an order of its tasks, or to parts of
 * one (a part per device). Tasks and data are small integers; nothing here knows od_task or od_datum.
 */
#ifndef OD_SCHED_POLICY_BATCH_ORDER_BATCH_H
#define OD_SCHED_POLICY_BATCH_ORDER_BATCH_H

#include "util/status.h"

#include <stdint.h>

#define OD_NO_TASK UINT32_MAX

typedef struct od_batch {
    uint32_t ntasks, ndata;
    const uint32_t *first;  /* of ntasks + 1: task t uses datum[first[t]] .. datum[first[t + 1] - 1] */
    const uint32_t *datum;  /* numbers below ndata, each once per task */
    const uint64_t *size;   /* of each datum, bytes, > 0 */
    const double *duration; /* of each task, seconds, > 0 */
} od_batch;

/* The inverted index: the tasks that use a datum, in ascending order. */
typedef struct od_users {
    uint32_t *first; /* of ndata + 1: datum d is used by task[first[d]] .. task[first[d + 1] - 1] */
    uint32_t *task;
} od_users;

od_status od_users_create(const od_batch *batch, od_users *users);
void od_users_free(od_users *users);

#endif
