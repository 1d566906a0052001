/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pointers in data whose addresses the program is shown. See reach.h. */
#include "omp_ext/maps/reach.h"

#include "memmgr/data/spill.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/maps/refer.h"
#include "omp_ext/maps/structs/relocate.h"
#include "omp_ext/runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

static void add_entry(od_reach *r, void *base, void *begin, int64_t size, int64_t type, const od_attachment *slot)
{
    int32_t i = od_map_list_add(&r->list, base, begin, size, type);
    r->slots = od_alloc_more(r->slots, (size_t)r->list.capacity * sizeof *r->slots);
    r->slots[i] = slot ? *slot : (od_attachment){0};
}

/* What entry i stands for, if its address is shown. */
static const od_region *shown_region(od_engine *engine, const od_map_args *args, int32_t i, uintptr_t *base,
                                     size_t *size)
{
    if ((args->types[i] & (OD_MAP_RETURN | OD_MAP_FOREIGN)) != OD_MAP_RETURN ||
        !od_arg_range(engine, args, i, base, size))
        return NULL;
    return od_directory_find_region(od_engine_directory(engine), *base, *size);
}

/* Pointers may lead in a circle. */
static bool is_repeated(const od_map_args *args, int32_t i)
{
    for (int32_t j = 0; j < i; j++)
        if ((args->types[j] & OD_MAP_RETURN) && args->begins[j] == args->begins[i] && args->sizes[j] == args->sizes[i])
            return true;
    return false;
}

/* Entries for what the pointers inside of entry i lead to. */
static void follow(od_reach *r, od_engine *engine, int32_t i)
{
    uintptr_t base = 0;
    size_t size = 0;
    const od_region *region = shown_region(engine, &r->list.args, i, &base, &size);
    if (!region || !region->attachments || is_repeated(&r->list.args, i))
        return;
    const od_attachment *a = od_attachments_next(region->attachments, base, base + size);
    for (; a; a = od_attachments_next(region->attachments, a->slot + sizeof(void *), base + size)) {
        const od_region *to = od_directory_find_region(od_engine_directory(engine), a->begin, a->size);
        if (to)
            add_entry(r, (void *)to->base, (void *)to->base, (int64_t)to->size, OD_MAP_RETURN | OD_MAP_TO | OD_MAP_FROM,
                      a);
    }
}

bool od_reach_any(const od_map_args *args)
{
    bool any = false;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < args->count && !any; i++) {
        uintptr_t base;
        size_t size;
        const od_region *region = shown_region(engine, args, i, &base, &size);
        any = region && od_attachments_overlap(region->attachments, base, size);
    }
    od_runtime_unlock();
    return any;
}

od_reach *od_reach_find(const od_map_args *args)
{
    if (!od_reach_any(args))
        return NULL;
    od_reach *r = od_alloc_zeroed(1, sizeof *r);
    for (int32_t i = 0; i < args->count; i++)
        add_entry(r, args->bases[i], args->begins[i], args->sizes[i], args->types[i], NULL);
    r->given = args->count;
    od_engine *engine = od_runtime_lock();
    for (int32_t i = 0; i < r->list.args.count; i++)
        follow(r, engine, i);
    od_runtime_unlock();
    return r;
}

/* The relocations of the datum in which the slot lies. */
static od_relocations *relocations_at(od_reach *r, const od_uses *uses, uintptr_t slot, uint32_t *j)
{
    for (*j = 0; *j < uses->count; ++*j) {
        const od_datum *d = uses->access[*j].datum;
        if (slot - d->base < d->size)
            break;
    }
    if (*j == uses->count)
        return NULL;
    if (!r->relocations[*j])
        r->relocations[*j] = od_relocations_create((uint32_t)(r->list.args.count - r->given));
    od_expect_memory(r->relocations[*j]);
    return r->relocations[*j];
}

/* Sorted, each word once: several entries may have led to it. */
static void order(od_relocations *r)
{
    uint32_t kept = 0;
    od_relocations_sort(r);
    for (uint32_t i = 0; i < r->count; i++)
        if (!kept || r->at[i].offset != r->at[kept - 1].offset)
            r->at[kept++] = r->at[i];
    r->count = kept;
}

static void forget_wanted(od_reach *r)
{
    for (uint32_t j = 0; j < r->nrelocations; j++)
        free(r->relocations[j]);
    free(r->relocations);
}

void od_reach_want(od_reach *r, od_uses *uses, const int32_t *access_of)
{
    forget_wanted(r);
    r->nrelocations = uses->count;
    r->relocations = od_alloc_zeroed((size_t)uses->count + 1, sizeof *r->relocations);
    for (int32_t i = r->given; i < r->list.args.count; i++) {
        uint32_t j;
        od_relocations *to = access_of[i] >= 0 ? relocations_at(r, uses, r->slots[i].slot, &j) : NULL;
        od_datum *pointee = to ? uses->access[access_of[i]].datum : NULL;
        if (to)
            to->at[to->count++] = (od_relocation){r->slots[i].slot - uses->access[j].datum->base, pointee,
                                                  (ptrdiff_t)(r->slots[i].pointer - pointee->base)};
    }
    for (uint32_t j = 0; j < uses->count; j++)
        if (r->relocations[j]) {
            order(r->relocations[j]);
            uses->access[j].relocations = r->relocations[j];
        }
}

void od_reach_write(const od_uses *uses, unsigned k)
{
    for (uint32_t j = 0; j < uses->count; j++)
        if (uses->access[j].relocations && od_relocate(&uses->access[j], k))
            od_fatal("a copy to a device has failed");
}

static uintptr_t spilled_address(const od_datum *d)
{
    return od_datum_is_spilled(d) ? (uintptr_t)od_spill_address(d->region->spill, d->base) : d->base;
}

void od_reach_write_spilled(const od_uses *uses)
{
    for (uint32_t j = 0; j < uses->count; j++) {
        const od_access *a = &uses->access[j];
        for (uint32_t i = 0; a->relocations && od_datum_is_spilled(a->datum) && i < a->relocations->count; i++) {
            const od_relocation *r = &a->relocations->at[i];
            uintptr_t word = spilled_address(r->pointee) + (uintptr_t)r->delta;
            memcpy((char *)spilled_address(a->datum) + r->offset, &word, sizeof word);
        }
    }
}

void od_reach_free(od_reach *r)
{
    if (!r)
        return;
    forget_wanted(r);
    od_map_list_free(&r->list);
    free(r->slots);
    free(r);
}
