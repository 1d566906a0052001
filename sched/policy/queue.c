/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks by priority, in a tree; see queue.h. */
#include "sched/policy/queue.h"
#include "util/memory.h"

#include <stdlib.h>

struct entry {
    od_tree_node node;
    od_task *task;
};

static struct entry *entry_of(od_tree_node *node)
{
    return od_container_of(node, struct entry, node);
}

static od_tree_key key_of(const od_task *task)
{
    return (od_tree_key){.major = (uintptr_t)((int64_t)INT32_MAX - task->priority), .minor = task->id};
}

od_status od_queue_push(od_queue *queue, od_task *task)
{
    struct entry *entry = od_malloc(sizeof *entry);
    if (!entry)
        return OD_ENOMEM;
    entry->task = task;
    task->policy_data = entry;
    od_tree_insert(&queue->tree, &entry->node, key_of(task));
    return OD_OK;
}

od_task *od_queue_pop(od_queue *queue)
{
    od_tree_node *node = od_tree_ceiling(&queue->tree, (od_tree_key){0});
    if (!node)
        return NULL;
    struct entry *entry = entry_of(node);
    od_task *task = entry->task;
    od_tree_remove(&queue->tree, node);
    free(entry);
    task->policy_data = NULL;
    return task;
}

od_task *od_queue_move_last(od_queue *from, od_queue *to)
{
    od_tree_node *node = od_tree_last(&from->tree);
    od_tree_key key = node->key;
    od_tree_remove(&from->tree, node);
    od_tree_insert(&to->tree, node, key);
    return entry_of(node)->task;
}

void od_queue_clear(od_queue *queue)
{
    for (od_tree_node *node; (node = od_tree_last(&queue->tree));) {
        od_tree_remove(&queue->tree, node);
        free(entry_of(node));
    }
}

bool od_queue_is_valid(const od_queue *queue)
{
    return od_tree_is_valid(&queue->tree);
}
