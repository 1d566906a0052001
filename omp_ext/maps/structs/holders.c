/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Holders: ranges that overlap become one. See holders.h. */
#include "omp_ext/maps/structs/holders.h"

#include "memmgr/data/attach.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/maps/refer.h"

#include <stdlib.h>

static void add(od_holders *h, uintptr_t base, size_t size, uintptr_t origin, bool certain)
{
    if (h->count == h->capacity) {
        uint32_t capacity = h->capacity ? 2 * h->capacity : 16;
        od_holder *more = od_alloc_more(h->all, capacity * sizeof *more);
        h->all = more;
        h->capacity = capacity;
    }
    h->all[h->count++] = (od_holder){
        .base = base, .size = size, .origin = origin, .certain = certain, .arg = OD_NO_ARG};
}

/* --- parts ------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static uintptr_t *addresses(int32_t count)
{
    uintptr_t *room = od_alloc(((size_t)count + 1) * sizeof *room);
    return room;
}

static void find_parts(od_holders *h, const od_map_args *args)
{
    h->slots = addresses(args->count);
    h->members = addresses(args->count);
    for (int32_t i = 0; i < args->count; i++) {
        if (od_entry_is_pointee(args, i) && !(args->types[i] & OD_MAP_PARAM))
            h->slots[h->nslots++] = (uintptr_t)args->bases[i];
        else if (od_entry_is_member(args, i))
            h->members[h->nmembers++] = od_entry_begin(args, i);
    }
    qsort(h->slots, h->nslots, sizeof *h->slots, by_address);
    qsort(h->members, h->nmembers, sizeof *h->members, by_address);
}

/* One of the addresses lies in the range. */
static bool has_one_in(const uintptr_t *sorted, uint32_t count, uintptr_t begin, size_t size)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low] - begin < size;
}

bool od_holders_has_slot(const od_holders *h, uintptr_t slot)
{
    return has_one_in(h->slots, h->nslots, slot, 1);
}

bool od_holders_names(const od_holders *h, uintptr_t begin, size_t size)
{
    return has_one_in(h->slots, h->nslots, begin, size) || has_one_in(h->members, h->nmembers, begin, size);
}

/* --- what the list names ------------------------------------------------------ */

/* By the rules of memmgr/data/presence.h. A range that is larger than what is present stands for that. */
static od_region *region_at(od_engine *engine, uintptr_t begin, size_t size)
{
    od_region *region;
    od_directory_refer(od_engine_directory(engine), begin, size, &region);
    return region;
}

static void add_range(od_holders *h, od_engine *engine, const od_section *s, bool certain)
{
    uintptr_t begin = s->begin;
    size_t size = s->size;
    const od_region *region = region_at(engine, begin, size);
    if (region && od_attachments_count(region->attachments))
        certain = true;
    if (region && certain)
        add(h, region->base, region->size, region->origin, true);
    else if (size)
        add(h, begin, size, s->origin, certain);
}

/* Of a pointer in a struct that is on no device the object is memory for the kernel alone: a region for its time. */
static bool is_scratch(od_engine *engine, const od_map_args *args, int32_t i)
{
    return !(args->types[i] & (OD_MAP_TO | OD_MAP_FROM)) && !region_at(engine, od_entry_begin(args, i), 1);
}

static void add_pointee(od_holders *h, od_engine *engine, const od_map_args *args, int32_t i)
{
    od_section section = od_arg_section(args, i), slot = {.begin = (uintptr_t)args->bases[i], .size = sizeof(void *)};
    slot.origin = slot.begin;
    section.origin = section.begin;
    if (!(args->types[i] & OD_MAP_ATTACH)) /* else another entry maps the slot, or the kernel does not see it */
        add_range(h, engine, &slot, true);
    if (section.size)
        add_range(h, engine, &section,
                  od_holders_names(h, section.begin, section.size) || is_scratch(engine, args, i));
}

static void add_named(od_holders *h, od_engine *engine, const od_map_args *args)
{
    for (int32_t i = 0; i < args->count; i++) {
        od_section section = od_arg_section(args, i);
        if (args->types[i] & (OD_MAP_LITERAL | OD_MAP_PRIVATE | OD_MAP_FOREIGN))
            continue;
        if (od_entry_is_pointee(args, i) && !(args->types[i] & OD_MAP_PARAM))
            add_pointee(h, engine, args, i);
        else if (!(args->types[i] & OD_MAP_ATTACH))
            add_range(h, engine, &section, section.size && od_holders_names(h, section.begin, section.size));
    }
}

/* --- what overlaps, and what is attached ---------------------------------------- */

static int by_base(const void *a, const void *b)
{
    uintptr_t x = ((const od_holder *)a)->base, y = ((const od_holder *)b)->base;
    return (x > y) - (x < y);
}

static void merge(od_holders *h)
{
    uint32_t n = 0;
    if (h->count)
        qsort(h->all, h->count, sizeof *h->all, by_base);
    for (uint32_t i = 0; i < h->count; i++) {
        od_holder *last = n ? &h->all[n - 1] : NULL;
        const od_holder next = h->all[i];
        if (!last || next.base - last->base >= last->size) {
            h->all[n++] = next;
            continue;
        }
        size_t end = next.base - last->base + next.size;
        last->size = end > last->size ? end : last->size;
        last->certain |= next.certain;
    }
    h->count = n;
}

static void keep_certain(od_holders *h)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->count; i++)
        if (h->all[i].certain)
            h->all[n++] = h->all[i];
    h->count = n;
}

static void add_attached(od_holders *h, od_engine *engine, const od_region *region, uint64_t walk)
{
    uintptr_t from = region->base, end = region->base + region->size;
    const od_attachment *a;
    for (; (a = od_attachments_next(region->attachments, from, end)); from = a->slot + 1) {
        od_region *target = od_directory_find_region(od_engine_directory(engine), a->begin, a->size);
        if (!target || target->seen == walk || !od_attachments_count(target->attachments))
            continue;
        target->seen = walk;
        add(h, target->base, target->size, target->origin, true);
    }
}

/* Walks from holder to holder through what regions have attached; each region once. */
static void follow(od_holders *h, od_engine *engine)
{
    static uint64_t walks; /* protected by the runtime's lock */
    uint64_t walk = ++walks;
    for (uint32_t i = 0; i < h->count; i++) {
        od_region *region = region_at(engine, h->all[i].base, h->all[i].size);
        if (region)
            region->seen = walk;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const od_region *region = region_at(engine, h->all[i].base, h->all[i].size);
        h->all[i].present = region && !od_region_is_of_kernels(region);
        if (region)
            add_attached(h, engine, region, walk);
    }
}

void od_holders_find(od_holders *h, const od_map_args *args)
{
    find_parts(h, args);
    od_engine *engine = od_runtime_lock();
    add_named(h, engine, args);
    merge(h);
    keep_certain(h);
    follow(h, engine);
    od_runtime_unlock();
    merge(h);
}

void od_holders_free(od_holders *h)
{
    free(h->all);
    free(h->slots);
    free(h->members);
    *h = (od_holders){0};
}

od_holder *od_holders_at(const od_holders *h, uintptr_t begin, size_t size)
{
    uint32_t low = 0, high = h->count; /* the first that ends behind `begin` */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (h->all[middle].base + h->all[middle].size <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    od_holder *found = low < h->count ? &h->all[low] : NULL;
    return found && found->base < begin + (size ? size : 1) ? found : NULL;
}
