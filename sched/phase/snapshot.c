/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The open tasks as plain arrays; see snapshot.h. */
#include "sched/phase/snapshot.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

enum { IN_FLIGHT = 2 }; /* tasks beyond a task buffer: one committed, one running */

/* What tasks must have in common to play the same part. */
struct kind {
    const void *kind;
    uint32_t nuses;
};

/* While a snapshot is made. */
struct maker {
    od_snapshot *snapshot;
    const od_policy_env *env;
    const od_known *known;
    unsigned k;
    uint32_t *task_number, *item_number; /* by id of what is known: the number in the problem plus one */
    struct kind kinds[OD_PHASE_KINDS];
    uint32_t nuses, nsuccessors;
    uint32_t use_room, successor_room;
};

/* Kinds beyond the first are one. */
static uint32_t kind_of(struct maker *m, const od_known_task *task)
{
    od_phase_problem *p = &m->snapshot->problem;
    for (uint32_t i = 0; i < p->nkinds; i++)
        if (m->kinds[i].kind == task->kind && m->kinds[i].nuses == task->nuses)
            return i;
    if (p->nkinds == OD_PHASE_KINDS)
        return OD_PHASE_KINDS - 1;
    m->kinds[p->nkinds] = (struct kind){task->kind, task->nuses};
    return p->nkinds++;
}

/* Bytes; what has not been seen yet is taken to be like the others. */
static double size_of(const struct maker *m, const od_known_item *item)
{
    return item->size ? (double)item->size : m->known->mean_size;
}

/* What no task has used yet is in the program's memory. */
static double load_seconds(const struct maker *m, const od_known_item *item)
{
    static const double least = 1e-9; /* loads take some time, however short */
    if (item->datum)
        return m->env->transfer_time(m->env->engine, item->datum, m->k);
    od_datum expected = {.size = (size_t)size_of(m, item)};
    return fmax(m->env->transfer_time_from(m->env->engine, &expected, od_placeset_of(OD_HOST), m->k), least);
}

static od_placeset copies_of(const struct maker *m, const od_known_item *item)
{
    od_placeset copies = OD_NO_PLACES;
    for (unsigned k = 0; k < m->env->ndevices; k++)
        if (item->claimed[k].count || (item->datum && od_datum_is_expected(item->datum, k)))
            od_placeset_add(&copies, k);
    return copies;
}

static bool is_fresh(const od_known_item *item)
{
    const od_node *first = od_list_first(&item->open);
    return first && od_container_of(first, od_known_use, link)->mode == OD_WRITE;
}

static uint32_t number_of(struct maker *m, const od_known_item *item)
{
    od_snapshot *snapshot = m->snapshot;
    if (!m->item_number[item->id]) {
        uint32_t i = snapshot->problem.nitems++;
        m->item_number[item->id] = i + 1;
        snapshot->size[i] = size_of(m, item);
        snapshot->load[i] = load_seconds(m, item);
        snapshot->copies[i] = copies_of(m, item);
        snapshot->resident[i] = od_placeset_has(snapshot->copies[i], m->k);
        snapshot->fresh[i] = is_fresh(item);
    }
    return m->item_number[item->id] - 1;
}

/* Room for so many uses more. */
static bool reserve_uses(struct maker *m, uint32_t count)
{
    od_snapshot *snapshot = m->snapshot;
    uint32_t writes_room = m->use_room;
    uint64_t uses = (uint64_t)m->nuses + count;
    return od_array_reserve(&snapshot->writes, &writes_room, uses, sizeof *snapshot->writes) &&
           od_array_reserve(&snapshot->use, &m->use_room, uses, sizeof *snapshot->use);
}

static bool reserve_successors(struct maker *m, uint32_t count)
{
    return od_array_reserve(&m->snapshot->successor, &m->successor_room, (uint64_t)m->nsuccessors + count,
                            sizeof *m->snapshot->successor);
}

static bool add_task(struct maker *m, od_known_task *task)
{
    static const double least = 1e-9; /* every task takes some time */
    od_snapshot *snapshot = m->snapshot;
    if (!reserve_uses(m, task->nuses))
        return false;
    uint32_t t = snapshot->problem.ntasks++;
    snapshot->task[t] = task;
    od_known_pin(task);
    m->task_number[task->id] = t + 1;
    snapshot->seconds[t] = task->seconds > least ? task->seconds : least;
    snapshot->speed_class[t] = (uint8_t)task->speed_class;
    snapshot->kind[t] = kind_of(m, task);
    for (uint32_t i = 0; i < task->nuses; i++) {
        snapshot->use[m->nuses] = number_of(m, task->uses[i].item);
        snapshot->writes[m->nuses++] = task->uses[i].mode & OD_WRITE;
    }
    snapshot->first_use[t + 1] = m->nuses;
    return true;
}

