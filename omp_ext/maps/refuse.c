/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constructs that are wrong. See refuse.h. */
#include "omp_ext/maps/refuse.h"

#include "memmgr/data/mappings.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/process/fatal.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/maps/structs/holders.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/refer.h"
#include "omp_ext/maps/structs/structs.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

/* An entry that libomptarget looks up. */
static bool maps_memory(const od_map_args *args, int32_t i)
{
    bool attaches = (args->types[i] & OD_MAP_ATTACH) && !od_entry_is_pointee(args, i);
    return !attaches &&
           !(args->types[i] & (OD_MAP_LITERAL | OD_MAP_PRIVATE | OD_MAP_NON_CONTIG | OD_MAP_STANDS | OD_MAP_FOREIGN));
}

/* --- entries of one list that overlap ---------------------------------------- */

static od_mapping mapping_of(const od_map_args *args, int32_t i)
{
    od_section s = od_arg_section(args, i);
    return (od_mapping){s.begin, maps_memory(args, i) ? s.size : 0, s.origin};
}

static bool pairs_overlap(const od_map_args *args)
{
    for (int32_t i = 1; i < args->count; i++) {
        uintptr_t begin = od_entry_begin(args, i), end = begin + (uintptr_t)args->sizes[i];
        for (int32_t j = 0; j < i && begin != end && maps_memory(args, i); j++) {
            uintptr_t other = od_entry_begin(args, j), other_end = other + (uintptr_t)args->sizes[j];
            if (begin < other_end && other < end && maps_memory(args, j))
                return true;
        }
    }
    return false;
}

