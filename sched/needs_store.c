/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory of the needs: creation, growth, and the records of tasks and data.
 *
 * All memory is taken when a task is adopted. Arrays grow by doubling; a growth that
 * fails half-way leaves some arrays larger than their capacity says, which is harmless.
 */
#include "sched/needs_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Candidates: the better key first, ties at random. */
static bool candidate_before(const void *owner, uint32_t a, uint32_t b)
{
    const struct view *view = owner;
    int order = view->needs->order(&view->key[a], &view->key[b]);
    return order != 0 ? order < 0 : view->key[a].tie > view->key[b].tie;
}

/* Ready tasks: the highest priority first, then in order of arrival. */
static bool urgent_before(const void *owner, uint32_t a, uint32_t b)
{
    const struct slot *slots = ((const od_needs *)owner)->slots;
    if (slots[a].priority != slots[b].priority)
        return slots[a].priority > slots[b].priority;
    return slots[a].arrival < slots[b].arrival;
}

od_status od_needs_create(const od_policy_env *env, od_need_order order, od_needs **out)
{
    od_needs *needs = calloc(1, sizeof *needs + env->ndevices * sizeof needs->views[0]);
    if (!needs)
        return OD_ENOMEM;
    needs->env = *env;
    needs->order = order;
    needs->random = env->seed;
    od_heap_init(&needs->urgent, urgent_before, needs);
    od_heap_init(&needs->sorter, urgent_before, needs);
    for (unsigned k = 0; k < env->ndevices; k++) {
        struct view *view = &needs->views[k];
        view->needs = needs;
        view->k = k;
        od_heap_init(&view->candidates, candidate_before, view);
    }
    *out = needs;
    return OD_OK;
}

static void free_inputs(struct slot *slot)
{
    if (slot->ninputs > FEW_INPUTS)
        free(slot->inputs.many);
    slot->ninputs = 0;
}

void od_needs_destroy(od_needs *needs)
{
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        struct view *view = &needs->views[k];
        od_heap_free(&view->candidates);
        free(view->want);
        free(view->key);
        free(view->free);
    }
    for (uint32_t number = 0; number < needs->nslots; number++)
        free_inputs(&needs->slots[number]);
    for (uint32_t id = 0; id < needs->ndata; id++)
        free(needs->sources[id].uses);
    od_heap_free(&needs->urgent);
    od_heap_free(&needs->sorter);
    free(needs->slots);
    free(needs->lack);
    free(needs->free_slots);
    free(needs->taken);
    free(needs->sources);
    free(needs);
}

/* Grows the array at *array (of elements of `size` bytes), the new ones zero. */
static bool grow(void *array, uint32_t old_count, uint32_t new_count, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof old);
    char *grown = realloc(old, new_count * size);
    if (!grown)
        return false;
    memset(grown + old_count * size, 0, (new_count - old_count) * size);
    memcpy(array, &grown, sizeof grown);
    return true;
}

static uint32_t larger(uint32_t capacity, uint32_t needed)
{
    uint32_t doubled = capacity < 16 ? 16 : capacity * 2;
    return doubled > needed ? doubled : needed;
}

static od_status reserve_data(od_needs *needs, uint32_t count)
{
    if (count <= needs->ndata)
        return OD_OK;
    uint32_t old = needs->ndata, wanted = larger(old, count);
    if (!grow(&needs->sources, old, wanted, sizeof *needs->sources))
        return OD_ENOMEM;
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        struct view *view = &needs->views[k];
        if (!grow(&view->want, old, wanted, sizeof *view->want) || !grow(&view->key, old, wanted, sizeof *view->key) ||
            od_heap_reserve(&view->candidates, wanted))
            return OD_ENOMEM;
    }
    needs->ndata = wanted;
    return OD_OK;
}

static od_status reserve_slot(od_needs *needs)
{
    if (needs->nfree_slots > 0)
        return OD_OK;
    unsigned ndevices = needs->env.ndevices;
    uint32_t old = needs->nslots, wanted = larger(old, old + 1);
    if (!grow(&needs->slots, old, wanted, sizeof *needs->slots) ||
        !grow(&needs->lack, old, wanted, ndevices * sizeof *needs->lack) ||
        !grow(&needs->free_slots, old, wanted, sizeof *needs->free_slots) ||
        !grow(&needs->taken, old, wanted, sizeof *needs->taken) || od_heap_reserve(&needs->urgent, wanted) ||
        od_heap_reserve(&needs->sorter, wanted))
        return OD_ENOMEM;
    for (unsigned k = 0; k < ndevices; k++) {
        if (!grow(&needs->views[k].free, old, wanted, sizeof *needs->views[k].free))
            return OD_ENOMEM;
    }
    for (uint32_t number = wanted; number-- > old;)
        needs->free_slots[needs->nfree_slots++] = number;
    needs->nslots = wanted;
    return OD_OK;
}

