/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ap: PaRSEC's absolute priority (thesis, 5.1.2): one shared queue by priority; whoever asks gets the head. */
#include "sched/policy.h"
#include "sched/queue.h"

#include <stdlib.h>

static od_status ap_create(const od_policy_env *env, void **state)
{
    (void)env;
    *state = calloc(1, sizeof(od_queue));
    return *state ? OD_OK : OD_ENOMEM;
}

static void ap_destroy(void *state)
{
    od_queue_clear(state);
    free(state);
}

static od_status ap_ready(void *state, od_task *task)
{
    return od_queue_push(state, task);
}

static od_task *ap_pop(void *state, unsigned k)
{
    (void)k;
    return od_queue_pop(state);
}

static void ap_ignore_datum(void *state, od_datum *datum, unsigned k)
{
    (void)state;
    (void)datum;
    (void)k;
}

static bool ap_is_valid(void *state)
{
    return od_queue_is_valid(state);
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
    .incoming = ap_ignore_datum,
    .evicted = ap_ignore_datum,
    .is_valid = ap_is_valid,
};

OD_REGISTER_POLICY(ap_ops)
