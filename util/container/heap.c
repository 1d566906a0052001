/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Indexed binary heap; see heap.h. */
#include "util/container/heap.h"

#include "util/container/array.h"

#include <assert.h>
#include <stdlib.h>

void od_heap_init(od_heap *heap, od_heap_before before, const void *owner)
{
    *heap = (od_heap){.before = before, .owner = owner};
}

void od_heap_clear(od_heap *heap)
{
    for (uint32_t at = 0; at < heap->count; at++)
        heap->position[heap->items[at]] = 0;
    heap->count = 0;
}

void od_heap_free(od_heap *heap)
{
    free(heap->items);
    free(heap->position);
    od_heap_init(heap, heap->before, heap->owner);
}

od_status od_heap_reserve(od_heap *heap, uint32_t capacity)
{
    if (capacity <= heap->capacity)
        return OD_OK;
    if (!od_array_extend(&heap->items, capacity, sizeof *heap->items) ||
        !od_array_grow(&heap->position, heap->capacity, capacity, sizeof *heap->position))
        return OD_ENOMEM;
    heap->capacity = capacity;
    return OD_OK;
}

void od_heap_use(od_heap *heap, uint32_t *items, uint32_t *position, uint32_t capacity)
{
    heap->items = items;
    heap->position = position;
    heap->capacity = capacity;
}

static void place(od_heap *heap, uint32_t at, uint32_t item)
{
    heap->items[at] = item;
    heap->position[item] = at + 1;
}

static void sift_up(od_heap *heap, uint32_t at)
{
    uint32_t item = heap->items[at];
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (!heap->before(heap->owner, item, heap->items[parent]))
            break;
        place(heap, at, heap->items[parent]);
        at = parent;
    }
    place(heap, at, item);
}

static void sift_down(od_heap *heap, uint32_t at)
{
    uint32_t item = heap->items[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->before(heap->owner, heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->before(heap->owner, heap->items[child], item))
            break;
        place(heap, at, heap->items[child]);
        at = child;
    }
    place(heap, at, item);
}

void od_heap_push(od_heap *heap, uint32_t item)
{
    assert(item < heap->capacity && !heap->position[item]);
    place(heap, heap->count++, item);
    sift_up(heap, heap->count - 1);
}

/* Moves the gap at `at` to a leaf, the better children up; returns where it is then. */
static uint32_t sink_gap(od_heap *heap, uint32_t at)
{
    uint32_t child;
    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count && heap->before(heap->owner, heap->items[child + 1], heap->items[child]))
            child++;
        place(heap, at, heap->items[child]);
        at = child;
    }
    return at;
}

/* The last item, which fills the gap, most often belongs near the leaves: one comparison per level is enough. */
void od_heap_remove(od_heap *heap, uint32_t item)
{
    assert(od_heap_contains(heap, item));
    uint32_t at = heap->position[item] - 1;
    uint32_t last = heap->items[--heap->count];
    heap->position[item] = 0;
    if (last == item)
        return;
    at = sink_gap(heap, at);
    place(heap, at, last);
    sift_up(heap, at);
}

void od_heap_raised(od_heap *heap, uint32_t item)
{
    assert(od_heap_contains(heap, item));
    sift_up(heap, heap->position[item] - 1);
}

void od_heap_lowered(od_heap *heap, uint32_t item)
{
    assert(od_heap_contains(heap, item));
    sift_down(heap, heap->position[item] - 1);
}

void od_heap_keep(od_heap *heap, bool (*keeps)(const void *owner, uint32_t item))
{
    uint32_t kept = 0;
    for (uint32_t at = 0; at < heap->count; at++) {
        uint32_t item = heap->items[at];
        if (keeps(heap->owner, item))
            place(heap, kept++, item);
        else
            heap->position[item] = 0;
    }
    heap->count = kept;
    for (uint32_t at = kept / 2; at-- > 0;)
        sift_down(heap, at);
}

bool od_heap_is_valid(const od_heap *heap)
{
    uint32_t placed = 0;
    for (uint32_t item = 0; item < heap->capacity; item++)
        placed += heap->position[item] != 0;
    if (placed != heap->count)
        return false;
    for (uint32_t at = 0; at < heap->count; at++) {
        if (heap->position[heap->items[at]] != at + 1)
            return false;
        if (at && heap->before(heap->owner, heap->items[at], heap->items[(at - 1) / 2]))
            return false;
    }
    return true;
}
