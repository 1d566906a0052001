/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * nearest: a scheduling policy in a separate shared object.
 *
 *     ompdarts run --sched plugin:/path/to/nearest.so ./app …
 *     ompdarts run --sched plugin:/path/to/nearest.so:window=100 ./app …
 *
 * One queue for all devices, in order of arrival. A device that asks gets, of the first `window` tasks, the one for
 * which the fewest bytes have to be brought to it. The contract is in sched/policy.h.
 */
#include "sched/policy.h"

#include <stdlib.h>

struct nearest {
    od_policy_env env;
    uint64_t window;
    od_list queue; /* od_task.link */
};

static const od_policy_option options[] = {
    {.name = "window", .help = "how many tasks to choose from", .number = true, .bare = 32, .omitted = 32},
    {0},
};

static od_status nearest_create(const od_policy_env *env, void **state)
{
    struct nearest *nearest = malloc(sizeof *nearest);
    if (!nearest)
        return OD_ENOMEM;
    nearest->env = *env;
    nearest->window = env->values[0];
    od_list_init(&nearest->queue);
    *state = nearest;
    return OD_OK;
}

static od_status nearest_ready(void *state, od_task *task)
{
    struct nearest *nearest = state;
    od_list_push_back(&nearest->queue, &task->link);
    return OD_OK;
}

/* What buffered tasks of the device will bring counts as there. */
static size_t bytes_to_bring(const od_task *task, unsigned k)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if ((task->access[i].mode & OD_READ) && !od_datum_is_expected(datum, k))
            bytes += datum->size;
    }
    return bytes;
}

/* Traces show why: sched/event.h. */
static void tell_place(const struct nearest *nearest, od_task *task, unsigned k)
{
    if (!nearest->env.decided)
        return;
    const od_score scores[] = {{"lacking_bytes", (double)bytes_to_bring(task, k)}};
    nearest->env.decided(nearest->env.engine, &(od_decision){OD_DECISION_PLACE, k, .task = task, OD_SCORES(scores)});
}

static od_task *nearest_pop(void *state, unsigned k)
{
    struct nearest *nearest = state;
    od_task *best = NULL;
    uint64_t looked_at = 0;
    if (od_policy_is_idle(&nearest->env, k))
        return NULL;
    od_list_each(node, &nearest->queue) {
        od_task *task = od_container_of(node, od_task, link);
        if (!best || bytes_to_bring(task, k) < bytes_to_bring(best, k))
            best = task;
        if (++looked_at >= nearest->window)
            break;
    }
    if (!best)
        return NULL;
    tell_place(nearest, best, k);
    od_list_remove(&nearest->queue, &best->link);
    return best;
}

const od_policy_ops ompdarts_policy = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "nearest",
    .description = "of the oldest tasks the one that needs the fewest bytes",
    .default_evict = "lru",
    .options = options,
    .create = nearest_create,
    .destroy = free,
    .ready = nearest_ready,
    .pop = nearest_pop,
};
