/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entries that libomptarget serves. See foreign.h. */
#include "omp_ext/maps/foreign.h"

#include "omp_ext/maps/device_memory.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/runtime/runtime.h"

#include <stdlib.h>

static int device_of_range(const od_map_args *args, int32_t i)
{
    return od_foreign_device(od_entry_begin(args, i), (size_t)args->sizes[i]);
}

static int device_of_slot(const od_map_args *args, int32_t i)
{
    return od_foreign_device((uintptr_t)args->bases[i], sizeof(void *));
}

int od_foreign_entry_device(const od_map_args *args, int32_t i)
{
    int device = device_of_range(args, i);
    bool pointer = args->types[i] & (OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH);
    return device < 0 && pointer ? device_of_slot(args, i) : device;
}

static bool is_in_region(uintptr_t address)
{
    od_engine *engine = od_runtime_lock();
    bool inside = od_directory_find_region(od_engine_directory(engine), address, 0);
    od_runtime_unlock();
    return inside;
}

/* A pointer and what it leads to: libomptarget writes the address of the one into the other. */
static od_foreignness judge_pointer(const od_map_args *args, int32_t i)
{
    bool slot = device_of_slot(args, i) >= 0, range = device_of_range(args, i) >= 0;
    if (!slot && (!range || (args->types[i] & OD_MAP_ATTACH)))
        return OD_FOREIGN_NONE; /* if the slot is ours, the attachment becomes an entry that is refused */
    if (!slot || (args->types[i] & OD_MAP_LITERAL))
        return OD_FOREIGN_ENTANGLED;
    if (!range && ((args->types[i] & OD_MAP_ATTACH) || is_in_region(od_entry_begin(args, i))))
        return OD_FOREIGN_ENTANGLED;
    return OD_FOREIGN_MARKED;
}

static od_foreignness judge(const od_map_args *args, int32_t i, bool whole)
{
    int64_t type = args->types[i];
    bool pointer = type & (OD_MAP_PTR_AND_OBJ | OD_MAP_ATTACH);
    if (!pointer && ((type & OD_MAP_NO_RANGE) || device_of_range(args, i) < 0))
        return OD_FOREIGN_NONE;
    od_foreignness is = pointer ? judge_pointer(args, i) : OD_FOREIGN_MARKED;
    bool needs_place = (type & OD_MAP_MEMBER_OF) && !whole;
    return is && (needs_place || (args->mappers && args->mappers[i])) ? OD_FOREIGN_ENTANGLED : is;
}

/* A struct and its members go together. */
static bool is_torn(const od_map_args *args, const int64_t *types, int32_t i)
{
    int64_t parent = (int64_t)((uint64_t)args->types[i] >> 48) - 1;
    return parent >= 0 && parent < args->count && ((types[parent] ^ types[i]) & OD_MAP_FOREIGN);
}

static int64_t *mark(const od_map_args *args, bool whole, bool *entangled)
{
    int64_t *types = od_alloc(((size_t)args->count + 1) * sizeof *types);
    for (int32_t i = 0; i < args->count; i++) {
        od_foreignness is = judge(args, i, whole);
        types[i] = args->types[i] | (is == OD_FOREIGN_MARKED ? OD_MAP_FOREIGN : 0);
        *entangled |= is == OD_FOREIGN_ENTANGLED;
    }
    for (int32_t i = 0; whole && i < args->count; i++)
        *entangled |= is_torn(args, types, i);
    return types;
}

/* They are on one device, and it is one of ours. */
static bool are_reachable(const od_map_args *args)
{
    int first = -1;
    for (int32_t i = 0; i < args->count; i++) {
        if (!(args->types[i] & OD_MAP_FOREIGN))
            continue;
        if (first >= 0 && od_foreign_entry_device(args, i) != first)
            return false;
        first = od_foreign_entry_device(args, i);
    }
    return od_runtime_device_index(first) != OD_NOWHERE;
}

od_foreignness od_foreign_mark(od_map_args *args, bool whole, int64_t **marked)
{
    bool any = false, entangled = false;
    if (!od_foreign_any())
        return OD_FOREIGN_NONE;
    for (int32_t i = 0; i < args->count && !any; i++)
        any = judge(args, i, whole) != OD_FOREIGN_NONE;
    if (!any)
        return OD_FOREIGN_NONE;
    od_map_args list = *args;
    list.types = mark(args, whole, &entangled);
    list.any |= OD_MAP_FOREIGN;
    if (entangled || !are_reachable(&list)) {
        free(list.types);
        return OD_FOREIGN_ENTANGLED;
    }
    *marked = list.types;
    *args = list;
    return OD_FOREIGN_MARKED;
}

int64_t *od_foreign_types(const od_map_args *args)
{
    int64_t *types = od_alloc(((size_t)args->count + 1) * sizeof *types);
    for (int32_t i = 0; i < args->count; i++)
        types[i] = (args->types[i] & OD_MAP_FOREIGN) ? args->types[i] & ~OD_MAP_FOREIGN : OD_MAP_LITERAL;
    return types;
}

int od_foreign_place(const od_map_args *args)
{
    for (int32_t i = 0; (args->any & OD_MAP_FOREIGN) && i < args->count; i++)
        if (args->types[i] & OD_MAP_FOREIGN)
            return od_runtime_device_index(od_foreign_entry_device(args, i));
    return OD_NOWHERE;
}
