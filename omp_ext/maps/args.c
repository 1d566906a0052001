/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entries of a map list as arguments of a kernel. See args.h. */
#include "omp_ext/maps/args.h"

#include "memmgr/data/mappings.h"
#include "omp_ext/libomp/real.h"
#include "omp_ext/maps/device_memory.h"
#include "omp_ext/maps/foreign.h"
#include "omp_ext/process/memory.h"
#include "omp_ext/remote/numbers.h"
#include "omp_ext/runtime/runtime.h"

#include <stdlib.h>

od_arg_class od_arg_classify(const od_map_args *args, int32_t i)
{
    int64_t type = args->types[i];
    if (type & OD_MAP_FOREIGN) /* nothing is done with it */
        return OD_ARG_VALUE;
    if ((args->mappers && args->mappers[i]) || (type & (OD_MAP_PTR_AND_OBJ | OD_MAP_MEMBER_OF | OD_MAP_NON_CONTIG)))
        return OD_ARG_ODD;
    if (type & OD_MAP_LITERAL)
        return OD_ARG_VALUE;
    if (type & OD_MAP_PRIVATE)
        return OD_ARG_PRIVATE;
    return (type & OD_MAP_PARAM) ? OD_ARG_DATUM : OD_ARG_UNUSED;
}

bool od_arg_is_always(const od_map_args *args, int32_t i, int64_t direction)
{
    bool ours = !(args->types[i] & OD_MAP_FOREIGN);
    return ours && (args->types[i] & OD_MAP_ALWAYS) && (args->types[i] & direction) && args->sizes[i] > 0;
}

static bool is_in_an_argument(od_engine *engine, const od_map_args *args, uintptr_t address)
{
    uintptr_t base;
    size_t size;
    for (int32_t i = 0; i < args->count; i++)
        if (od_arg_range(engine, args, i, &base, &size) && address >= base && address < base + size)
            return true;
    return false;
}

static bool is_written(const od_depend *item, uintptr_t base, size_t size)
{
    bool inside = item->base >= base && item->base - base < size;
    return item->flags != OD_DEPEND_IN && (inside || (item->flags & OD_DEPEND_ALL_MEMORY));
}

/* OMPDARTS_COHERENCE=depend: map(to: x) says that x is only read, unless the task names some of it as written. */
static bool is_trusted_input(const od_map_args *args, const od_reference *reference, const od_depend *depends,
                             int32_t ndepends)
{
    int64_t direction = args->types[reference->entry] & (OD_MAP_TO | OD_MAP_FROM);
    if (direction != OD_MAP_TO || od_runtime_options()->coherence != OD_COHERENCE_DEPEND)
        return false;
    for (int32_t j = 0; j < ndepends; j++)
        if (is_written(&depends[j], reference->base, reference->size))
            return false;
    return true;
}

/* depend(in: x) next to map(tofrom: x), which begins at `begin`: x is only read where the task names something else
 * that it maps as written. A task that names nothing as written writes without saying where: perhaps a part of x that
 * no other task uses. One that names what it does not map: that stands for data that cannot be known. Nor is map(from:
 * x) only read: nothing is there to be read. */
static bool is_only_read(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends,
                         int32_t ndepends)
{
    uintptr_t begin = od_entry_begin(args, i), base = begin;
    size_t size = 0;
    bool named = false, says_written = false;
    bool undefined = (args->types[i] & OD_MAP_FROM) && !(args->types[i] & OD_MAP_TO);
    for (int32_t j = 0; j < ndepends; j++)
        named |= depends[j].base == begin;
    if (!named || undefined)
        return false;
    od_arg_range(engine, args, i, &base, &size);
    for (int32_t j = 0; j < ndepends; j++) {
        if (depends[j].flags == OD_DEPEND_IN)
            continue;
        if (is_written(&depends[j], base, size) || !is_in_an_argument(engine, args, depends[j].base))
            return false;
        says_written = true;
    }
    return says_written;
}

od_mode od_reference_mode(od_engine *engine, const od_map_args *args, const od_reference *reference,
                          const od_depend *depends, int32_t ndepends)
{
    int32_t i = reference->entry;
    int64_t type = args->types[i];
    bool in_region = reference->region != NULL;
    unsigned mode = ((type & OD_MAP_TO) ? OD_READ : 0u) | ((type & OD_MAP_FROM) ? OD_WRITE : 0u);
    od_coherence coherence = od_runtime_options()->coherence;
    if (in_region && (type & OD_MAP_WHOLE)) /* as what, other entries say */
        return OD_READ_WRITE;
    if (type & OD_MAP_READS)
        return OD_READ;
    if (in_region && od_arg_is_always(args, i, OD_MAP_TO)) /* the push writes */
        return OD_READ_WRITE;
    /* In a region the map type says nothing about the use of what is present. */
    if (mode == 0 || (in_region && !is_trusted_input(args, reference, depends, ndepends)))
        mode = OD_READ_WRITE;
    return coherence != OD_COHERENCE_STRICT && is_only_read(engine, args, i, depends, ndepends) ? OD_READ
                                                                                                : (od_mode)mode;
}