void od_needs_ask_transfer(od_needs *needs, uint32_t id)
{
    struct source *source = &needs->sources[id];
    source->valid = source->datum->valid;
    for (unsigned k = 0; k < needs->env.ndevices; k++)
        needs->views[k].want[id].transfer = needs->env.transfer_time(needs->env.engine, source->datum, k);
}

/* The first task that reads the datum: where it is now is read from its replicas. */
static void open_source(od_needs *needs, const od_datum *datum)
{
    struct source *source = &needs->sources[datum->id];
    assert(!source->datum && !source->nlisted);
    source->datum = datum;
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        od_replica_state state = datum->replica[k].state;
        bool resident = state == OD_PRESENT || state == OD_LOADING;
        bool present = resident || datum->replica[k].buffered_uses > 0;
        needs->views[k].want[datum->id] = (struct want){.resident = resident, .present = present};
    }
    od_needs_ask_transfer(needs, datum->id);
}

/* Drops the uses that are out of date. */
static void sweep(const od_needs *needs, struct source *source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        if (is_current(needs, source->uses[i]))
            source->uses[kept++] = source->uses[i];
    }
    source->nlisted = kept;
}

static od_status reserve_use(od_needs *needs, const od_datum *datum)
{
    od_status status = reserve_data(needs, datum->id + 1);
    if (status)
        return status;
    struct source *source = &needs->sources[datum->id];
    if (source->datum != datum)
        open_source(needs, datum);
    if (source->nlisted < source->capacity)
        return OD_OK;
    sweep(needs, source);
    if (source->nlisted < source->capacity / 2)
        return OD_OK;
    uint32_t wanted = larger(source->capacity, source->nlisted + 1);
    if (!grow(&source->uses, source->capacity, wanted, sizeof *source->uses))
        return OD_ENOMEM;
    source->capacity = wanted;
    return OD_OK;
}

/* Room for the task; *ninputs: how many data it reads. */
static od_status reserve_task(od_needs *needs, const od_task *task, uint32_t *ninputs)
{
    *ninputs = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!(task->access[i].mode & OD_READ))
            continue;
        od_status status = reserve_use(needs, task->access[i].datum);
        if (status)
            return status;
        ++*ninputs;
    }
    return reserve_slot(needs);
}

/* Whole nanoseconds, so that sums stay exact when tasks come and go; 1 ns to 11 days. */
static uint64_t whole_ns(double seconds)
{
    double ns = seconds * 1e9;
    return ns >= 1e15 ? UINT64_C(1000000000000000) : ns > 1 ? (uint64_t)(ns + 0.5) : 1;
}

static void append_inputs(od_needs *needs, const od_task *task, uint32_t number, uint32_t *inputs)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!(task->access[i].mode & OD_READ))
            continue;
        struct source *source = &needs->sources[task->access[i].datum->id];
        source->uses[source->nlisted++] = (struct use){.slot = number, .generation = needs->slots[number].generation};
        source->nuses++;
        *inputs++ = task->access[i].datum->id;
    }
}

od_status od_needs_adopt(od_needs *needs, od_task *task)
{
    assert(task->bound == OD_NOWHERE);
    uint32_t ninputs, *many = NULL;
    od_status status = reserve_task(needs, task, &ninputs);
    if (status)
        return status;
    if (ninputs > FEW_INPUTS && !(many = malloc(ninputs * sizeof *many)))
        return OD_ENOMEM;
    uint32_t number = needs->free_slots[--needs->nfree_slots];
    if (od_heap_contains(&needs->urgent, number)) /* for the task that had the slot before */
        od_heap_remove(&needs->urgent, number);
    struct slot *slot = &needs->slots[number];
    *slot = (struct slot){.task = task,
                          .arrival = task->id,
                          .ns = whole_ns(task->duration),
                          .ninputs = ninputs,
                          .generation = slot->generation,
                          .priority = task->priority};
    append_inputs(needs, task, number, many ? many : slot->inputs.few);
    if (many)
        slot->inputs.many = many;
    task->policy_data = (void *)((uintptr_t)number + 1);
    needs->nowned++;
    return OD_OK;
}

void od_needs_drop_task(od_needs *needs, od_task *task)
{
    uint32_t number = slot_of(task);
    struct slot *slot = &needs->slots[number];
    const uint32_t *inputs = inputs_of(slot);
    assert(!slot->ready);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        needs->sources[inputs[i]].nuses--;
    free_inputs(slot);
    slot->task = NULL;
    slot->generation++;
    needs->free_slots[needs->nfree_slots++] = number;
    needs->nowned--;
    task->policy_data = NULL;
}

void od_needs_forget(od_needs *needs, const od_datum *datum)
{
    struct source *source = source_of(needs, datum);
    if (!source)
        return;
    assert(source->nuses == 0);
    for (unsigned k = 0; k < needs->env.ndevices; k++) {
        od_heap *candidates = &needs->views[k].candidates;
        if (od_heap_contains(candidates, datum->id))
            od_heap_remove(candidates, datum->id);
    }
    free(source->uses);
    *source = (struct source){0};
}
