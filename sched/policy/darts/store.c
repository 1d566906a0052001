/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory of the index: creation, growth, and the records of tasks and data.
 *
 * All memory is taken when a task is adopted. Arrays grow by doubling; a growth that
 * fails half-way leaves some arrays larger than their capacity says, which is harmless.
 */
#include "sched/policy/darts/impl.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Candidates: the better one first, ties at random. */
static bool candidate_before(const void *owner, uint32_t a, uint32_t b)
{
    const struct view *view = owner;
    return is_greater_or(&want_of(view, a)->rank, &want_of(view, b)->rank, a < b);
}

static bool urgent_before(const void *owner, uint32_t a, uint32_t b)
{
    return is_before(owner, a, b);
}

static bool random_before(const void *owner, uint32_t a, uint32_t b)
{
    const od_missing *missing = owner;
    uint64_t id_a = missing->slots[a].arrival, id_b = missing->slots[b].arrival;
    uint32_t tie_a = od_missing_tie(missing->env.seed, missing->env.ndevices, id_a);
    uint32_t tie_b = od_missing_tie(missing->env.seed, missing->env.ndevices, id_b);
    return tie_a != tie_b ? tie_a > tie_b : id_a < id_b;
}

od_status od_missing_create(const od_policy_env *env, const od_missing_rules *rules, od_missing **out)
{
    od_missing *missing = od_calloc(1, sizeof *missing + env->ndevices * sizeof missing->views[0]);
    if (!missing)
        return OD_ENOMEM;
    missing->env = *env;
    missing->rules = *rules;
    missing->free_slot = NO_SLOT;
    od_heap_init(&missing->urgent, rules->random_tasks ? random_before : urgent_before, missing);
    for (unsigned k = 0; k < env->ndevices; k++) {
        struct view *view = &missing->views[k];
        view->missing = missing;
        view->k = k;
        od_heap_init(&view->first, candidate_before, view);
        view->stride = env->ndevices > MANY_DEVICES ? env->ndevices : 1;
    }
    *out = missing;
    return OD_OK;
}

static void free_lines(void *array)
{
    void *memory = NULL;
    if (array)
        memcpy(&memory, (char *)array - sizeof memory, sizeof memory);
    free(memory);
}

static void free_inputs(struct slot *slot)
{
    if (slot->ninputs > FEW_INPUTS)
        free(slot->inputs.many);
    slot->ninputs = 0;
}

void od_missing_destroy(od_missing *missing)
{
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        free(missing->views[k].free);
        free(missing->views[k].free_words);
    }
    free(missing->by_data);
    for (uint32_t number = 0; number < missing->nslots; number++)
        free_inputs(&missing->slots[number]);
    for (uint32_t id = 0; id < missing->ndata; id++)
        free(missing->sources[id].uses);
    od_heap_free(&missing->urgent);
    free_lines(missing->standing);
    free(missing->absent);
    free(missing->pairs);
    free_lines(missing->slots);
    free(missing->taken);
    free(missing->looked);
    free(missing->sources);
    free(missing);
}

enum { LINE = 64 }; /* bytes of a cache line */

/* As od_array_extend() for an array that begins a cache line, so that its elements lie within lines. The address to
 * free is kept before it. */
static bool extend_lines(void *array, uint32_t old_count, uint32_t new_count, size_t size)
{
    char *old, *memory = NULL;
    memcpy(&old, array, sizeof old);
    if (old)
        memcpy(&memory, old - sizeof memory, sizeof memory);
    size_t old_offset = old ? (size_t)(old - memory) : 0;
    memory = od_realloc(memory, new_count * size + sizeof memory + LINE);
    if (!memory)
        return false;
    char *grown = memory + sizeof memory;
    grown += -(uintptr_t)grown % LINE;
    if (old && (size_t)(grown - memory) != old_offset)
        memmove(grown, memory + old_offset, old_count * size);
    memcpy(grown - sizeof memory, &memory, sizeof memory);
    memcpy(array, &grown, sizeof grown);
    return true;
}

