/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See places.h. */
#include "memmgr/extent/places.h"

#include "util/container/array.h"

#include <stdlib.h>
#include <string.h>

uint32_t od_places_up_to(const uintptr_t *values, uint32_t n, uintptr_t value)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void od_places_add(od_places *places, uintptr_t address)
{
    uint32_t n = od_places_up_to(places->at, places->count, address);
    if ((n && places->at[n - 1] == address) || places->count == OD_PLACES_MOST ||
        !od_array_reserve(&places->at, &places->room, (uint64_t)places->count + 1, sizeof *places->at))
        return;
    memmove(&places->at[n + 1], &places->at[n], (places->count - n) * sizeof *places->at);
    places->at[n] = address;
    places->count++;
}

void od_places_free(od_places *places)
{
    free(places->at);
    *places = (od_places){0};
}
