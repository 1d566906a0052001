/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dmda, dmdar and dmdas with full scans (thesis, Algorithms 1, 2 and 6). */
#include "reference.h"

#include "sched/policy/plan.h"

#include <stdlib.h>

struct naive {
    od_policy_env env;
    uint64_t bus; /* option */
    od_plan plan[];
};

static od_status naive_create(const od_policy_env *env, void **state)
{
    struct naive *naive = calloc(1, sizeof *naive + env->ndevices * sizeof naive->plan[0]);
    if (!naive)
        return OD_ENOMEM;
    naive->env = *env;
    naive->bus = env->values[0];
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&naive->plan[k], env, k);
    *state = naive;
    return OD_OK;
}

static bool is_asked_for(const od_datum *datum, unsigned k)
{
    return reference_is_resident(datum, k) || datum->replica[k].buffered_uses > 0 || datum->replica[k].planned_uses > 0;
}

/* Seconds of the transfers that the task asks for on k, one after the other; on the way that all devices share. */
static double transfers(const struct naive *naive, const od_task *task, unsigned k, double *on_the_bus)
{
    double seconds = 0, bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if ((task->access[i].mode & OD_READ) && !is_asked_for(datum, k)) {
            seconds += naive->env.transfer_time(naive->env.engine, datum, k);
            bytes += (double)datum->size;
        }
    }
    *on_the_bus = bytes / naive->env.inbound < seconds ? bytes / naive->env.inbound : seconds;
    return seconds;
}

static double given(const struct naive *naive, unsigned k)
{
    uint64_t planned_ns = 0;
    od_list_each(it, &naive->plan[k].tasks)
        planned_ns += (uint64_t)(od_container_of(it, od_task, link)->duration * 1e9);
    return naive->env.load(naive->env.engine, k).seconds + 1e-9 * (double)planned_ns;
}

/* C_k(T). */
static double completion(const struct naive *naive, const od_task *task, unsigned k)
{
    uint64_t bus_ns = 0;
    for (unsigned j = 0; j < naive->env.ndevices; j++)
        od_list_each(it, &naive->plan[j].tasks)
            bus_ns += (uintptr_t)od_container_of(it, od_task, link)->policy_data;
    double own, computed = given(naive, k);
    double seconds = transfers(naive, task, k, &own);
    if (naive->bus == 0 || own == 0)
        return computed + seconds + task->duration;
    double loaded = 1e-9 * (double)bus_ns + own;
    return (loaded > computed ? loaded : computed) + (double)naive->bus * own + task->duration;
}

static od_status naive_ready(void *state, od_task *task)
{
    struct naive *naive = state;
    unsigned best = 0;
    for (unsigned k = 1; k < naive->env.ndevices; k++) {
        double a = completion(naive, task, k), b = completion(naive, task, best);
        if (a < b || (naive->bus > 0 && a <= b && given(naive, k) < given(naive, best)))
            best = k;
    }
    double own;
    transfers(naive, task, best, &own);
    task->policy_data = (void *)(uintptr_t)(own * 1e9);
    od_plan_append(&naive->plan[best], task);
    return OD_OK;
}

static size_t bytes_to_bring(const od_task *task, unsigned k)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if ((task->access[i].mode & OD_READ) && !reference_is_resident(datum, k) && !datum->replica[k].buffered_uses)
            bytes += datum->size;
    }
    return bytes;
}

static od_task *take(struct naive *naive, od_task *task)
{
    od_plan_remove(&naive->plan[task->place], task);
    return task;
}

static od_task *pop_first(void *state, unsigned k)
{
    struct naive *naive = state;
    return od_plan_pop(&naive->plan[k]);
}

static od_task *pop_ready(void *state, unsigned k)
{
    struct naive *naive = state;
    od_task *best = NULL;
    od_list_each(it, &naive->plan[k].tasks) {
        od_task *task = od_container_of(it, od_task, link);
        if (!best || bytes_to_bring(task, k) < bytes_to_bring(best, k))
            best = task;
    }
    return best ? take(naive, best) : NULL;
}

static od_task *pop_urgent_and_ready(void *state, unsigned k)
{
    struct naive *naive = state;
    od_task *best = NULL;
    od_list_each(it, &naive->plan[k].tasks) {
        od_task *task = od_container_of(it, od_task, link);
        if (!best || task->priority > best->priority ||
            (task->priority == best->priority && bytes_to_bring(task, k) < bytes_to_bring(best, k)))
            best = task;
    }
    return best ? take(naive, best) : NULL;
}

const od_policy_ops od_reference_dmda = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "dmda",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = free,
    .ready = naive_ready,
    .pop = pop_first,
};

const od_policy_ops od_reference_dmdar = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "dmdar",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = free,
    .ready = naive_ready,
    .pop = pop_ready,
};

const od_policy_ops od_reference_dmdas = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "dmdas",
    .default_evict = "lru",
    .create = naive_create,
    .destroy = free,
    .ready = naive_ready,
    .pop = pop_urgent_and_ready,
};
