/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Planned tasks in the order of Ready; see ready.h.
 *
 * Tasks have slots, data have ids. Each datum lists the slots of the planned tasks that read it; an entry is out of
 * date where the slot's generation is another one, and goes when the list is next walked.
 */
#include "sched/policy/ready.h"

#include "util/container/array.h"
#include "util/container/heap.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>

struct slot {
    od_task *task;  /* NULL: free */
    uint64_t turn;  /* place in the plan */
    size_t missing; /* bytes of its inputs that are not on the device */
    uint64_t note;  /* the caller's */
    uint32_t generation;
};

struct use {
    uint32_t slot, generation;
};

struct source {
    const od_datum *datum; /* NULL: unknown */
    struct use *uses;
    uint32_t nlisted, capacity;
    bool present; /* on the device, or will be for a buffered task */
};

struct od_ready {
    od_plan plan;
    void (*decided)(void *engine, const od_decision *decision); /* od_policy_env.decided, or NULL */
    od_ready_rules rules;
    uint64_t turns; /* so far */
    struct slot *slots;
    uint32_t nslots;
    uint32_t *free_slots; /* a stack */
    uint32_t nfree;
    od_heap order;
    struct source *sources; /* by id */
    uint32_t ndata;
};

static bool comes_before(const void *owner, uint32_t a, uint32_t b)
{
    const od_ready *ready = owner;
    const struct slot *first = &ready->slots[a], *second = &ready->slots[b];
    if (ready->rules.by_priority && first->task->priority != second->task->priority)
        return first->task->priority > second->task->priority;
    if (ready->rules.by_data && first->missing != second->missing)
        return first->missing < second->missing;
    return first->turn < second->turn;
}

od_ready *od_ready_create(const od_policy_env *env, unsigned k, od_ready_rules rules)
{
    od_ready *ready = od_calloc(1, sizeof *ready);
    if (!ready)
        return NULL;
    ready->decided = env->decided;
    ready->rules = rules;
    od_plan_init(&ready->plan, env, k);
    od_heap_init(&ready->order, comes_before, ready);
    return ready;
}

void od_ready_destroy(od_ready *ready)
{
    for (uint32_t id = 0; id < ready->ndata; id++)
        free(ready->sources[id].uses);
    od_heap_free(&ready->order);
    free(ready->sources);
    free(ready->free_slots);
    free(ready->slots);
    free(ready);
}

/* --- memory ---------------------------------------------------------------- */

static od_status reserve_data(od_ready *ready, uint32_t count)
{
    return od_array_reserve(&ready->sources, &ready->ndata, count, sizeof *ready->sources) ? OD_OK : OD_ENOMEM;
}

static od_status reserve_slot(od_ready *ready)
{
    if (ready->nfree > 0)
        return OD_OK;
    uint32_t old = ready->nslots, wanted = od_array_room(old, (uint64_t)old + 1);
    if (!wanted || !od_array_grow(&ready->slots, old, wanted, sizeof *ready->slots) ||
        !od_array_grow(&ready->free_slots, old, wanted, sizeof *ready->free_slots) ||
        od_heap_reserve(&ready->order, wanted))
        return OD_ENOMEM;
    for (uint32_t number = wanted; number-- > old;)
        ready->free_slots[ready->nfree++] = number;
    ready->nslots = wanted;
    return OD_OK;
}

static bool is_current(const od_ready *ready, struct use use)
{
    return ready->slots[use.slot].generation == use.generation;
}

static void sweep(const od_ready *ready, struct source *source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        if (is_current(ready, source->uses[i]))
            source->uses[kept++] = source->uses[i];
    }
    source->nlisted = kept;
}

static od_status reserve_use(od_ready *ready, struct source *source)
{
    if (source->nlisted < source->capacity)
        return OD_OK;
    sweep(ready, source);
    if (source->nlisted < source->capacity / 2)
        return OD_OK;
    uint64_t twice = 2 * (uint64_t)source->capacity + 1; /* also where there is room: sweeps become rarer */
    bool has_room = od_array_reserve(&source->uses, &source->capacity, twice, sizeof *source->uses);
    return has_room ? OD_OK : OD_ENOMEM;
}

static od_status reserve_task(od_ready *ready, const od_task *task)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        const od_datum *datum = task->access[i].datum;
        if (!(task->access[i].mode & OD_READ))
            continue;
        if (reserve_data(ready, datum->id + 1))
            return OD_ENOMEM;
        struct source *source = &ready->sources[datum->id];
        if (!source->datum) {
            source->datum = datum;
            source->present = od_datum_is_expected(datum, ready->plan.k);
        }
        if (reserve_use(ready, source))
            return OD_ENOMEM;
    }
    return reserve_slot(ready);
}

/* --- tasks ----------------------------------------------------------------- */

