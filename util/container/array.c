/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROOM = 4 };

uint32_t od_array_room(uint32_t room, uint64_t count)
{
    uint64_t doubled = room < LEAST_ROOM / 2 ? LEAST_ROOM : 2 * (uint64_t)room;
    uint64_t wanted = doubled > count ? doubled : count;
    return wanted > UINT32_MAX ? 0 : (uint32_t)wanted;
}

bool od_array_extend(void *items, uint32_t wanted, size_t size)
{
    void *array;
    memcpy(&array, items, sizeof array); /* whatever it points to */
    array = od_realloc(array, wanted * size);
    if (!array)
        return false;
    memcpy(items, &array, sizeof array);
    return true;
}

bool od_array_grow(void *items, uint32_t old, uint32_t wanted, size_t size)
{
    char *array;
    if (!od_array_extend(items, wanted, size))
        return false;
    memcpy(&array, items, sizeof array);
    memset(array + old * size, 0, (wanted - old) * size);
    return true;
}

bool od_array_reserve_more(void *items, uint32_t *room, uint64_t count, size_t size)
{
    uint32_t wanted = od_array_room(*room, count);
    if (!wanted || !od_array_grow(items, *room, wanted, size))
        return false;
    *room = wanted;
    return true;
}
