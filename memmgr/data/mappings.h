/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The mappings that the entries of one map list make, one after the other: a tree by address. They never overlap.
 */
#ifndef OD_MEMMGR_DATA_MAPPINGS_H
#define OD_MEMMGR_DATA_MAPPINGS_H

#include "memmgr/data/presence.h"
#include "util/container/tree.h"
#include "util/status.h"

typedef struct od_mappings {
    od_tree tree;
    struct od_mapping_node *room; /* malloc'ed */
    uint32_t count, capacity;
} od_mappings;

/* Room for so many. */
od_status od_mappings_init(od_mappings *mappings, uint32_t capacity);
void od_mappings_free(od_mappings *mappings);
/* The mapping's size is not 0, and it lies apart from all others. */
void od_mappings_add(od_mappings *mappings, od_mapping mapping);
od_neighbours od_mappings_near(const od_mappings *mappings, uintptr_t address);

#endif