/* The same, and the new ones are zeros. */
static bool grow_lines(void *array, uint32_t old_count, uint32_t new_count, size_t size)
{
    char *grown;
    if (!extend_lines(array, old_count, new_count, size))
        return false;
    memcpy(&grown, array, sizeof grown);
    memset(grown + old_count * size, 0, (new_count - old_count) * size);
    return true;
}

/* By half: what is copied on the way is twice as much as there is in the end. */
static uint32_t larger(uint32_t capacity, uint32_t needed)
{
    uint32_t grown = capacity + capacity / 2 + 16;
    return grown > needed ? grown : needed;
}

/* A part of a view's memory for `wanted` elements, the first of which are the old ones. */
static void *part(char **memory, const void *old, uint32_t old_count, uint32_t wanted, size_t size)
{
    char *begin = *memory;
    if (old_count)
        memcpy(begin, old, old_count * size);
    *memory += wanted * size;
    return begin;
}

static void move_heap(od_heap *heap, char **memory, uint32_t old, uint32_t wanted)
{
    uint32_t *items = part(memory, heap->items, heap->count, wanted, sizeof *items);
    uint32_t *position = part(memory, heap->position, old, wanted, sizeof *position);
    od_heap_use(heap, items, position, wanted);
}

/* An array of elements for each datum and device. */
static void *part_of_all(const od_missing *missing, char **memory, const void *old, uint32_t old_count, uint32_t wanted,
                         size_t size)
{
    char *begin = *memory;
    uint32_t n = missing->env.ndevices, rows = missing->views[0].stride > 1 ? 1 : n, columns = n / rows;
    for (uint32_t row = 0; row < rows; row++) {
        const char *from = old_count ? (const char *)old + (size_t)row * old_count * columns * size : NULL;
        part(memory, from, old_count * columns, wanted * columns, size);
    }
    return begin;
}

enum { BYTES_OF_VIEW = sizeof(struct want) + 5 * sizeof(uint32_t) };

static void move_view(struct view *view, char **memory, uint32_t old, uint32_t wanted)
{
    od_missing *missing = view->missing;
    view->want = missing->want + (size_t)view->k * missing->by_device;
    view->s1 = missing->s1 + (size_t)view->k * missing->by_device;
    view->planned_reads = part(memory, view->planned_reads, old, wanted, sizeof *view->planned_reads);
    view->raised = part(memory, view->raised, view->nraised, wanted, sizeof *view->raised);
    move_heap(&view->first, memory, old, wanted);
}

/* In one block, whose pages come when they are first used. */
static bool grow_views(od_missing *missing, uint32_t old, uint32_t wanted)
{
    char *memory = od_calloc((size_t)missing->env.ndevices * wanted * BYTES_OF_VIEW + LINE, 1);
    if (!memory)
        return false;
    char *next = memory + -(uintptr_t)memory % LINE;
    missing->want = part_of_all(missing, &next, missing->want, old, wanted, sizeof *missing->want);
    missing->s1 = part_of_all(missing, &next, missing->s1, old, wanted, sizeof *missing->s1);
    missing->by_device = missing->views[0].stride > 1 ? 1 : wanted;
    for (unsigned k = 0; k < missing->env.ndevices; k++)
        move_view(&missing->views[k], &next, old, wanted);
    free(missing->by_data);
    missing->by_data = memory;
    return true;
}

/* Whole cache lines of each array, whose elements have four bytes at least. Room that is not used takes no pages; with
 * many devices copies cost more. */
static uint32_t more_data(const od_missing *missing, uint32_t needed)
{
    enum { AT_FIRST = 2048, EACH = DATA_AT_ONCE };
    uint32_t grown = larger(missing->ndata, needed);
    if (missing->env.ndevices > MANY_DEVICES)
        grown = needed > AT_FIRST ? 2 * needed : AT_FIRST;
    return (grown + EACH - 1) / EACH * EACH;
}

