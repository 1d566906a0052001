/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See collect.h. */
#include "omp_ext/maps/parts/collect.h"

#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

bool od_parts_are_possible(const od_map_args *args, const od_region *region)
{
    return region && !region->attachments && !region->shown && !(args->any & OD_MAP_ALWAYS);
}

bool od_parts_are_of_all(const od_reference *reference)
{
    const od_region *region = reference->region;
    return region && reference->base == region->base && reference->size == region->size;
}

bool od_parts_lie_in(const od_region *region, const od_depend *item)
{
    return item->base >= region->base && item->base - region->base < region->size;
}

od_status od_parts_add(od_parts *parts, uintptr_t base, size_t size, od_mode mode)
{
    if (!od_array_reserve(&parts->at, &parts->capacity, (uint64_t)parts->count + 1, sizeof *parts->at))
        return OD_ENOMEM;
    parts->at[parts->count++] = (od_part){base, size, mode, NULL};
    return OD_OK;
}

od_status od_parts_add_spans(od_parts *parts, const od_span *spans, uint32_t count, od_mode mode)
{
    if (!count)
        return OD_OK;
    od_status status = od_parts_add(parts, spans[0].begin, spans[0].end - spans[0].begin, mode);
    if (status || count == 1)
        return status;
    od_part *part = &parts->at[parts->count - 1];
    part->pieces = od_pieces_make(spans, count);
    part->size = part->pieces ? part->pieces->size : 0;
    return part->pieces ? OD_OK : OD_ENOMEM;
}

static od_pieces *copy_pieces(const od_pieces *pieces)
{
    size_t bytes = sizeof *pieces + pieces->count * sizeof pieces->at[0];
    od_pieces *copy = od_malloc(bytes);
    if (copy)
        memcpy(copy, pieces, bytes);
    return copy;
}

od_status od_parts_add_known(od_parts *parts, const od_datum *d, od_mode mode)
{
    od_status status = od_parts_add(parts, d->base, d->size, mode);
    if (!status && d->pieces && !(parts->at[parts->count - 1].pieces = copy_pieces(d->pieces)))
        status = OD_ENOMEM;
    return status;
}

od_shape od_part_shape(const od_part *part)
{
    return (od_shape){part->base, part->size, part->pieces};
}

size_t od_part_occupies(const od_part *part, const od_window *window)
{
    return part->pieces ? part->pieces->span : od_window_occupies(window, part->base, part->size);
}

void od_parts_free(od_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++)
        free(parts->at[i].pieces);
    free(parts->at);
    *parts = (od_parts){0};
}