static int by_begin(const void *a, const void *b)
{
    const od_mapping *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static bool neighbours_overlap(const od_map_args *args)
{
    bool found = false;
    od_mapping *all = od_malloc((size_t)args->count * sizeof *all), *before = NULL;
    od_expect_memory(all);
    for (int32_t i = 0; i < args->count; i++)
        all[i] = mapping_of(args, i);
    qsort(all, (size_t)args->count, sizeof *all, by_begin);
    for (int32_t i = 0; i < args->count && !found; i++) {
        found = before && all[i].size && all[i].begin - before->begin < before->size;
        before = all[i].size ? &all[i] : before;
    }
    free(all);
    return found;
}

/* Most lists have no such entries, and some have thousands of entries. */
static bool entries_overlap(const od_map_args *args)
{
    enum { FEW = 32 };
    return args->count <= FEW ? pairs_overlap(args) : neighbours_overlap(args);
}

/* --- what is wrong ------------------------------------------------------------ */

typedef struct search {
    od_engine *engine;
    od_naming naming;
    bool tracks;      /* what entries make counts for later ones */
    od_mappings made; /* if it does */
    od_refusal refusal;
} search;

/* libomptarget itself knows what is there. */
static bool is_elsewhere(const od_section *section)
{
    return od_foreign_device(section->begin, section->size) >= 0;
}

/* Of two mappings on one side of an address, either of which may be NULL, the one that begins nearer to it. */
static const od_mapping *nearer(const od_mapping *a, const od_mapping *b, bool before)
{
    if (!a || !b)
        return a ? a : b;
    return (a->begin > b->begin) == before ? a : b;
}

static od_verdict judge(search *s, const od_section *section, od_mapping *crossed, bool *passes)
{
    od_region *before, *after;
    const od_mapping *found;
    od_directory_near_regions(od_engine_directory(s->engine), section->begin, &before, &after);
    od_mapping left = before ? od_region_mapping(before) : (od_mapping){0};
    od_mapping right = after ? od_region_mapping(after) : (od_mapping){0};
    od_neighbours made = s->tracks ? od_mappings_near(&s->made, section->begin) : (od_neighbours){0};
    od_neighbours near = {nearer(before ? &left : NULL, made.before, true),
                          nearer(after ? &right : NULL, made.after, false)};
    od_relation relation = od_presence_find(near, section->begin, section->size, &found);
    *crossed = found ? *found : (od_mapping){0};
    od_verdict verdict = od_presence_judge(s->naming, relation, section);
    const od_region *region = found == &left ? before : found == &right ? after : NULL;
    *passes = region && od_region_is_of_kernels(region);
    if (verdict == OD_VERDICT_MAKE && s->tracks)
        od_mappings_add(&s->made, (od_mapping){section->begin, section->size, section->origin});
    return verdict;
}

static void look_at_section(search *s, const od_section *section, int64_t type)
{
    od_mapping crossed;
    bool passes;
    if (!section->size && !section->present) /* an address */
        return;
    if (judge(s, section, &crossed, &passes) == OD_VERDICT_REFUSE && !is_elsewhere(section))
        s->refusal = (od_refusal){true, passes, *section, type, crossed};
}

/* Where a construct enters what a pointer leads to, the pointer itself must be in a mapping, or makes one. That one
 * libomptarget never gives back: whether it is there is not asked. */
static void look_at_pointer(search *s, uintptr_t address, od_section *section, int64_t type)
{
    od_section slot = *section;
    slot.begin = slot.origin = address;
    slot.size = sizeof(void *);
    slot.present = false;
    if (s->naming == OD_NAMING_ENTER && !(type & OD_MAP_ATTACH))
        look_at_section(s, &slot, type);
    memcpy(&section->origin, (const void *)address, sizeof section->origin);
}

static void look_at_entry(search *s, const od_map_args *args, int32_t i)
{
    od_section section = od_arg_section(args, i);
    if (od_entry_is_pointee(args, i))
        look_at_pointer(s, (uintptr_t)args->bases[i], &section, args->types[i]);
    if (!s->refusal.found)
        look_at_section(s, &section, args->types[i]);
}

od_refusal od_find_refused(od_naming naming, const od_map_args *args)
{
    bool enters = naming == OD_NAMING_ENTER, present = args->any & OD_MAP_PRESENT;
    if (!enters && !present)
        return (od_refusal){0};
    search s = {.naming = naming, .tracks = enters && (present || od_has_parts(args) || entries_overlap(args))};
    od_expect_memory(!s.tracks || !od_mappings_init(&s.made, 2 * (uint32_t)args->count));
    if (!s.tracks && !present && !od_runtime_has_regions())
        return s.refusal;
    s.engine = od_runtime_lock();
    for (int32_t n = 0; n < args->count && !s.refusal.found; n++) {
        int32_t i = naming == OD_NAMING_LEAVE ? args->count - 1 - n : n;
        if (maps_memory(args, i))
            look_at_entry(&s, args, i);
    }
    od_runtime_unlock();
    od_mappings_free(&s.made);
    return s.refusal;
}

/* --- the end ------------------------------------------------------------------ */

/* One entry, as libomptarget gets it. */
typedef struct single {
    void *base, *begin;
    int64_t size, type;
} single;

static single single_of(const od_refusal *refusal)
{
    const od_section *s = &refusal->section;
    return (single){(void *)s->origin, (void *)s->begin, (int64_t)s->size,
                    refusal->type & ~(OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_ATTACH)};
}

static void make_known(od_ident *ident, int64_t device, const od_mapping *mapping)
{
    void *base = (void *)mapping->origin, *begin = (void *)mapping->begin;
    int64_t size = (int64_t)mapping->size, type = 0;
    if (size)
        REAL(__tgt_target_data_begin_mapper)(ident, device, 1, &base, &begin, &size, &type, NULL, NULL);
}

_Noreturn void od_refuse_data(od_ident *ident, od_naming naming, const od_refusal *refusal)
{
    int64_t device = od_runtime_virtual_number();
    single one = single_of(refusal);
    void **base = &one.base, **begin = &one.begin;
    int64_t *size = &one.size, *type = &one.type;
    make_known(ident, device, &refusal->crossed);
    if (naming == OD_NAMING_ENTER)
        REAL(__tgt_target_data_begin_mapper)(ident, device, 1, base, begin, size, type, NULL, NULL);
    else if (naming == OD_NAMING_LEAVE)
        REAL(__tgt_target_data_end_mapper)(ident, device, 1, base, begin, size, type, NULL, NULL);
    else
        REAL(__tgt_target_data_update_mapper)(ident, device, 1, base, begin, size, type, NULL, NULL);
    od_fatal("a data construct names what is not present, or extends what is");
}

_Noreturn void od_refuse_kernel(const od_kernel_call *call, const od_refusal *refusal)
{
    int64_t device = od_runtime_virtual_number();
    single one = single_of(refusal);
    od_kernel_args args = call->args;
    args.count = 1;
    args.bases = &one.base;
    args.begins = &one.begin;
    args.sizes = &one.size;
    args.types = &one.type;
    args.names = args.mappers = NULL;
    args.flags &= ~(uint64_t)OD_KERNEL_NOWAIT;
    make_known(call->ident, device, &refusal->crossed);
    REAL(__tgt_target_kernel)(call->ident, device, call->teams, call->threads, call->kernel, &args);
    od_fatal("a target construct names what is not present, or extends what is");
}
