/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ap: PaRSEC's absolute priority (thesis, 5.1.2): one shared queue by priority; whoever asks gets the head. */
#include "sched/policy.h"
#include "sched/policy/queue.h"
#include "util/memory.h"

#include <stdlib.h>

struct ap {
    od_policy_env env;
    od_queue queue;
};

static od_status ap_create(const od_policy_env *env, void **state)
{
    struct ap *ap = od_calloc(1, sizeof *ap);
    if (!ap)
        return OD_ENOMEM;
    ap->env = *env;
    *state = ap;
    return OD_OK;
}

static void ap_destroy(void *state)
{
    struct ap *ap = state;
    od_queue_clear(&ap->queue);
    free(ap);
}

static od_status ap_ready(void *state, od_task *task)
{
    struct ap *ap = state;
    return od_queue_push(&ap->queue, task);
}

static od_task *ap_pop(void *state, unsigned k)
{
    struct ap *ap = state;
    return od_policy_is_idle(&ap->env, k) ? NULL : od_queue_pop(&ap->queue);
}

static bool ap_is_valid(void *state)
{
    const struct ap *ap = state;
    return od_queue_is_valid(&ap->queue);
}

static const od_policy_ops ap_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "ap",
    .description = "shared queue, highest priority first (PaRSEC's absolute priority)",
    .default_evict = "lru",
    .create = ap_create,
    .destroy = ap_destroy,
    .ready = ap_ready,
    .pop = ap_pop,
    .is_valid = ap_is_valid,
};

OD_REGISTER_POLICY(ap_ops)
