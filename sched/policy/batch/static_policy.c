/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The skeleton of policies that plan whole batches; see static_policy.h. */
#include "sched/policy/batch/static_policy.h"

#include "sched/policy/batch/static_batch.h"
#include "sched/policy/batch/static_plans.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

struct static_policy {
    od_policy_env env;
    od_static_planner planner;
    void *planner_data;
    uint64_t values[OD_POLICY_OPTIONS_MAX];
    od_list arrived; /* od_task.link: not planned yet, in order of arrival */
    bool warned;     /* about memory */
    od_static_plans *plans;
};

/* --- life cycle -------------------------------------------------------------- */

od_status od_static_create(const od_policy_env *env, od_static_planner planner, const od_policy_option *options,
                           void *data, void **state)
{
    struct static_policy *policy = od_calloc(1, sizeof *policy);
    od_static_plans *plans = od_static_plans_create(env);
    if (!policy || !plans) {
        free(policy);
        free(plans);
        free(data);
        return OD_ENOMEM;
    }
    policy->env = *env;
    policy->planner = planner;
    policy->planner_data = data;
    policy->plans = plans;
    for (unsigned i = 0; options[i].name; i++)
        policy->values[i] = env->values[i];
    policy->env.values = policy->values;
    od_list_init(&policy->arrived);
    *state = policy;
    return OD_OK;
}

void od_static_destroy(void *state)
{
    struct static_policy *policy = state;
    od_list_each(it, &policy->arrived)
        od_static_plans_release(policy->plans, od_container_of(it, od_task, link));
    od_static_plans_destroy(policy->plans);
    free(policy->planner_data);
    free(policy);
}

od_status od_static_ready(void *state, od_task *task)
{
    struct static_policy *policy = state;
    od_status status = od_static_plans_adopt(policy->plans, task);
    if (!status)
        od_list_push_back(&policy->arrived, &task->link);
    return status;
}

/* --- planning a batch -------------------------------------------------------------- */

static uint64_t bytes_on(const od_task *task, unsigned k)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        bytes += datum->replica[k].state != OD_ABSENT ? datum->size : 0;
    }
    return bytes;
}

/* The device, of those left, that holds most of what the tasks use; among equals the one with the shortest plan. */
static unsigned best_device(const struct static_policy *policy, od_placeset left, od_task *const *tasks, uint32_t count)
{
    unsigned best = 0;
    uint64_t most = 0;
    bool any = false;
    for (unsigned k = 0; k < policy->env.ndevices; k++) {
        uint64_t bytes = 0;
        if (!od_placeset_has(left, k) || od_policy_is_idle(&policy->env, k))
            continue;
        for (uint32_t i = 0; i < count; i++)
            bytes += bytes_on(tasks[i], k);
        if (!any || bytes > most || (bytes == most && policy->plans->device[k].ns < policy->plans->device[best].ns)) {
            best = k;
            most = bytes;
        }
        any = true;
    }
    return best;
}

/* Bytes of all data that the tasks use. */
static uint64_t bytes_of_data(const struct static_policy *policy, od_task *const *tasks, uint32_t count)
{
    uint32_t *met = policy->plans->index; /* all zero */
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t a = 0; a < tasks[i]->naccess; a++) {
            const od_datum *datum = tasks[i]->access[a].datum;
            bytes += met[datum->id] ? 0 : datum->size;
            met[datum->id] = 1;
        }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t a = 0; a < tasks[i]->naccess; a++)
            met[tasks[i]->access[a].datum->id] = 0;
    return bytes;
}

static void emit_part(const struct static_policy *policy, unsigned k, uint32_t batch, od_task *const *tasks,
                      uint32_t count)
{
    double work = 0, found = 0;
    if (!policy->env.decided || !count)
        return;
    for (uint32_t i = 0; i < count; i++) {
        work += 1e-9 * (double)od_static_plans_task_ns(tasks[i]);
        found += (double)bytes_on(tasks[i], k);
    }
    const od_score scores[] = {{"tasks", count},
                               {"batch_tasks", batch},
                               {"parts", od_policy_active(&policy->env)},
                               {"work_s", work},
                               {"data_bytes", (double)bytes_of_data(policy, tasks, count)},
                               {"bytes_here", found}};
    policy->env.decided(policy->env.engine, &(od_decision){OD_DECISION_PLAN, k, .task = tasks[0], OD_SCORES(scores)});
}

