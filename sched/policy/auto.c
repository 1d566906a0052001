/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * auto: tries the future before it runs it.
 *
 * A run begins with darts, and the chooser (sched/auto/chooser.h) changes that as it goes, at once where devices are
 * uneven.
 *
 * Not published.
 */
#include "sched/auto/chooser.h"
#include "sched/policy.h"
#include "util/memory.h"

#include <stdlib.h>

struct beginning {
    const od_policy_ops *ops;
    void *state;
};

static od_status auto_create(const od_policy_env *env, void **state)
{
    od_policy_env inner = *env;
    struct beginning *b = od_calloc(1, sizeof *b);
    if (!b)
        return OD_ENOMEM;
    inner.values = NULL;
    b->ops = od_policy_find("darts");
    od_status status = od_policy_create(b->ops, &inner, &b->state);
    if (status)
        free(b);
    else
        *state = b;
    return status;
}

static void auto_destroy(void *state)
{
    struct beginning *b = state;
    b->ops->destroy(b->state);
    free(b);
}

static od_status auto_ready(void *state, od_task *task)
{
    const struct beginning *b = state;
    return b->ops->ready(b->state, task);
}

static od_task *auto_pop(void *state, unsigned k)
{
    const struct beginning *b = state;
    return b->ops->pop(b->state, k);
}

static void auto_incoming(void *state, od_datum *datum, unsigned k)
{
    const struct beginning *b = state;
    b->ops->incoming(b->state, datum, k);
}

static void auto_evicted(void *state, od_datum *datum, unsigned k)
{
    const struct beginning *b = state;
    b->ops->evicted(b->state, datum, k);
}

static void auto_started(void *state, od_task *task, unsigned k)
{
    const struct beginning *b = state;
    b->ops->started(b->state, task, k);
}

static void auto_done(void *state, od_task *task, unsigned k)
{
    const struct beginning *b = state;
    b->ops->done(b->state, task, k);
}

static void auto_forget(void *state, od_datum *datum)
{
    const struct beginning *b = state;
    b->ops->forget(b->state, datum);
}

static uint32_t auto_future_uses(void *state, const od_datum *datum)
{
    const struct beginning *b = state;
    return b->ops->future_uses(b->state, datum);
}

static bool auto_is_valid(void *state)
{
    const struct beginning *b = state;
    return b->ops->is_valid(b->state);
}

static const od_policy_ops auto_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "auto",
    .description = "plays what is known forward under the other policies and settings, and takes the best",
    .default_evict = "luf",
    .create = auto_create,
    .destroy = auto_destroy,
    .ready = auto_ready,
    .pop = auto_pop,
    .incoming = auto_incoming,
    .evicted = auto_evicted,
    .started = auto_started,
    .done = auto_done,
    .forget = auto_forget,
    .future_uses = auto_future_uses,
    .chooser = &od_auto_chooser,
    .is_valid = auto_is_valid,
};

OD_REGISTER_POLICY(auto_ops)
