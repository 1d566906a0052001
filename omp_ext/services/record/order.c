/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which tasks precede which: as libomp orders them by their depend items. See internal.h. */
#include "omp_ext/services/record/internal.h"
#include "util/memory.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct numbers {
    uint64_t *item;
    uint32_t count, capacity;
} numbers;

/* A task by its number. */
typedef struct node {
    numbers before;
    bool complete;
} node;

/* Tasks that named an address last: all of `current` come after all of `previous` and have no order among
 * themselves. */
typedef struct use {
    int32_t kind; /* IN, INOUTSET, or 0: the one task of `current` is alone */
    numbers current, previous;
} use;

static struct {
    node *nodes; /* by number - 1 */
    uint64_t nnodes, nodes_capacity;
    od_recording_table addresses; /* of depend items */
    use *uses;                    /* by index in `addresses` */
    uint32_t uses_capacity;
    numbers all_memory; /* the last task that depends on all memory, per thread: pairs of thread and number */
} graph;

static void add_number(numbers *list, uint64_t number)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        uint64_t *item = od_realloc(list->item, capacity * sizeof *item);
        if (!item) {
            od_recording_give_up("out of memory");
            return;
        }
        list->item = item;
        list->capacity = capacity;
    }
    list->item[list->count++] = number;
}

uint64_t od_recording_add_task(void)
{
    if (graph.nnodes == graph.nodes_capacity) {
        uint64_t capacity = graph.nodes_capacity ? 2 * graph.nodes_capacity : 1024;
        node *nodes = od_realloc(graph.nodes, capacity * sizeof *nodes);
        if (!nodes) {
            od_recording_give_up("out of memory");
            return 0;
        }
        graph.nodes = nodes;
        graph.nodes_capacity = capacity;
    }
    graph.nodes[graph.nnodes] = (node){0};
    return ++graph.nnodes;
}

static void add_before(uint64_t number, uint64_t before)
{
    numbers *list = &graph.nodes[number - 1].before;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->item[i] == before)
            return;
    if (before != number)
        add_number(list, before);
}

static use *use_of(uintptr_t address, uint64_t thread)
{
    bool is_new;
    uint32_t index = od_recording_index(&graph.addresses, address, thread, &is_new);
    if (index >= graph.uses_capacity) {
        uint32_t capacity = graph.uses_capacity ? 2 * graph.uses_capacity : 256;
        use *uses = od_realloc(graph.uses, capacity * sizeof *uses);
        if (!uses) {
            od_recording_give_up("out of memory");
            return NULL;
        }
        graph.uses = uses;
        graph.uses_capacity = capacity;
    }
    if (is_new) {
        graph.uses[index] = (use){0};
        for (uint32_t i = 0; i + 1 < graph.all_memory.count; i += 2)
            if (graph.all_memory.item[i] == thread)
                add_number(&graph.uses[index].current, graph.all_memory.item[i + 1]);
    }
    return &graph.uses[index];
}

/* Tasks of one kind that need no order among themselves form a group: each comes after all of the group before. */
static void order(uint64_t number, use *u, int32_t kind)
{
    bool shared = kind == OD_DEPEND_IN || kind == OD_DEPEND_INOUTSET;
    if (!shared || u->kind != kind) {
        numbers old = u->previous;
        u->previous = u->current;
        u->current = old;
        u->current.count = 0;
        u->kind = shared ? kind : 0;
    }
    for (uint32_t i = 0; i < u->previous.count; i++)
        add_before(number, u->previous.item[i]);
    if (!u->current.count || u->current.item[u->current.count - 1] != number)
        add_number(&u->current, number);
}

static void order_after_all(uint64_t number, uint64_t thread)
{
    for (size_t i = 0; i < graph.addresses.nbuckets; i++)
        for (const od_recording_key *k = graph.addresses.bucket[i]; k; k = k->next)
            if (k->second == thread)
                order(number, &graph.uses[k->index], 0);
    for (uint32_t i = 0; i + 1 < graph.all_memory.count; i += 2)
        if (graph.all_memory.item[i] == thread) {
            add_before(number, graph.all_memory.item[i + 1]);
            graph.all_memory.item[i + 1] = number;
            return;
        }
    add_number(&graph.all_memory, thread);
    add_number(&graph.all_memory, number);
}

static uint64_t thread_number(void)
{
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t own;
    if (!own)
        own = atomic_fetch_add(&last, 1) + 1;
    return own;
}

/* Only those that were complete when the task was ready: another task's children may have named the same address. */
void od_recording_put_before(uint64_t number)
{
    numbers *list = &graph.nodes[number - 1].before;
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (graph.nodes[list->item[i] - 1].complete)
            list->item[count++] = list->item[i];
    od_recording_put(" %u", count);
    for (uint32_t i = 0; i < count; i++)
        od_recording_put(" %" PRIu64, list->item[i]);
    free(list->item);
    *list = (numbers){0};
}

void od_recording_order(uint64_t number, const od_depend *depend)
{
    uint64_t thread = thread_number();
    use *u = depend->flags & OD_DEPEND_ALL_MEMORY ? NULL : use_of(depend->base, thread);
    if (u)
        order(number, u, depend->flags);
    else
        order_after_all(number, thread);
}

void od_recording_complete(uint64_t number)
{
    graph.nodes[number - 1].complete = true;
}