/* `tasks` in the order of the parts. */
static void hand_out(struct static_policy *policy, od_task **tasks, const uint32_t *begin)
{
    od_placeset left = od_placeset_below(policy->env.ndevices);
    unsigned parts = od_policy_active(&policy->env);
    for (unsigned part = 0; part < parts; part++) {
        unsigned k = best_device(policy, left, tasks + begin[part], begin[part + 1] - begin[part]);
        od_placeset_remove(&left, k);
        emit_part(policy, k, begin[parts], tasks + begin[part], begin[part + 1] - begin[part]);
        for (uint32_t i = begin[part]; i < begin[part + 1]; i++) {
            od_list_remove(&policy->arrived, &tasks[i]->link);
            od_static_plans_append(policy->plans, tasks[i], k);
        }
    }
}

/* The tasks of the batch, in the order that the planner gives them. */
static od_status order_tasks(const struct static_policy *policy, const od_static_batch *batch, od_task **tasks,
                             uint32_t *begin)
{
    uint32_t *order = od_malloc(((size_t)batch->batch.ntasks + 1) * sizeof *order);
    if (!order)
        return OD_ENOMEM;
    od_static_job job = {.batch = &batch->batch,
                         .memory = batch->memory,
                         .parts = od_policy_active(&policy->env),
                         .values = policy->values,
                         .data = policy->planner_data};
    od_status status = policy->planner(&job, order, begin);
    for (uint32_t i = 0; !status && i < batch->batch.ntasks; i++)
        tasks[i] = batch->tasks[order[i]];
    free(order);
    return status;
}

static od_status plan_tasks(struct static_policy *policy, uint32_t ntasks)
{
    uint32_t begin[OD_MAX_DEVICES + 1];
    od_static_batch batch;
    od_task **tasks = od_malloc(ntasks * sizeof(od_task *));
    od_status status = od_static_batch_create(&policy->arrived, ntasks, *policy->env.memory,
                                              policy->values[OD_STATIC_SORT] != 0, policy->plans->index, &batch);
    if (!status)
        status = tasks ? order_tasks(policy, &batch, tasks, begin) : OD_ENOMEM;
    if (!status)
        hand_out(policy, tasks, begin);
    od_static_batch_free(&batch);
    free(tasks);
    return status;
}

/* Where memory does not suffice for planning, all go to one device in order of arrival, and the others steal. */
static void plan_batch(struct static_policy *policy, unsigned k)
{
    uint64_t limit = policy->values[OD_STATIC_BATCH];
    size_t count = policy->arrived.count;
    if (limit && limit < count)
        count = limit;
    if (!plan_tasks(policy, (uint32_t)count))
        return;
    if (!policy->warned)
        od_log(OD_LOG_WARNING, "sched", "out of host memory for planning %zu tasks: they run in order of arrival",
               count);
    policy->warned = true;
    for (; count > 0; count--)
        od_static_plans_append(policy->plans, od_container_of(od_list_pop_front(&policy->arrived), od_task, link), k);
}

/* --- stealing ------------------------------------------------------------------------- */

static od_static_device *fullest(struct static_policy *policy)
{
    od_static_device *best = NULL;
    for (unsigned k = 0; k < policy->env.ndevices; k++) {
        od_static_device *device = &policy->plans->device[k];
        if (device->plan.tasks.count && (!best || device->ns > best->ns))
            best = device;
    }
    return best;
}

static void emit_steal(const struct static_policy *policy, unsigned k, const od_static_device *victim, od_task *first,
                       uint64_t stolen_ns)
{
    double tasks = 0;
    if (!policy->env.decided)
        return;
    for (const od_node *node = &first->link; node != &victim->plan.tasks.root; node = node->next)
        tasks++;
    const od_score scores[] = {{"from", victim->plan.k},
                               {"tasks", tasks},
                               {"work_s", 1e-9 * (double)stolen_ns},
                               {"left_tasks", (double)victim->plan.tasks.count - tasks},
                               {"left_s", 1e-9 * (double)(victim->ns - stolen_ns)}};
    policy->env.decided(policy->env.engine, &(od_decision){OD_DECISION_STEAL, k, .task = first, OD_SCORES(scores)});
}

