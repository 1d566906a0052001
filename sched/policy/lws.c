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
#include "util/container/heap.h"
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
    od_placeset unqueued;         /* active devices with no task in their buffers: they may take others' */
    od_placeset changed;          /* devices whose numbers have changed since the next two were put right */
    od_heap fewest;               /* active devices, that with the fewest tasks first */
    size_t tasks[OD_MAX_DEVICES]; /* queued here and given */
    od_placeset filled;           /* queues that are not empty */
    od_queue queue[];
};

static bool has_fewer(const void *owner, uint32_t a, uint32_t b)
{
    const struct lws *lws = owner;
    return lws->tasks[a] != lws->tasks[b] ? lws->tasks[a] < lws->tasks[b] : a < b;
}

/* --- life cycle ---------------------------------------------------------- */

static od_status lws_create(const od_policy_env *env, void **state)
{
    struct lws *lws = od_calloc(1, sizeof *lws + env->ndevices * sizeof lws->queue[0]);
    if (!lws)
        return OD_ENOMEM;
    lws->env = *env;
    lws->changed = lws->unqueued = od_placeset_below(env->ndevices);
    od_heap_init(&lws->fewest, has_fewer, lws);
    if (od_heap_reserve(&lws->fewest, env->ndevices)) {
        od_heap_free(&lws->fewest);
        free(lws);
        return OD_ENOMEM;
    }
    *state = lws;
    return OD_OK;
}

static void lws_destroy(void *state)
{
    struct lws *lws = state;
    for (unsigned k = 0; k < lws->env.ndevices; k++)
        od_queue_clear(&lws->queue[k]);
    od_heap_free(&lws->fewest);
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

/* The queue of k has changed. */
static void note_queue(struct lws *lws, unsigned k)
{
    od_placeset_add(&lws->changed, k);
    if (od_queue_count(&lws->queue[k]))
        od_placeset_add(&lws->filled, k);
    else
        od_placeset_remove(&lws->filled, k);
}

static void recount(struct lws *lws, unsigned k)
{
    od_device_load load = lws->env.load(lws->env.engine, k);
    bool idle = od_policy_is_idle(&lws->env, k), listed = od_heap_contains(&lws->fewest, k);
    size_t tasks = od_queue_count(&lws->queue[k]) + load.queued + load.running, before = lws->tasks[k];
    if (idle && listed)
        od_heap_remove(&lws->fewest, k);
    lws->tasks[k] = tasks;
    if (!idle && !listed)
        od_heap_push(&lws->fewest, k);
    else if (!idle && tasks < before)
        od_heap_raised(&lws->fewest, k);
    else if (!idle && tasks > before)
        od_heap_lowered(&lws->fewest, k);
}

/* What devices have been given has changed. */
static void look_at_moved(struct lws *lws)
{
    od_placeset moved = od_policy_moved(&lws->env);
    lws->changed = od_placeset_union(lws->changed, moved);
    for (od_placeset_walk at = od_placeset_begin(moved); od_placeset_next(&at);) {
        if (!od_policy_is_idle(&lws->env, at.place) && lws->env.load(lws->env.engine, at.place).queued == 0)
            od_placeset_add(&lws->unqueued, at.place);
        else
            od_placeset_remove(&lws->unqueued, at.place);
    }
}

static void recount_changed(struct lws *lws)
{
    look_at_moved(lws);
    for (od_placeset_walk at = od_placeset_begin(lws->changed); od_placeset_next(&at);)
        recount(lws, at.place);
    lws->changed = OD_NO_PLACES;
}

static unsigned emptiest(struct lws *lws)
{
    recount_changed(lws);
    uint32_t k = od_heap_first(&lws->fewest);
    return k == OD_HEAP_NONE ? 0 : k;
}

static void emit_place(struct lws *lws, od_task *task, unsigned k, bool released)
{
    if (!lws->env.decided)
        return;
    recount_changed(lws);
    const od_score scores[] = {
        {"released_there", released}, {"tasks_there", (double)lws->tasks[k]}, {"priority", task->priority}};
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
    status = od_queue_push(&lws->queue[k], task);
    note_queue(lws, k);
    return status;
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

/* The next one behind k that has a queue, which is not empty; the first one comes behind the last. */
static unsigned next_filled(const struct lws *lws, unsigned k)
{
    od_placeset behind = od_placeset_minus(lws->filled, od_placeset_below(k + 1));
    return od_placeset_first(od_placeset_is_empty(behind) ? lws->filled : behind);
}

static void steal(struct lws *lws, unsigned k)
{
    struct locality bytes = {0};
    od_task *first = NULL;
    if (od_placeset_is_empty(lws->filled))
        return;
    unsigned victim = next_filled(lws, k);
    for (size_t count = (od_queue_count(&lws->queue[victim]) + 1) / 2; count > 0; count--) {
        first = od_queue_move_last(&lws->queue[victim], &lws->queue[k]);
        bytes.here += lws->env.decided ? bytes_on(first, k) : 0;
        bytes.there += lws->env.decided ? bytes_on(first, victim) : 0;
    }
    note_queue(lws, k);
    note_queue(lws, victim);
    emit_steal(lws, k, victim, first, bytes);
}

static od_task *lws_pop(void *state, unsigned k)
{
    struct lws *lws = state;
    if (od_queue_count(&lws->queue[k]) == 0 && lws->env.load(lws->env.engine, k).queued == 0 &&
        !od_policy_is_idle(&lws->env, k))
        steal(lws, k);
    od_task *task = od_queue_pop(&lws->queue[k]);
    note_queue(lws, k);
    return task;
}

static od_placeset lws_offers(void *state)
{
    struct lws *lws = state;
    if (od_placeset_is_empty(lws->filled))
        return OD_NO_PLACES;
    look_at_moved(lws);
    return od_placeset_union(lws->filled, lws->unqueued);
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
        if (!od_queue_is_valid(&lws->queue[k]) ||
            od_placeset_has(lws->filled, k) != (od_queue_count(&lws->queue[k]) > 0))
            return false;
    }
    return od_heap_is_valid(&lws->fewest);
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
    .offers = lws_offers,
    .done = lws_done,
    .forget = lws_forget,
    .is_valid = lws_is_valid,
};

OD_REGISTER_POLICY(lws_ops)
