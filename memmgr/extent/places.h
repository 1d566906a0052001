/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Places in an array: distinct addresses, ascending. By them tasks name tiles; each is where a tile begins. */
#ifndef OD_MEMMGR_EXTENT_PLACES_H
#define OD_MEMMGR_EXTENT_PLACES_H

#include <stdint.h>

enum { OD_PLACES_MOST = 2048 };

typedef struct od_places {
    uintptr_t *at; /* malloc'ed */
    uint32_t count, room;
} od_places;

/* Unless it is there, there are OD_PLACES_MOST, or memory is out. */
void od_places_add(od_places *places, uintptr_t address);
void od_places_free(od_places *places);

/* How many of the values, which ascend, are not larger. */
uint32_t od_places_up_to(const uintptr_t *values, uint32_t n, uintptr_t value);

#endif
