/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See mappings.h. */
#include "memmgr/data/mappings.h"
#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>

typedef struct od_mapping_node {
    od_tree_node node; /* comes first */
    od_mapping is;
} od_mapping_node;

od_status od_mappings_init(od_mappings *mappings, uint32_t capacity)
{
    *mappings = (od_mappings){.capacity = capacity, .room = od_malloc(((size_t)capacity + 1) * sizeof *mappings->room)};
    return mappings->room ? OD_OK : OD_ENOMEM;
}

void od_mappings_free(od_mappings *mappings)
{
    free(mappings->room);
    *mappings = (od_mappings){0};
}

void od_mappings_add(od_mappings *mappings, od_mapping mapping)
{
    assert(mapping.size && mappings->count < mappings->capacity);
    od_mapping_node *n = &mappings->room[mappings->count++];
    n->is = mapping;
    od_tree_insert(&mappings->tree, &n->node, (od_tree_key){mapping.begin, 0});
}

static const od_mapping *mapping_of(const od_tree_node *node)
{
    return node ? &((const od_mapping_node *)(const void *)node)->is : NULL;
}

od_neighbours od_mappings_near(const od_mappings *mappings, uintptr_t address)
{
    od_neighbours near = {.before = mapping_of(od_tree_floor(&mappings->tree, (od_tree_key){address, 0}))};
    if (address < UINTPTR_MAX)
        near.after = mapping_of(od_tree_ceiling(&mappings->tree, (od_tree_key){address + 1, 0}));
    return near;
}
