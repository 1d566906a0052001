/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* eager and ap with a plain list (thesis, 3.1.1 and 5.1.2). */
#include "reference.h"

#include <stdlib.h>

static od_status naive_create(const od_policy_env *env, void **state)
{
    (void)env;
    *state = calloc(1, sizeof(reference_tasks));
    return *state ? OD_OK : OD_ENOMEM;
}

static void naive_destroy(void *state)
{
    reference_tasks *tasks = state;
    free(tasks->task);
    free(tasks);
}

static od_status naive_ready(void *state, od_task *task)
{
    return reference_add(state, task);
}

static od_task *take(reference_tasks *tasks, od_task *task)
{
    reference_remove(tasks, task);
    return task;
}

static od_task *pop_oldest(void *state, unsigned k)
{
    (void)k;
    reference_tasks *tasks = state;
    return tasks->count ? take(tasks, tasks->task[0]) : NULL;
}

static od_task *pop_most_urgent(void *state, unsigned k)
{
    (void)k;
    reference_tasks *tasks = state;
    od_task *best = NULL;
    for (size_t i = 0; i < tasks->count; i++) {
        if (!best || tasks->task[i]->priority > best->priority)
            best = tasks->task[i];
    }
    return best ? take(tasks, best) : NULL;
}

const od_policy_ops od_reference_eager = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "eager",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = naive_destroy,
    .ready = naive_ready,
    .pop = pop_oldest,
};

const od_policy_ops od_reference_ap = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "ap",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = naive_destroy,
    .ready = naive_ready,
    .pop = pop_most_urgent,
};
