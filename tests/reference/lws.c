/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lws with plain lists (thesis, 5.1.1).
 *
 * All ends of tasks are remembered in their order: the device that released a new task is that of the last end that the
 * task had to wait for.
 */
#include "reference.h"

#include <stdlib.h>

struct naive {
    od_policy_env env;
    reference_tasks ended; /* in the order of their ends */
    reference_tasks queue[];
};

static od_status naive_create(const od_policy_env *env, void **state)
{
    struct naive *naive = calloc(1, sizeof *naive + env->ndevices * sizeof naive->queue[0]);
    if (!naive)
        return OD_ENOMEM;
    naive->env = *env;
    *state = naive;
    return OD_OK;
}

static void naive_destroy(void *state)
{
    struct naive *naive = state;
    for (unsigned k = 0; k < naive->env.ndevices; k++)
        free(naive->queue[k].task);
    free(naive->ended.task);
    free(naive);
}

static bool precedes(const od_task *first, const od_task *second)
{
    for (uint32_t i = 0; i < first->naccess; i++) {
        for (uint32_t j = 0; j < second->naccess; j++) {
            const od_access *a = &first->access[i], *b = &second->access[j];
            if (a->datum == b->datum && ((a->mode | b->mode) & OD_WRITE))
                return true;
        }
    }
    return false;
}

static unsigned emptiest(const struct naive *naive)
{
    unsigned best = 0;
    size_t fewest = SIZE_MAX;
    for (unsigned k = 0; k < naive->env.ndevices; k++) {
        od_device_load load = naive->env.load(naive->env.engine, k);
        if (naive->queue[k].count + load.queued + load.running < fewest) {
            fewest = naive->queue[k].count + load.queued + load.running;
            best = k;
        }
    }
    return best;
}

static od_status naive_ready(void *state, od_task *task)
{
    struct naive *naive = state;
    for (size_t i = naive->ended.count; i-- > 0;) {
        if (precedes(naive->ended.task[i], task))
            return reference_add(&naive->queue[naive->ended.task[i]->place], task);
    }
    return reference_add(&naive->queue[emptiest(naive)], task);
}

/* Highest priority first, then the lowest number. */
static bool is_before(const od_task *a, const od_task *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

static od_task *first_of(const reference_tasks *queue)
{
    od_task *first = NULL;
    for (size_t i = 0; i < queue->count; i++) {
        if (!first || is_before(queue->task[i], first))
            first = queue->task[i];
    }
    return first;
}

static od_task *last_of(const reference_tasks *queue)
{
    od_task *last = NULL;
    for (size_t i = 0; i < queue->count; i++) {
        if (!last || is_before(last, queue->task[i]))
            last = queue->task[i];
    }
    return last;
}

/* From the next device after k, in a circle, that has tasks. */
static void steal(struct naive *naive, unsigned k)
{
    for (unsigned i = 1; i < naive->env.ndevices; i++) {
        reference_tasks *victim = &naive->queue[(k + i) % naive->env.ndevices];
        if (victim->count == 0)
            continue;
        for (size_t count = (victim->count + 1) / 2; count > 0; count--) {
            od_task *task = last_of(victim);
            if (reference_add(&naive->queue[k], task))
                return;
            reference_remove(victim, task);
        }
        return;
    }
}

static od_task *naive_pop(void *state, unsigned k)
{
    struct naive *naive = state;
    if (naive->queue[k].count == 0 && naive->env.load(naive->env.engine, k).queued == 0)
        steal(naive, k);
    od_task *task = first_of(&naive->queue[k]);
    if (task)
        reference_remove(&naive->queue[k], task);
    return task;
}

static void naive_done(void *state, od_task *task, unsigned k)
{
    struct naive *naive = state;
    (void)k;
    if (reference_add(&naive->ended, task))
        abort();
}

const od_policy_ops od_reference_lws = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "lws",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = naive_destroy,
    .ready = naive_ready,
    .pop = naive_pop,
    .done = naive_done,
};
