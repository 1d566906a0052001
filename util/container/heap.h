/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Indexed binary heap of small integers, ordered by the owner's keys.
 *
 * The heap holds item numbers (datum ids, task slots); the keys stay with the owner, who
 * notifies the heap when one has changed. An item's position is known, so that
 * removal and key changes are O(log n). Memory is reserved ahead: pushing never fails.
 */
#ifndef OD_UTIL_CONTAINER_HEAP_H
#define OD_UTIL_CONTAINER_HEAP_H

#include "util/status.h"

#include <stdbool.h>
#include <stdint.h>

#define OD_HEAP_NONE UINT32_MAX

/* True where item a must come out before item b; a strict weak order. */
typedef bool (*od_heap_before)(const void *owner, uint32_t a, uint32_t b);

typedef struct od_heap {
    uint32_t *items;    /* in heap order */
    uint32_t *position; /* by item: index in `items` plus one, 0 where the item is not in the heap */
    uint32_t count;
    uint32_t capacity; /* items are below this number */
    od_heap_before before;
    const void *owner;
} od_heap;

void od_heap_init(od_heap *heap, od_heap_before before, const void *owner);
void od_heap_clear(od_heap *heap); /* takes all items out */
void od_heap_free(od_heap *heap);
/* Makes room for items 0 .. capacity-1. */
od_status od_heap_reserve(od_heap *heap, uint32_t capacity);
/* Instead of that, and of od_heap_free(): in memory of the owner's, to which both arrays have been copied. */
void od_heap_use(od_heap *heap, uint32_t *items, uint32_t *position, uint32_t capacity);

void od_heap_push(od_heap *heap, uint32_t item);
void od_heap_remove(od_heap *heap, uint32_t item);
void od_heap_raised(od_heap *heap, uint32_t item);  /* its key now comes earlier, or not later */
void od_heap_lowered(od_heap *heap, uint32_t item); /* its key now comes later, or not earlier */
/* Takes out all items but those of which keeps(owner, item) is true. */
void od_heap_keep(od_heap *heap, bool (*keeps)(const void *owner, uint32_t item));
bool od_heap_is_valid(const od_heap *heap);

static inline bool od_heap_contains(const od_heap *heap, uint32_t item)
{
    return item < heap->capacity && heap->position[item] != 0;
}

/* OD_HEAP_NONE: empty. */
static inline uint32_t od_heap_first(const od_heap *heap)
{
    return heap->count ? heap->items[0] : OD_HEAP_NONE;
}

#endif
