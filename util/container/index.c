/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See index.h. */
#include "util/container/index.h"
#include "util/memory.h"

#include <stdlib.h>

/* The id's entry, or the free one that would become it. */
static od_index_entry *entry_of(const od_index *index, uint32_t id)
{
    uint32_t i = id * UINT32_C(0x9e3779b1) & (index->room - 1); /* an odd factor: neighbouring ids never collide */
    while (index->entries[i].position != OD_NO_POSITION && index->entries[i].id != id)
        i = (i + 1) & (index->room - 1);
    return &index->entries[i];
}

static od_status grow(od_index *index)
{
    od_index more = {.room = index->room ? 2 * index->room : 64, .count = index->count};
    more.entries = od_malloc(more.room * sizeof *more.entries);
    if (!more.entries)
        return OD_ENOMEM;
    for (uint32_t i = 0; i < more.room; i++)
        more.entries[i].position = OD_NO_POSITION;
    for (uint32_t i = 0; i < index->room; i++)
        if (index->entries[i].position != OD_NO_POSITION)
            *entry_of(&more, index->entries[i].id) = index->entries[i];
    free(index->entries);
    *index = more;
    return OD_OK;
}

od_status od_index_add(od_index *index, uint32_t id, uint32_t position)
{
    if (2 * (index->count + 1) > index->room && grow(index))
        return OD_ENOMEM;
    *entry_of(index, id) = (od_index_entry){id, position};
    index->count++;
    return OD_OK;
}

uint32_t od_index_find(const od_index *index, uint32_t id)
{
    return index->count ? entry_of(index, id)->position : OD_NO_POSITION;
}

void od_index_free(od_index *index)
{
    free(index->entries);
    *index = (od_index){0};
}