od_mode od_arg_mode(od_engine *engine, const od_map_args *args, int32_t i, const od_depend *depends, int32_t ndepends)
{
    od_reference reference = od_refer(engine, args, i);
    return od_reference_mode(engine, args, &reference, depends, ndepends);
}

bool od_range_is_in_region(uintptr_t begin, size_t size)
{
    od_engine *engine = od_runtime_lock();
    bool inside = od_directory_find_region(od_engine_directory(engine), begin, size);
    od_runtime_unlock();
    return inside;
}

/* Two items of one construct that overlap, the later one not inside the earlier: libomptarget has rules for that,
 * unless both are present. */
static bool is_extended(const od_map_args *args, int32_t i)
{
    uintptr_t begin = od_entry_begin(args, i), end = begin + (uintptr_t)args->sizes[i];
    for (int32_t j = 0; j < i; j++) {
        uintptr_t other = od_entry_begin(args, j), other_end = other + (uintptr_t)args->sizes[j];
        bool both = od_arg_classify(args, j) == OD_ARG_DATUM && begin < other_end && other < end;
        if (both && !(other <= begin && end <= other_end) && !od_range_is_in_region(begin, (size_t)args->sizes[i]))
            return true;
    }
    return false;
}

/* One of them: only what lies in no earlier item counts for later ones. */
static bool any_is_extended(const od_map_args *args)
{
    od_mappings made;
    bool any = false;
    od_expect_memory(!od_mappings_init(&made, (uint32_t)args->count));
    for (int32_t i = 0; i < args->count && !any; i++) {
        od_mapping m = {od_entry_begin(args, i), (size_t)args->sizes[i], od_entry_begin(args, i)};
        const od_mapping *found;
        if (!m.size || od_arg_classify(args, i) != OD_ARG_DATUM)
            continue;
        od_relation relation = od_presence_find(od_mappings_near(&made, m.begin), m.begin, m.size, &found);
        if (relation == OD_APART)
            od_mappings_add(&made, m);
        any = relation == OD_ACROSS && !od_range_is_in_region(m.begin, m.size);
    }
    od_mappings_free(&made);
    return any;
}

bool od_args_are_simple(const od_map_args *args)
{
    bool is_long = args->count > OD_LONG_LIST;
    if (is_long && any_is_extended(args))
        return false;
    for (int32_t i = 0; i < args->count; i++) {
        od_arg_class class = od_arg_classify(args, i);
        if (class == OD_ARG_ODD || (!is_long && class == OD_ARG_DATUM && is_extended(args, i)))
            return false;
        bool attachment = args->types[i] & OD_MAP_ATTACH; /* of a pointer at its base */
        uintptr_t address = attachment ? (uintptr_t)args->bases[i] : od_entry_begin(args, i);
        if ((class == OD_ARG_DATUM || class == OD_ARG_UNUSED) &&
            od_foreign_device(address, (size_t)args->sizes[i]) >= 0)
            return false;
    }
    return true;
}

int od_args_device(const od_map_args *args)
{
    int device = -1;
    for (int32_t i = 0; od_foreign_any() && i < args->count && device < 0; i++)
        device = od_foreign_entry_device(args, i);
    if (device >= 0)
        return device;
    return od_remote_is_on() ? od_runtime_virtual_number() : od_runtime_device_number(0);
}

od_map_args od_args_as_parameters(const od_map_args *args)
{
    od_map_args all = *args;
    all.types = od_alloc(((size_t)args->count + 1) * sizeof *all.types);
    all.any |= OD_MAP_PARAM;
    for (int32_t i = 0; i < args->count; i++)
        all.types[i] =
            (args->types[i] & OD_MAP_ATTACH) ? OD_MAP_ATTACH : (args->types[i] | OD_MAP_PARAM) & ~OD_MAP_RETURN;
    return all;
}

size_t od_args_absent_bytes(const od_map_args *args, int device)
{
    static const int64_t much = 1 << 20;
    size_t bytes = 0;
    for (int32_t i = 0; i < args->count; i++) {
        bool takes = args->sizes[i] >= much && !(args->types[i] & (OD_MAP_NO_RANGE | OD_MAP_DELETE)) &&
                     !od_entry_is_member(args, i);
        if (takes && !REAL(omp_target_is_present)(args->begins[i], device))
            bytes += (size_t)args->sizes[i];
    }
    return bytes;
}
