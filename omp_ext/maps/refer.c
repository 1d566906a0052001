/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* To what the entries of a map list refer. See refer.h. */
#include "omp_ext/maps/refer.h"

#include "omp_ext/libomp/real.h"
#include "util/memory.h"

#include <stdlib.h>

/* libomptarget 22 does not extend an address range to an origin behind it: to that one it is as if it were not
 * there. */
static uintptr_t origin_of(const od_map_args *args, int32_t i)
{
    uintptr_t origin = (uintptr_t)args->bases[i], begin = od_entry_begin(args, i);
    return origin > begin && !od_real_is_old() ? begin : origin;
}

od_section od_arg_section(const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    return (od_section){.begin = od_entry_begin(args, i),
                        .size = (size_t)args->sizes[i],
                        .origin = origin_of(args, i),
                        .implicit = type & OD_MAP_IMPLICIT,
                        .present = type & OD_MAP_PRESENT,
                        .hold = type & OD_MAP_HOLD};
}

od_region *od_arg_region(od_engine *engine, od_naming naming, const od_map_args *args, int32_t i)
{
    od_region *region;
    od_section section = od_arg_section(args, i);
    od_directory_judge(od_engine_directory(engine), naming, &section, &region);
    return region;
}

static od_reference whole(od_region *region, int32_t i)
{
    return (od_reference){region->base, region->size, region, i};
}

od_reference od_refer_to_regions(od_engine *engine, const od_map_args *args, int32_t i)
{
    od_section s = od_arg_section(args, i);
    od_region *region;
    od_relation relation = od_directory_refer(od_engine_directory(engine), s.begin, s.size, &region);
    bool whole_one = (args->types[i] & OD_MAP_WHOLE) && relation == OD_INSIDE;
    if (region && (!s.size || whole_one || (relation == OD_ACROSS && s.implicit)))
        return whole(region, i);
    return (od_reference){s.begin, s.size, relation == OD_INSIDE ? region : NULL, i};
}

static bool maps_range(const od_map_args *args, int32_t i)
{
    return args->sizes[i] > 0 && !(args->types[i] & (OD_MAP_NO_RANGE | OD_MAP_PTR_AND_OBJ | OD_MAP_NON_CONTIG));
}

/* The neighbours of an address among the mappings that the entries themselves make. */
typedef struct own_neighbours {
    od_mapping before, after;
    int32_t before_entry, after_entry; /* -1: none */
} own_neighbours;

static bool is_own(od_engine *engine, const od_map_args *args, int32_t j)
{
    return maps_range(args, j) && !od_refer_to_regions(engine, args, j).region;
}

static od_mapping own_mapping(const od_map_args *args, int32_t j)
{
    return (od_mapping){od_entry_begin(args, j), (size_t)args->sizes[j], origin_of(args, j)};
}

static own_neighbours find_own(od_engine *engine, const od_map_args *args, uintptr_t address)
{
    own_neighbours near = {.before_entry = -1, .after_entry = -1};
    for (int32_t j = 0; j < args->count; j++) {
        if (!is_own(engine, args, j))
            continue;
        od_mapping m = own_mapping(args, j);
        if (m.begin <= address && (near.before_entry < 0 || m.begin > near.before.begin)) {
            near.before = m;
            near.before_entry = j;
        } else if (m.begin > address && (near.after_entry < 0 || m.begin < near.after.begin)) {
            near.after = m;
            near.after_entry = j;
        }
    }
    return near;
}

static int by_address(const void *a, const void *b)
{
    const od_own_entry *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : x->entry - y->entry;
}

od_status od_own_entries_find(od_engine *engine, const od_map_args *args, od_own_entries *own)
{
    *own = (od_own_entries){.all = od_malloc(((size_t)args->count + 1) * sizeof *own->all)};
    if (!own->all)
        return OD_ENOMEM;
    for (int32_t j = 0; j < args->count; j++)
        if (is_own(engine, args, j))
            own->all[own->count++] = (od_own_entry){od_entry_begin(args, j), j};
    if (own->count)
        qsort(own->all, own->count, sizeof *own->all, by_address);
    return OD_OK;
}

void od_own_entries_free(od_own_entries *own)
{
    free(own->all);
    *own = (od_own_entries){0};
}

/* The first of them, in order, that begins at or behind the address. */
static uint32_t own_from(const od_own_entries *own, uintptr_t address)
{
    uint32_t low = 0, high = own->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (own->all[middle].begin < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What find_own() finds. Of those that begin at one address, the first in the list. */
static own_neighbours find_in_order(const od_own_entries *own, const od_map_args *args, uintptr_t address)
{
    own_neighbours near = {.before_entry = -1, .after_entry = -1};
    uint32_t after = own_from(own, address + 1);
    if (after > 0)
        near.before_entry = own->all[own_from(own, own->all[after - 1].begin)].entry;
    if (after < own->count)
        near.after_entry = own->all[after].entry;
    if (near.before_entry >= 0)
        near.before = own_mapping(args, near.before_entry);
    if (near.after_entry >= 0)
        near.after = own_mapping(args, near.after_entry);
    return near;
}

/* Entry i has size zero: it refers to one of its neighbours among regions and other entries. */
static od_reference refer_address(od_engine *engine, const od_map_args *args, const od_own_entries *entries, int32_t i)
{
    uintptr_t address = od_entry_begin(args, i);
    own_neighbours own = entries ? find_in_order(entries, args, address) : find_own(engine, args, address);
    od_region *before, *after;
    od_directory_near_regions(od_engine_directory(engine), address, &before, &after);
    bool own_before = own.before_entry >= 0 && (!before || own.before.begin > before->base);
    bool own_after = own.after_entry >= 0 && (!after || own.after.begin < after->base);
    od_mapping left = own_before || !before ? own.before : od_region_mapping(before);
    od_mapping right = own_after || !after ? own.after : od_region_mapping(after);
    const od_mapping *found;
    od_presence_find((od_neighbours){own_before || before ? &left : NULL, own_after || after ? &right : NULL}, address,
                     0, &found);
    if (!found)
        return (od_reference){.base = address, .entry = i};
    if (found == &left ? own_before : own_after)
        return (od_reference){found->begin, found->size, NULL, found == &left ? own.before_entry : own.after_entry};
    return whole(found == &left ? before : after, i);
}

/* A pointer that leads nowhere names nothing, whatever its size would be, nor does what is libomptarget's. */
od_reference od_refer_among(od_engine *engine, const od_map_args *args, const od_own_entries *own, int32_t i)
{
    if (!args->begins[i] || (args->types[i] & OD_MAP_FOREIGN))
        return (od_reference){.entry = i};
    return args->sizes[i] ? od_refer_to_regions(engine, args, i) : refer_address(engine, args, own, i);
}

od_reference od_refer(od_engine *engine, const od_map_args *args, int32_t i)
{
    return od_refer_among(engine, args, NULL, i);
}

bool od_arg_range(od_engine *engine, const od_map_args *args, int32_t i, uintptr_t *base, size_t *size)
{
    od_reference r = od_refer(engine, args, i);
    *base = r.base;
    *size = r.size;
    return r.size > 0;
}
