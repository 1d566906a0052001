/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * lws: locality work stealing (thesis, 5.1.1).
 *
 * A task is queued on the device that released it: the one whose task, of those that this one had to wait for, ended
 * last. It is found from the data: who wrote last what the task reads, who used last what it writes. A
 * task that waited for none goes where the fewest tasks are. Each queue is sorted by priority. A device that has
 * nothing takes the later half of the queue of its next neighbour that has any.
 */
#include "sched/policy.h"
#include "sched/policy/queue.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

/* The end of a task: number 0 is none. */
struct end {
    uint64_t number;
    unsigned k;
};

struct last_uses {
    struct end write, use;
};

struct lws {
    od_policy_env env;
    uint64_t ends;          /* of tasks, so far */
    struct last_uses *last; /* by datum */
    uint32_t ndata;
    od_queue queue[];
};

/* --- life cycle ---------------------------------------------------------- */

static od_status lws_create(const od_policy_env *env, void **state)
{
    struct lws *lws = od_calloc(1, sizeof *lws + env->ndevices * sizeof lws->queue[0]);
    if (!lws)
        return OD_ENOMEM;
    lws->env = *env;
    *state = lws;
    return OD_OK;
}

static void lws_destroy(void *state)
{
    struct lws *lws = state;
    for (unsigned k = 0; k < lws->env.ndevices; k++)
        od_queue_clear(&lws->queue[k]);
    free(lws->last);
    free(lws);
}

/* --- arrival ------------------------------------------------------------- */

/* Room for what will be known of the task's data when it ends. */
static od_status reserve_data(struct lws *lws, const od_task *task)
{
    uint32_t needed = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        needed = task->access[i].datum->id >= needed ? task->access[i].datum->id + 1 : needed;
    return od_array_reserve(&lws->last, &lws->ndata, needed, sizeof *lws->last) ? OD_OK : OD_ENOMEM;
}

static struct end releaser(const struct lws *lws, const od_task *task)
{
    struct end latest = {0};
    for (uint32_t i = 0; i < task->naccess; i++) {
        const struct last_uses *last = &lws->last[task->access[i].datum->id];
        struct end end = task->access[i].mode & OD_WRITE ? last->use : last->write;
        latest = end.number > latest.number ? end : latest;
    }
    return latest;
}

static size_t count_tasks(const struct lws *lws, unsigned k)
{
    od_device_load load = lws->env.load(lws->env.engine, k);
    return od_queue_count(&lws->queue[k]) + load.queued + load.running;
}

static unsigned emptiest(const struct lws *lws)
{
    unsigned best = 0;
    size_t fewest = SIZE_MAX;
    for (unsigned k = 0; k < lws->env.ndevices; k++) {
        size_t count = count_tasks(lws, k);
        if (count < fewest && !od_policy_is_idle(&lws->env, k)) {
            best = k;
            fewest = count;
        }
    }
    return best;
}

static void emit_place(const struct lws *lws, od_task *task, unsigned k, bool released)
{
    if (!lws->env.decided)
        return;
    const od_score scores[] = {
        {"released_there", released}, {"tasks_there", (double)count_tasks(lws, k)}, {"priority", task->priority}};
    lws->env.decided(lws->env.engine, &(od_decision){OD_DECISION_PLACE, k, .task = task, OD_SCORES(scores)});
}

static od_status lws_ready(void *state, od_task *task)
{
    struct lws *lws = state;
    od_status status = reserve_data(lws, task);
    if (status)
        return status;
    struct end end = releaser(lws, task);
    bool released = end.number && !od_policy_is_idle(&lws->env, end.k);
    unsigned k = released ? end.k : emptiest(lws);
    emit_place(lws, task, k, released);
    return od_queue_push(&lws->queue[k], task);
}

/* --- request ------------------------------------------------------------- */

static uint64_t bytes_on(const od_task *task, unsigned k)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++)
        bytes += od_datum_is_resident(task->access[i].datum, k) ? task->access[i].datum->size : 0;
    return bytes;
}

/* What of their data, added up over the tasks, is on the thief and on the victim. */
struct locality {
    uint64_t here, there;
};

static void emit_steal(const struct lws *lws, unsigned k, unsigned victim, od_task *first, struct locality bytes)
{
    if (!lws->env.decided || !first)
        return;
    const od_score scores[] = {{"from", victim},
                               {"tasks", (double)od_queue_count(&lws->queue[k])},
                               {"left_tasks", (double)od_queue_count(&lws->queue[victim])},
                               {"bytes_here", (double)bytes.here},
                               {"bytes_there", (double)bytes.there}};
    lws->env.decided(lws->env.engine, &(od_decision){OD_DECISION_STEAL, k, .task = first, OD_SCORES(scores)});
}

static void steal(struct lws *lws, unsigned k)
{
    struct locality bytes = {0};
    od_task *first = NULL;
    unsigned victim = k;
    do {
        victim = (victim + 1) % lws->env.ndevices;
    } while (victim != k && od_queue_count(&lws->queue[victim]) == 0);
    for (size_t count = (od_queue_count(&lws->queue[victim]) + 1) / 2; count > 0; count--) {
        first = od_queue_move_last(&lws->queue[victim], &lws->queue[k]);
        bytes.here += lws->env.decided ? bytes_on(first, k) : 0;
        bytes.there += lws->env.decided ? bytes_on(first, victim) : 0;
    }
    emit_steal(lws, k, victim, first, bytes);
}

static od_task *lws_pop(void *state, unsigned k)
{
    struct lws *lws = state;
    if (od_queue_count(&lws->queue[k]) == 0 && lws->env.load(lws->env.engine, k).queued == 0 &&
        !od_policy_is_idle(&lws->env, k))
        steal(lws, k);
    return od_queue_pop(&lws->queue[k]);
}

/* --- what happens -------------------------------------------------------- */

static void lws_done(void *state, od_task *task, unsigned k)
{
    struct lws *lws = state;
    struct end end = {.number = ++lws->ends, .k = k};
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].datum->id >= lws->ndata)
            continue;
        struct last_uses *last = &lws->last[task->access[i].datum->id];
        last->use = end;
        if (task->access[i].mode & OD_WRITE)
            last->write = end;
    }
}

static void lws_forget(void *state, od_datum *datum)
{
    struct lws *lws = state;
    if (datum->id < lws->ndata)
        lws->last[datum->id] = (struct last_uses){0};
}

static bool lws_is_valid(void *state)
{
    const struct lws *lws = state;
    for (unsigned k = 0; k < lws->env.ndevices; k++) {
        if (!od_queue_is_valid(&lws->queue[k]))
            return false;
    }
    return true;
}

static const od_policy_ops lws_ops = {
    .interface_version = OD_POLICY_INTERFACE,
    .name = "lws",
    .description =
        "locality work stealing: where the last predecessor ran; idle devices take half of a neighbour's queue",
    .default_evict = "lru",
    .ahead = 12,
    .create = lws_create,
    .destroy = lws_destroy,
    .ready = lws_ready,
    .pop = lws_pop,
    .done = lws_done,
    .forget = lws_forget,
    .is_valid = lws_is_valid,
};

OD_REGISTER_POLICY(lws_ops)