/* Dependences against the order of submission, which wrong predictions may leave, are none here. */
static bool add_successors(struct maker *m)
{
    od_snapshot *snapshot = m->snapshot;
    for (uint32_t t = 0; t < snapshot->problem.ntasks; t++) {
        const od_known_task *task = snapshot->task[t];
        if (!reserve_successors(m, task->nsuccessors))
            return false;
        for (uint32_t i = 0; i < task->nsuccessors; i++) {
            const od_known_task *after = task->successors[i];
            if (!after->gone && m->task_number[after->id] > t + 1)
                snapshot->successor[m->nsuccessors++] = m->task_number[after->id] - 1;
        }
        snapshot->first_successor[t + 1] = m->nsuccessors;
    }
    return true;
}

static void *array(size_t count, size_t size, bool *ok)
{
    void *memory = od_calloc(count + 1, size);
    *ok &= memory != NULL;
    return memory;
}

static bool allocate(struct maker *m)
{
    od_snapshot *s = m->snapshot;
    size_t ntasks = m->known->open.count, nitems = m->known->nitems;
    bool ok = true;
    m->task_number = array(m->known->task_ids.bound, sizeof *m->task_number, &ok);
    m->item_number = array(m->known->item_ids.bound, sizeof *m->item_number, &ok);
    s->task = array(ntasks, sizeof *s->task, &ok);
    s->seconds = array(ntasks, sizeof *s->seconds, &ok);
    s->speed_class = array(ntasks, sizeof *s->speed_class, &ok);
    s->kind = array(ntasks, sizeof *s->kind, &ok);
    s->first_use = array(ntasks + 1, sizeof *s->first_use, &ok);
    s->first_successor = array(ntasks + 1, sizeof *s->first_successor, &ok);
    s->size = array(nitems, sizeof *s->size, &ok);
    s->load = array(nitems, sizeof *s->load, &ok);
    s->resident = array(nitems, sizeof *s->resident, &ok);
    s->copies = array(nitems, sizeof *s->copies, &ok);
    s->fresh = array(nitems, sizeof *s->fresh, &ok);
    return ok && reserve_uses(m, 1) && reserve_successors(m, 1);
}

static bool fill(struct maker *m)
{
    od_snapshot *s = m->snapshot;
    od_list_each(it, &m->known->open)
        if (!add_task(m, od_container_of(it, od_known_task, link)))
            return false;
    if (!add_successors(m))
        return false;
    s->problem.seconds = s->seconds;
    s->problem.speed_class = s->speed_class;
    s->problem.kind = s->kind;
    s->problem.first_use = s->first_use;
    s->problem.use = s->use;
    s->problem.writes = s->writes;
    s->problem.first_successor = s->first_successor;
    s->problem.successor = s->successor;
    s->problem.size = s->size;
    s->problem.load = s->load;
    s->problem.resident = s->resident;
    s->problem.fresh = s->fresh;
    s->problem.memory = (double)*m->env->memory;
    s->problem.window = m->env->buffer + IN_FLIGHT;
    return true;
}

od_status od_snapshot_create(od_snapshot *snapshot, const od_known *known, const od_policy_env *env, unsigned k)
{
    struct maker m = {.snapshot = snapshot, .env = env, .known = known, .k = k};
    *snapshot = (od_snapshot){0};
    bool ok = allocate(&m) && fill(&m);
    if (!ok)
        od_snapshot_free(snapshot);
    free(m.task_number);
    free(m.item_number);
    return ok ? OD_OK : OD_ENOMEM;
}

void od_snapshot_free(od_snapshot *snapshot)
{
    for (uint32_t t = 0; t < snapshot->problem.ntasks; t++)
        od_known_unpin(snapshot->task[t]);
    free(snapshot->task);
    free(snapshot->seconds);
    free(snapshot->speed_class);
    free(snapshot->kind);
    free(snapshot->first_use);
    free(snapshot->use);
    free(snapshot->writes);
    free(snapshot->first_successor);
    free(snapshot->successor);
    free(snapshot->size);
    free(snapshot->load);
    free(snapshot->resident);
    free(snapshot->copies);
    free(snapshot->fresh);
    *snapshot = (od_snapshot){0};
}

/* From what tasks take more than predicted: where that is nothing it is exactly once. */
double od_snapshot_slowness(const od_snapshot *s, const od_policy_env *env, unsigned j)
{
    double seconds = 0, more = 0;
    if (!env->slowness || !od_slowness_is_mixed(env->slowness, env->ndevices))
        return od_policy_slowness(env, OD_SPEED_GENERAL, j);
    for (uint32_t t = 0; t < s->problem.ntasks; t++) {
        seconds += s->seconds[t];
        more += s->seconds[t] * (od_policy_slowness(env, s->speed_class[t], j) - 1);
    }
    return seconds > 0 ? 1 + more / seconds : 1;
}