od_status od_ready_push(od_ready *ready, od_task *task, uint64_t note)
{
    od_status status = reserve_task(ready, task);
    if (status)
        return status;
    uint32_t number = ready->free_slots[--ready->nfree];
    struct slot *slot = &ready->slots[number];
    *slot = (struct slot){.task = task, .turn = ready->turns++, .note = note, .generation = slot->generation};
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!(task->access[i].mode & OD_READ))
            continue;
        struct source *source = &ready->sources[task->access[i].datum->id];
        source->uses[source->nlisted++] = (struct use){.slot = number, .generation = slot->generation};
        slot->missing += source->present ? 0 : source->datum->size;
    }
    task->policy_data = (void *)((uintptr_t)number + 1);
    od_plan_append(&ready->plan, task);
    od_heap_push(&ready->order, number);
    return OD_OK;
}

static od_task *take(od_ready *ready, uint32_t number)
{
    od_task *task = ready->slots[number].task;
    od_heap_remove(&ready->order, number);
    od_plan_remove(&ready->plan, task);
    ready->slots[number].task = NULL;
    ready->slots[number].generation++;
    ready->free_slots[ready->nfree++] = number;
    task->policy_data = NULL;
    return task;
}

/* The source of a datum, or NULL: no task has asked for it. */
static struct source *source_of(const od_ready *ready, const od_datum *datum)
{
    return datum->id < ready->ndata && ready->sources[datum->id].datum == datum ? &ready->sources[datum->id] : NULL;
}

/* The datum has come to the device or left it. */
static void set_present(od_ready *ready, const od_datum *datum, bool present)
{
    struct source *source = source_of(ready, datum);
    if (!source || source->present == present)
        return;
    source->present = present;
    sweep(ready, source);
    for (uint32_t i = 0; i < source->nlisted; i++) {
        uint32_t number = source->uses[i].slot;
        if (present) {
            ready->slots[number].missing -= datum->size;
            od_heap_raised(&ready->order, number);
        } else {
            ready->slots[number].missing += datum->size;
            od_heap_lowered(&ready->order, number);
        }
    }
}

/* Where it is not the turn of the task. */
static void emit_take(const od_ready *ready, uint32_t number)
{
    const struct slot *slot = &ready->slots[number];
    const od_task *first = od_container_of(od_list_first(&ready->plan.tasks), od_task, link);
    if (!ready->decided || slot->task == first)
        return;
    const od_score scores[] = {{"lacking_bytes", (double)slot->missing},
                               {"first_lacking_bytes", (double)ready->slots[(uintptr_t)first->policy_data - 1].missing},
                               {"priority", slot->task->priority},
                               {"first_priority", first->priority}};
    ready->decided(ready->plan.engine,
                   &(od_decision){OD_DECISION_TAKE, ready->plan.k, .task = slot->task, OD_SCORES(scores)});
}

od_task *od_ready_pop(od_ready *ready, uint64_t *note)
{
    uint32_t number = od_heap_first(&ready->order);
    if (number == OD_HEAP_NONE)
        return NULL;
    emit_take(ready, number);
    *note = ready->slots[number].note;
    od_task *task = take(ready, number);
    for (uint32_t i = 0; i < task->naccess; i++)
        set_present(ready, task->access[i].datum, true);
    return task;
}

uint64_t od_ready_remove(od_ready *ready, od_task *task)
{
    uint32_t number = (uint32_t)((uintptr_t)task->policy_data - 1);
    uint64_t note = ready->slots[number].note;
    take(ready, number);
    return note;
}

const od_plan *od_ready_plan(const od_ready *ready)
{
    return &ready->plan;
}

/* --- data ------------------------------------------------------------------ */

void od_ready_incoming(od_ready *ready, const od_datum *datum)
{
    set_present(ready, datum, true);
}

void od_ready_evicted(od_ready *ready, const od_datum *datum)
{
    if (datum->replica[ready->plan.k].buffered_uses == 0)
        set_present(ready, datum, false);
}

void od_ready_forget(od_ready *ready, const od_datum *datum)
{
    struct source *source = source_of(ready, datum);
    if (!source)
        return;
    sweep(ready, source);
    assert(source->nlisted == 0);
    free(source->uses);
    *source = (struct source){0};
}

/* --- checks ---------------------------------------------------------------- */

static bool slot_is_valid(const od_ready *ready, uint32_t number)
{
    const od_task *task = ready->slots[number].task;
    size_t missing = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        const struct source *source = source_of(ready, task->access[i].datum);
        if (!(task->access[i].mode & OD_READ))
            continue;
        if (!source)
            return false;
        missing += source->present ? 0 : source->datum->size;
    }
    return ready->slots[number].missing == missing && od_heap_contains(&ready->order, number);
}

bool od_ready_is_valid(const od_ready *ready)
{
    uint32_t count = 0;
    for (uint32_t number = 0; number < ready->nslots; number++) {
        if (!ready->slots[number].task)
            continue;
        count++;
        if (!slot_is_valid(ready, number))
            return false;
    }
    return count == ready->plan.tasks.count && count == ready->order.count && count + ready->nfree == ready->nslots &&
           od_heap_is_valid(&ready->order) && od_plan_is_valid(&ready->plan);
}
