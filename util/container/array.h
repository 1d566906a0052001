/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Growing arrays. Whoever owns one keeps its items, how many there are, and for how many there is room. */
#ifndef OD_UTIL_CONTAINER_ARRAY_H
#define OD_UTIL_CONTAINER_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for `count` items of `size` bytes in the array at *items, any pointer. *room, how many fit, at least doubles;
 * the new ones are zeros. False: out of memory, and nothing has changed. */
static inline bool od_array_reserve(void *items, uint32_t *room, uint64_t count, size_t size);

/* The same from `old` items to exactly `wanted`, for arrays that share one count of room. */
bool od_array_grow(void *items, uint32_t old, uint32_t wanted, size_t size);

/* The same, but what the new items hold is undefined: before they are used they take no pages of memory. */
bool od_array_extend(void *items, uint32_t wanted, size_t size);

/* The room that od_array_reserve() makes. 0: that many do not fit into an array. */
uint32_t od_array_room(uint32_t room, uint64_t count);

bool od_array_reserve_more(void *items, uint32_t *room, uint64_t count, size_t size);

static inline bool od_array_reserve(void *items, uint32_t *room, uint64_t count, size_t size)
{
    return count <= *room || od_array_reserve_more(items, room, count, size);
}

#endif
