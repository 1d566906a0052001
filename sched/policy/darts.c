/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * darts: Data-Aware Reactive Task Scheduling (Gonthier's thesis, section 5.2, Algorithm 12).
 *
 * A device that runs out of planned tasks is given the datum whose load buys it the
 * most work, and all tasks that become possible with that load. The counters behind the choice are
 * kept by sched/needs.c instead of being recomputed at each request.
 *
 * New ready tasks that lack nothing on some device go straight into its plan.
 *
 * Not in the paper: tasks that lack nothing because data came for other reasons are planned before
 * any datum is chosen; S0 is planned by priority, then order of arrival. There is no stealing: a
 * device finds nothing once all ready tasks are planned for others.
 */
#include "sched/needs.h"

#include <stdlib.h>

struct darts_device {
    od_plan plan;
    uint32_t buffered; /* tasks popped and not started */
};

struct darts {
    unsigned ndevices;
    od_needs *needs;
    struct darts_device device[];
};

/* --- Algorithm 12, line 6 ------------------------------------------------ */

/* Negative where a comes first. */
#define ASCENDING(a, b) (((a) > (b)) - ((a) < (b)))
#define DESCENDING(a, b) ASCENDING(b, a)

static int algorithm_12(const od_need_key *a, const od_need_key *b)
{
    if (a->ratio != b->ratio)
        return ASCENDING(a->ratio, b->ratio);
    if (a->n0 != b->n0)
        return DESCENDING(a->n0, b->n0);
    if (a->max_prio != b->max_prio)
        return DESCENDING(a->max_prio, b->max_prio);
    if (a->n1 != b->n1)
        return DESCENDING(a->n1, b->n1);
    return DESCENDING(a->left_ns, b->left_ns);
}

/* --- life cycle ---------------------------------------------------------- */

static od_status darts_create(const od_policy_env *env, void **state)
{
    struct darts *darts = calloc(1, sizeof *darts + env->ndevices * sizeof darts->device[0]);
    if (!darts)
        return OD_ENOMEM;
    od_status status = od_needs_create(env, algorithm_12, &darts->needs);
    if (status) {
        free(darts);
        return status;
    }
    darts->ndevices = env->ndevices;
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&darts->device[k].plan, k);
    *state = darts;
    return OD_OK;
}

static void darts_destroy(void *state)
{
    struct darts *darts = state;
    od_needs_destroy(darts->needs);
    free(darts);
}

/* --- arrival ------------------------------------------------------------- */

static size_t queued(const struct darts_device *device)
{
    return device->plan.tasks.count + device->buffered;
}

/* The device with the fewest queued tasks among those where the new task lacks nothing; NULL: there is none. */
static struct darts_device *direct_push(struct darts *darts, const od_task *task)
{
    struct darts_device *best = NULL;
    for (unsigned k = 0; k < darts->ndevices; k++) {
        struct darts_device *device = &darts->device[k];
        if ((!best || queued(device) < queued(best)) && od_needs_is_free(darts->needs, task, k))
            best = device;
    }
    return best;
}

static od_status darts_ready(void *state, od_task *task)
{
    struct darts *darts = state;
    od_status status = od_needs_adopt(darts->needs, task);
    if (status)
        return status;
    struct darts_device *device = direct_push(darts, task);
    if (device)
        od_needs_plan(darts->needs, task, &device->plan);
    else
        od_needs_offer(darts->needs, task);
    return OD_OK;
}

/* --- request ------------------------------------------------------------- */

/* Algorithm 12, lines 2 to 17. */
static void refill(od_needs *needs, od_plan *plan)
{
    if (od_needs_plan_free(needs, NULL, plan) > 0)
        return;
    od_need_key key;
    const od_datum *best = od_needs_best(needs, plan->k, &key);
    if (best && key.n0 > 0) {
        od_needs_plan_free(needs, best, plan);
        return;
    }
    od_task *task = od_needs_urgent(needs, best, plan->k);
    if (task)
        od_needs_plan(needs, task, plan);
}

static od_task *darts_pop(void *state, unsigned k)
{
    struct darts *darts = state;
    struct darts_device *device = &darts->device[k];
    if (device->plan.tasks.count == 0)
        refill(darts->needs, &device->plan);
    od_task *task = od_needs_pop(darts->needs, &device->plan);
    device->buffered += task != NULL;
    return task;
}

/* --- what happens to data ------------------------------------------------ */

static void darts_incoming(void *state, od_datum *datum, unsigned k)
{
    struct darts *darts = state;
    od_needs_incoming(darts->needs, datum, k);
}

static void darts_evicted(void *state, od_datum *datum, unsigned k)
{
    struct darts *darts = state;
    od_needs_evicted(darts->needs, datum, k);
    od_needs_reclaim(darts->needs, datum, &darts->device[k].plan);
}

static void darts_started(void *state, od_task *task, unsigned k)
{
    struct darts *darts = state;
    /* Tasks that the engine placed itself start here too. */
    if (darts->device[k].buffered > 0)
        darts->device[k].buffered--;
    od_needs_moved(darts->needs, task);
}

static void darts_done(void *state, od_task *task, unsigned k)
{
    struct darts *darts = state;
    (void)k;
    od_needs_moved(darts->needs, task);
}

static void darts_forget(void *state, od_datum *datum)
{
    struct darts *darts = state;
    od_needs_forget(darts->needs, datum);
}

static uint32_t darts_future_uses(void *state, const od_datum *datum)
{
    const struct darts *darts = state;
    return od_needs_uses(darts->needs, datum);
}

static bool darts_is_valid(void *state)
{
    const struct darts *darts = state;
    size_t planned = 0;
    for (unsigned k = 0; k < darts->ndevices; k++) {
        if (!od_plan_is_valid(&darts->device[k].plan))
            return false;
        planned += darts->device[k].plan.tasks.count;
    }
    return planned + od_needs_ready(darts->needs) == od_needs_owned(darts->needs) && od_needs_is_valid(darts->needs);
}

static const od_policy_ops darts_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "darts",
    .description = "data first: load what frees the most work (thesis, Algorithm 12)",
    .default_evict = "luf",
    .create = darts_create,
    .destroy = darts_destroy,
    .ready = darts_ready,
    .pop = darts_pop,
    .incoming = darts_incoming,
    .evicted = darts_evicted,
    .started = darts_started,
    .done = darts_done,
    .forget = darts_forget,
    .future_uses = darts_future_uses,
    .is_valid = darts_is_valid,
};

OD_REGISTER_POLICY(darts_ops)
