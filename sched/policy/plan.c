/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tasks reserved for one device, in order; see plan.h. */
#include "sched/policy/plan.h"

#include <assert.h>

void od_plan_init(od_plan *plan, const od_policy_env *env, unsigned k)
{
    plan->k = k;
    plan->planned = env->planned;
    plan->engine = env->engine;
    od_list_init(&plan->tasks);
}

void od_plan_append(od_plan *plan, od_task *task)
{
    assert(!od_list_contains(&task->link));
    task->state = OD_TASK_PLANNED;
    task->place = (int)plan->k;
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->replica[plan->k].planned_uses++;
    od_list_push_back(&plan->tasks, &task->link);
    if (plan->planned)
        plan->planned(plan->engine, task, plan->k);
}

void od_plan_remove(od_plan *plan, od_task *task)
{
    assert(task->state == OD_TASK_PLANNED && task->place == (int)plan->k);
    od_list_remove(&plan->tasks, &task->link);
    for (uint32_t i = 0; i < task->naccess; i++)
        task->access[i].datum->replica[plan->k].planned_uses--;
    task->state = OD_TASK_READY;
    task->place = OD_NOWHERE;
}

od_task *od_plan_pop(od_plan *plan)
{
    od_node *node = od_list_first(&plan->tasks);
    if (!node)
        return NULL;
    od_task *task = od_container_of(node, od_task, link);
    od_plan_remove(plan, task);
    return task;
}

size_t od_plan_lacking(const od_task *task, unsigned k)
{
    return od_plan_lacking_within(task, k, SIZE_MAX);
}

size_t od_plan_lacking_within(const od_task *task, unsigned k, size_t most)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < task->naccess && bytes <= most; i++) {
        const od_datum *datum = task->access[i].datum;
        if ((task->access[i].mode & OD_READ) && !od_datum_is_expected(datum, k))
            bytes += datum->size;
    }
    return bytes;
}

/* How many planned tasks use the datum. */
static uint32_t count_uses(const od_plan *plan, const od_datum *datum)
{
    uint32_t uses = 0;
    od_list_each(it, &plan->tasks) {
        const od_task *task = od_container_of(it, od_task, link);
        for (uint32_t i = 0; i < task->naccess; i++)
            uses += task->access[i].datum == datum;
    }
    return uses;
}

bool od_plan_is_valid(const od_plan *plan)
{
    size_t count = 0;
    od_list_each(it, &plan->tasks) {
        const od_task *task = od_container_of(it, od_task, link);
        if (task->state != OD_TASK_PLANNED || task->place != (int)plan->k)
            return false;
        for (uint32_t i = 0; i < task->naccess; i++) {
            const od_datum *datum = task->access[i].datum;
            if (datum->replica[plan->k].planned_uses != count_uses(plan, datum))
                return false;
        }
        count++;
    }
    return count == plan->tasks.count;
}