static od_status reserve_data(od_missing *missing, uint32_t count)
{
    if (count <= missing->ndata)
        return OD_OK;
    uint32_t old = missing->ndata, wanted = more_data(missing, count);
    if (!od_array_grow(&missing->sources, old, wanted, sizeof *missing->sources) ||
        !od_array_extend(&missing->looked, wanted, sizeof *missing->looked) ||
        !grow_lines(&missing->standing, old, wanted, sizeof *missing->standing) ||
        !od_array_grow(&missing->pairs, old, wanted, sizeof *missing->pairs) ||
        !od_array_grow(&missing->absent, old, wanted, sizeof *missing->absent))
        return OD_ENOMEM;
    if (!grow_views(missing, old, wanted))
        return OD_ENOMEM;
    missing->ndata = wanted;
    missing->large = missing->large || (uint64_t)wanted * missing->env.ndevices > LARGE;
    return OD_OK;
}

static uint32_t words_of(uint32_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

static bool grow_free(struct view *view, uint32_t old, uint32_t wanted)
{
    uint32_t old_words = words_of(old), words = words_of(wanted);
    return od_array_grow(&view->free, old_words, words, sizeof *view->free) &&
           od_array_grow(&view->free_words, words_of(old_words), words_of(words), sizeof *view->free_words);
}

static od_status reserve_slot(od_missing *missing)
{
    if (missing->nfree_slots > 0 || missing->nslots < missing->room)
        return OD_OK;
    uint32_t old = missing->room, wanted = larger(old, old + 1);
    if (!extend_lines(&missing->slots, old, wanted, sizeof *missing->slots) ||
        !od_array_extend(&missing->taken, wanted, sizeof *missing->taken) || od_heap_reserve(&missing->urgent, wanted))
        return OD_ENOMEM;
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        if (!grow_free(&missing->views[k], old, wanted))
            return OD_ENOMEM;
    }
    missing->room = wanted;
    missing->large = missing->large || wanted > LARGE;
    return OD_OK;
}

/* Another datum had the id before. */
static void clear_views(od_missing *missing, uint32_t id)
{
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        *want_of(&missing->views[k], id) = (struct want){0};
        *own_s1(&missing->views[k], id) = 0;
        missing->views[k].planned_reads[id] = 0;
    }
}

/* The first task that reads the datum: where it is now is read from its replicas. */
static void open_source(od_missing *missing, const od_datum *datum)
{
    struct source *source = &missing->sources[datum->id];
    struct standing *standing = &missing->standing[datum->id];
    od_placeset absent = OD_NO_PLACES;
    assert(!source->datum && !source->nlisted);
    source->datum = datum;
    source->size = datum->size;
    /* Where another datum had the id before, its places in the views' lists stay. */
    if (standing->version)
        clear_views(missing, datum->id);
    *standing = (struct standing){.raised = standing->raised, .tie = datum->tie, .version = standing->version + 1};
    for (unsigned k = 0; k < missing->env.ndevices; k++) {
        if (od_datum_is_resident(datum, k))
            od_placeset_add(&standing->resident, k);
        if (!od_datum_is_expected(datum, k))
            od_placeset_add(&absent, k);
    }
    missing->absent[datum->id] = absent;
    missing->pairs[datum->id] = 0;
    source->valid = datum->valid;
}

/* Drops the uses that are out of date. */
static void sweep(const od_missing *missing, struct source *source)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < source->nlisted; i++) {
        if (is_current(missing, source->uses[i]))
            source->uses[kept++] = source->uses[i];
    }
    source->nlisted = kept;
}

static od_status reserve_use(od_missing *missing, const od_datum *datum)
{
    od_status status = reserve_data(missing, datum->id + 1);
    if (status)
        return status;
    struct source *source = &missing->sources[datum->id];
    if (source->datum != datum)
        open_source(missing, datum);
    if (source->nlisted < source->capacity)
        return OD_OK;
    if (source->nuses < source->capacity / 2) {
        sweep(missing, source);
        return OD_OK;
    }
    uint32_t wanted = larger(source->capacity, source->nlisted + 1);
    if (!od_array_grow(&source->uses, source->capacity, wanted, sizeof *source->uses))
        return OD_ENOMEM;
    source->capacity = wanted;
    return OD_OK;
}

