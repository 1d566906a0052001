/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A queue of tasks by priority, the highest first, then in order of arrival; tasks leave at both ends.
 * Uses od_task.policy_data.
 */
#ifndef OD_SCHED_POLICY_QUEUE_H
#define OD_SCHED_POLICY_QUEUE_H

#include "sched/task.h"
#include "util/container/tree.h"
#include "util/status.h"

/* Zeroed: empty. */
typedef struct od_queue {
    od_tree tree;
} od_queue;

od_status od_queue_push(od_queue *queue, od_task *task); /* OD_ENOMEM: it is not in the queue */
od_task *od_queue_pop(od_queue *queue);                  /* the first, or NULL */
/* Moves the last task, of which there must be one, to another queue. Returns it. */
od_task *od_queue_move_last(od_queue *from, od_queue *to);
void od_queue_clear(od_queue *queue); /* forgets all tasks, which are not looked at */
bool od_queue_is_valid(const od_queue *queue);

static inline size_t od_queue_count(const od_queue *queue)
{
    return queue->tree.count;
}

#endif
