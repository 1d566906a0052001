/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * eager: one shared queue in arrival order; whoever asks gets the head.
 *
 * The baseline of the papers, and the smallest policy.
 */
#include "sched/policy.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>

struct eager {
    od_policy_env env;
    od_list queue; /* od_task.link */
};

static od_status eager_create(const od_policy_env *env, void **state)
{
    struct eager *eager = od_malloc(sizeof *eager);
    if (!eager)
        return OD_ENOMEM;
    eager->env = *env;
    od_list_init(&eager->queue);
    *state = eager;
    return OD_OK;
}

static od_status eager_ready(void *state, od_task *task)
{
    struct eager *eager = state;
    assert(task->bound == OD_NOWHERE);
    od_list_push_back(&eager->queue, &task->link);
    return OD_OK;
}

static od_task *eager_pop(void *state, unsigned k)
{
    struct eager *eager = state;
    od_node *node = od_policy_is_idle(&eager->env, k) ? NULL : od_list_pop_front(&eager->queue);
    return node ? od_container_of(node, od_task, link) : NULL;
}

static bool eager_is_valid(void *state)
{
    const od_list *queue = &((const struct eager *)state)->queue;
    size_t count = 0;
    od_list_each(it, queue)
        count += it->next->prev == it;
    return count == queue->count;
}

static const od_policy_ops eager_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "eager",
    .description = "shared queue, arrival order",
    .default_evict = "lru",
    .create = eager_create,
    .destroy = free,
    .ready = eager_ready,
    .pop = eager_pop,
    .is_valid = eager_is_valid,
};

OD_REGISTER_POLICY(eager_ops)