static bool is_input(const od_task *task, const od_access *access)
{
    return (access->mode & OD_READ) && !od_task_has_edge(task, access->datum);
}

/* Room for the task; *ninputs: how many inputs it has. */
static od_status reserve_task(od_missing *missing, const od_task *task, uint32_t *ninputs)
{
    *ninputs = 0;
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!is_input(task, &task->access[i]))
            continue;
        od_status status = reserve_use(missing, task->access[i].datum);
        if (status)
            return status;
        ++*ninputs;
    }
    return reserve_slot(missing);
}

/* Whole nanoseconds, so that sums stay exact when tasks come and go; 1 ns to 11 days. */
static uint64_t whole_ns(double seconds)
{
    double ns = seconds * 1e9;
    return ns >= 1e15 ? UINT64_C(1000000000000000) : ns > 1 ? (uint64_t)(ns + 0.5) : 1;
}

static void append_inputs(od_missing *missing, const od_task *task, uint32_t number, uint32_t *inputs)
{
    for (uint32_t i = 0; i < task->naccess; i++) {
        if (!is_input(task, &task->access[i]))
            continue;
        struct source *source = &missing->sources[task->access[i].datum->id];
        source->uses[source->nlisted++] = (struct use){.slot = number, .generation = missing->slots[number].generation};
        source->nuses++;
        *inputs++ = task->access[i].datum->id;
    }
}

/* A slot that reserve_slot() has made sure of; all of it but its generation is undefined. */
static uint32_t take_slot(od_missing *missing)
{
    uint32_t number = missing->free_slot;
    if (number == NO_SLOT) {
        missing->slots[missing->nslots].generation = 0;
        return missing->nslots++;
    }
    missing->free_slot = missing->slots[number].inputs.next_free;
    missing->nfree_slots--;
    return number;
}

od_status od_missing_adopt(od_missing *missing, od_task *task)
{
    assert(task->bound == OD_NOWHERE);
    uint32_t ninputs, *many = NULL;
    od_status status = reserve_task(missing, task, &ninputs);
    if (status)
        return status;
    if (ninputs > FEW_INPUTS && !(many = od_malloc(ninputs * sizeof *many)))
        return OD_ENOMEM;
    uint32_t number = take_slot(missing);
    if (od_heap_contains(&missing->urgent, number)) /* for the task that had the slot before */
        od_heap_remove(&missing->urgent, number);
    struct slot *slot = &missing->slots[number];
    *slot = (struct slot){.task = task,
                          .arrival = task->id,
                          .ns = whole_ns(task->duration),
                          .ninputs = ninputs,
                          .generation = slot->generation,
                          .priority = missing->rules.random_tasks ? 0 : task->priority};
    append_inputs(missing, task, number, many ? many : slot->inputs.few);
    if (many)
        slot->inputs.many = many;
    task->policy_data = (void *)((uintptr_t)number + 1);
    missing->nowned++;
    return OD_OK;
}

void od_missing_drop_task(od_missing *missing, od_task *task)
{
    uint32_t number = slot_of(task);
    struct slot *slot = &missing->slots[number];
    const uint32_t *inputs = inputs_of(slot);
    assert(!slot->ready);
    for (uint32_t i = 0; i < slot->ninputs; i++)
        missing->sources[inputs[i]].nuses--;
    free_inputs(slot);
    slot->task = NULL;
    slot->generation++;
    slot->inputs.next_free = missing->free_slot;
    missing->free_slot = number;
    missing->nfree_slots++;
    missing->nowned--;
    task->policy_data = NULL;
}

void od_missing_drop_candidate(struct view *view, uint32_t id)
{
    if (od_heap_contains(&view->first, id))
        od_heap_remove(&view->first, id);
}

void od_missing_forget(od_missing *missing, const od_datum *datum)
{
    struct source *source = source_of(missing, datum);
    if (!source)
        return;
    assert(source->nuses == 0);
    for (unsigned k = 0; k < missing->env.ndevices; k++)
        od_missing_drop_candidate(&missing->views[k], datum->id);
    free(source->uses);
    *source = (struct source){0};
}
