/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Positions of data in an array, for arrays so long that it takes time to search them: a hash table by the datum's id
 * with open addressing, never more than half full. A zeroed od_index is empty.
 */
#ifndef OD_UTIL_CONTAINER_INDEX_H
#define OD_UTIL_CONTAINER_INDEX_H

#include "util/status.h"

#include <stdint.h>

enum { OD_NO_POSITION = UINT32_MAX };

typedef struct od_index_entry {
    uint32_t id, position; /* OD_NO_POSITION: free */
} od_index_entry;

typedef struct od_index {
    od_index_entry *entries; /* malloc'ed */
    uint32_t room;           /* a power of two, or 0 */
    uint32_t count;
} od_index;

/* An id that is not there yet. */
od_status od_index_add(od_index *index, uint32_t id, uint32_t position);
/* OD_NO_POSITION: it is not there. */
uint32_t od_index_find(const od_index *index, uint32_t id);
void od_index_free(od_index *index);

#endif
