/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The plans of all devices; see static_plans.h. */
#include "sched/policy/batch/static_plans.h"

#include "sched/policy/batch/static_batch.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>

/* A use of a datum by an adopted task. */
struct use {
    od_node link; /* in od_static_datum.uses of the task's device while it is planned */
    uint64_t place;
};

/* od_task.policy_data */
struct record {
    uint64_t ns;      /* predicted duration */
    struct use use[]; /* one per access */
};

struct od_static_datum {
    uint32_t readers; /* adopted tasks that read it */
    od_list uses[];   /* by device: planned ones, in the order of the plan */
};

/* --- making and unmaking ------------------------------------------------------ */

od_static_plans *od_static_plans_create(const od_policy_env *env)
{
    od_static_plans *plans = od_calloc(1, sizeof *plans + env->ndevices * sizeof plans->device[0]);
    if (!plans)
        return NULL;
    plans->ndevices = env->ndevices;
    for (unsigned k = 0; k < env->ndevices; k++)
        od_plan_init(&plans->device[k].plan, env, k);
    return plans;
}

void od_static_plans_destroy(od_static_plans *plans)
{
    for (unsigned k = 0; k < plans->ndevices; k++) {
        od_list_each(it, &plans->device[k].plan.tasks)
            free(od_container_of(it, od_task, link)->policy_data);
    }
    for (uint32_t id = 0; id < plans->ndata; id++)
        free(plans->data[id]);
    free(plans->data);
    free(plans->index);
    free(plans);
}

/* --- tasks come and go ---------------------------------------------------------- */

static od_status reserve_ids(od_static_plans *plans, uint32_t id)
{
    if (id < plans->ndata)
        return OD_OK;
    uint32_t old = plans->ndata, count = od_array_room(old, (uint64_t)id + 1);
    if (!count || !od_array_grow(&plans->data, old, count, sizeof *plans->data) ||
        !od_array_grow(&plans->index, old, count, sizeof *plans->index))
        return OD_ENOMEM;
    plans->ndata = count;
    return OD_OK;
}

static od_status reserve_datum(od_static_plans *plans, uint32_t id)
{
    if (reserve_ids(plans, id))
        return OD_ENOMEM;
    if (plans->data[id])
        return OD_OK;
    unsigned ndevices = plans->ndevices;
    struct od_static_datum *datum = od_malloc(sizeof *datum + ndevices * sizeof datum->uses[0]);
    if (!datum)
        return OD_ENOMEM;
    datum->readers = 0;
    for (unsigned k = 0; k < ndevices; k++)
        od_list_init(&datum->uses[k]);
    plans->data[id] = datum;
    return OD_OK;
}

static void count_reads(od_static_plans *plans, const od_task *task, int change)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (task->access[i].mode & OD_READ)
            plans->data[task->access[i].datum->id]->readers += (uint32_t)change;
    }
}

od_status od_static_plans_adopt(od_static_plans *plans, od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (reserve_datum(plans, task->access[i].datum->id))
            return OD_ENOMEM;
    }
    struct record *record = od_calloc(1, sizeof *record + task->naccess * sizeof record->use[0]);
    if (!record)
        return OD_ENOMEM;
    record->ns = od_static_duration_ns(task);
    task->policy_data = record;
    count_reads(plans, task, 1);
    return OD_OK;
}

void od_static_plans_release(od_static_plans *plans, od_task *task)
{
    count_reads(plans, task, -1);
    free(task->policy_data);
    task->policy_data = NULL;
}

void od_static_plans_forget(od_static_plans *plans, const od_datum *datum)
{
    if (datum->id >= plans->ndata)
        return;
    free(plans->data[datum->id]);
    plans->data[datum->id] = NULL;
}

/* --- plans ------------------------------------------------------------------------ */

void od_static_plans_append(od_static_plans *plans, od_task *task, unsigned k)
{
    od_static_device *device = &plans->device[k];
    struct record *record = task->policy_data;
    od_plan_append(&device->plan, task);
    device->ns += record->ns;
    for (uint32_t i = 0; i < task->naccess; i++) {
        record->use[i].place = device->place;
        od_list_push_back(&plans->data[task->access[i].datum->id]->uses[k], &record->use[i].link);
    }
    device->place++;
}

void od_static_plans_take_out(od_static_plans *plans, od_task *task, unsigned k)
{
    od_static_device *device = &plans->device[k];
    struct record *record = task->policy_data;
    od_plan_remove(&device->plan, task);
    device->ns -= record->ns;
    for (uint32_t i = 0; i < task->naccess; i++)
        od_list_remove(&plans->data[task->access[i].datum->id]->uses[k], &record->use[i].link);
}

/* --- what others ask -------------------------------------------------------------- */

uint64_t od_static_plans_task_ns(const od_task *task)
{
    return ((const struct record *)task->policy_data)->ns;
}

static const struct od_static_datum *find(const od_static_plans *plans, const od_datum *datum)
{
    return datum->id < plans->ndata ? plans->data[datum->id] : NULL;
}

uint32_t od_static_plans_readers(const od_static_plans *plans, const od_datum *datum)
{
    const struct od_static_datum *known = find(plans, datum);
    return known ? known->readers : 0;
}

uint64_t od_static_plans_next_use(const od_static_plans *plans, const od_datum *datum, unsigned k)
{
    const struct od_static_datum *known = find(plans, datum);
    const od_node *first = known ? od_list_first(&known->uses[k]) : NULL;
    return first ? od_container_of(first, const struct use, link)->place : UINT64_MAX;
}

/* --- invariants -------------------------------------------------------------------- */

static bool uses_ascend(const od_list *uses)
{
    uint64_t least = 0;
    od_list_each(it, uses) {
        uint64_t place = od_container_of(it, struct use, link)->place;
        if (place < least)
            return false;
        least = place + 1;
    }
    return true;
}

/* The plan's tasks, their uses in the lists of their data, and the counts of both. */
static bool device_is_valid(const od_static_plans *plans, unsigned k)
{
    const od_static_device *device = &plans->device[k];
    uint64_t ns = 0, nuses = 0, listed = 0;
    od_list_each(it, &device->plan.tasks) {
        const od_task *task = od_container_of(it, od_task, link);
        const struct record *record = task->policy_data;
        if (task->state != OD_TASK_PLANNED || task->place != (int)k)
            return false;
        ns += record->ns;
        nuses += task->naccess;
        for (uint32_t i = 0; i < task->naccess; i++) {
            const od_datum *datum = task->access[i].datum;
            const od_list *uses = &plans->data[datum->id]->uses[k];
            if (!od_list_contains(&record->use[i].link) || datum->replica[k].planned_uses != uses->count)
                return false;
        }
    }
    for (uint32_t id = 0; id < plans->ndata; id++) {
        if (plans->data[id] && !uses_ascend(&plans->data[id]->uses[k]))
            return false;
        listed += plans->data[id] ? plans->data[id]->uses[k].count : 0;
    }
    return ns == device->ns && nuses == listed;
}

bool od_static_plans_is_valid(const od_static_plans *plans)
{
    for (unsigned k = 0; k < plans->ndevices; k++) {
        if (!device_is_valid(plans, k))
            return false;
    }
    for (uint32_t id = 0; id < plans->ndata; id++) {
        if (plans->index[id])
            return false;
    }
    return true;
}