/* From the tail tasks of half the plan's duration at most, but at least one, in their order. */
static void steal(struct static_policy *policy, unsigned k)
{
    od_static_device *victim = fullest(policy);
    if (!victim)
        return;
    uint64_t half = victim->ns / 2, stolen = 0;
    od_node *node = &victim->plan.tasks.root;
    do {
        node = node->prev;
        stolen += od_static_plans_task_ns(od_container_of(node, od_task, link));
    } while (node->prev != &victim->plan.tasks.root &&
             stolen + od_static_plans_task_ns(od_container_of(node->prev, od_task, link)) <= half);
    emit_steal(policy, k, victim, od_container_of(node, od_task, link), stolen);
    for (od_node *next; node != &victim->plan.tasks.root; node = next) {
        od_task *task = od_container_of(node, od_task, link);
        next = node->next;
        od_static_plans_take_out(policy->plans, task, victim->plan.k);
        od_static_plans_append(policy->plans, task, k);
    }
}

/* --- request ----------------------------------------------------------------------------- */

/* Algorithm 2, within the first few tasks of the plan. NULL: no task is planned. */
static od_task *choose(const struct static_policy *policy, unsigned k)
{
    const od_list *planned = &policy->plans->device[k].plan.tasks;
    uint64_t left = policy->values[OD_STATIC_READY];
    size_t fewest = SIZE_MAX;
    od_task *best = NULL;
    od_list_each(it, planned) {
        od_task *task = od_container_of(it, od_task, link);
        size_t bytes = od_plan_lacking_within(task, k, fewest);
        if (!best || bytes < fewest) {
            best = task;
            fewest = bytes;
        }
        if (fewest == 0 || left <= 1)
            break;
        left--;
    }
    return best;
}

/* Where it is not the turn of the task. */
static void emit_take(const struct static_policy *policy, unsigned k, od_task *task)
{
    const od_node *turn = od_list_first(&policy->plans->device[k].plan.tasks);
    if (!policy->env.decided || turn == &task->link)
        return;
    const od_task *first = od_container_of(turn, od_task, link);
    const od_score scores[] = {{"lacking_bytes", (double)od_plan_lacking(task, k)},
                               {"first_lacking_bytes", (double)od_plan_lacking(first, k)}};
    policy->env.decided(policy->env.engine, &(od_decision){OD_DECISION_TAKE, k, .task = task, OD_SCORES(scores)});
}

od_task *od_static_pop(void *state, unsigned k)
{
    struct static_policy *policy = state;
    const od_list *planned = &policy->plans->device[k].plan.tasks;
    bool works = !od_policy_is_idle(&policy->env, k);
    if (works && !planned->count && policy->arrived.count)
        plan_batch(policy, k);
    if (works && !planned->count && policy->values[OD_STATIC_STEAL])
        steal(policy, k);
    od_task *task = choose(policy, k);
    if (!task)
        return NULL;
    emit_take(policy, k, task);
    od_static_plans_take_out(policy->plans, task, k);
    od_static_plans_release(policy->plans, task);
    return task;
}

/* --- what others ask ------------------------------------------------------------------------ */

void od_static_forget(void *state, od_datum *datum)
{
    od_static_plans_forget(((struct static_policy *)state)->plans, datum);
}

uint32_t od_static_future_uses(void *state, const od_datum *datum)
{
    return od_static_plans_readers(((const struct static_policy *)state)->plans, datum);
}

uint64_t od_static_next_use(void *state, const od_datum *datum, unsigned k)
{
    return od_static_plans_next_use(((const struct static_policy *)state)->plans, datum, k);
}

bool od_static_is_valid(void *state)
{
    return od_static_plans_is_valid(((const struct static_policy *)state)->plans);
}
