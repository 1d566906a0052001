/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See parts.h. */
#include "omp_ext/maps/parts/parts.h"

#include "memmgr/window/cut.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/slices/cuts.h"
#include "omp_ext/slices/footprint.h"
#include "util/container/array.h"

#include <stdlib.h>

/* --- what a task names ------------------------------------------------------ */

static bool lies_in(const od_region *region, const od_depend *item)
{
    return item->base >= region->base && item->base - region->base < region->size;
}

/* Nothing but a plain argument: moves of sections, and pointers inside of the array, are for data in one piece. */
static bool may_be_in_parts(const od_map_args *args, const od_region *region)
{
    return region && !region->attachments && !region->shown && !(args->any & OD_MAP_ALWAYS);
}

static bool is_whole(const od_reference *reference)
{
    const od_region *region = reference->region;
    return region && reference->base == region->base && reference->size == region->size;
}

static bool names_sections(const od_region *region, const od_depend *depends, int32_t ndepends)
{
    bool any = false;
    for (int32_t i = 0; i < ndepends; i++) {
        if (depends[i].flags & OD_DEPEND_ALL_MEMORY)
            return false;
        if (!lies_in(region, &depends[i]))
            continue;
        if (depends[i].base == region->base && depends[i].length >= region->size)
            return false;
        any |= depends[i].length >= od_window_page();
    }
    return any;
}

static od_status add(od_parts *parts, uintptr_t base, size_t size, od_mode mode)
{
    if (!od_array_reserve(&parts->at, &parts->capacity, (uint64_t)parts->count + 1, sizeof *parts->at))
        return OD_ENOMEM;
    parts->at[parts->count++] = (od_part){base, size, mode};
    return OD_OK;
}

/* Where kernels are watched parts end where pages do: a page that a section shares with its neighbour is a part. */
static od_status add_section(od_parts *parts, const od_region *region, uintptr_t base, size_t size, od_mode mode)
{
    uintptr_t last = region->base + region->size, end = size < last - base ? base + size : last;
    uintptr_t cuts[] = {od_window_page_begin(base), od_window_page_end(base), od_window_page_begin(end),
                        od_window_page_end(end)};
    od_status status = OD_OK;
    if (!od_runtime_guards_parts())
        return add(parts, base, end - base, mode);
    if (end == last)
        cuts[2] = cuts[3] = end;
    cuts[0] = cuts[0] < region->base ? region->base : cuts[0];
    cuts[1] = base == region->base ? base : cuts[1];
    cuts[2] = cuts[2] < cuts[1] ? cuts[1] : cuts[2]; /* all in one page, which may begin before the region */
    for (int i = 0; i < 3 && !status; i++)
        if (cuts[i + 1] > cuts[i])
            status = add(parts, cuts[i], (cuts[i + 1] < last ? cuts[i + 1] : last) - cuts[i], mode);
    return status;
}

static od_status add_items(od_parts *parts, const od_region *region, const od_depend *depends, int32_t ndepends)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < ndepends && !status; i++) {
        od_mode mode = depends[i].flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
        if (lies_in(region, &depends[i]))
            status = add_section(parts, region, depends[i].base, depends[i].length ? depends[i].length : 1, mode);
    }
    return status;
}

/* --- all of a region in parts ------------------------------------------------- */

static bool first(od_datum *d, void *arg)
{
    *(const od_datum **)arg = d;
    return false;
}

/* All that is known of it, and the gaps in between. */
static od_status add_all(od_engine *engine, od_parts *parts, const od_region *region, od_mode mode)
{
    od_status status = OD_OK;
    uintptr_t end = region->base + region->size;
    for (uintptr_t at = region->base; at < end && !status; at += parts->at[parts->count - 1].size) {
        const od_datum *d = NULL;
        od_directory_visit(od_engine_directory(engine), at, end - at, first, &d);
        bool known = d && d->base <= at;
        status = add(parts, at, known ? d->base + d->size - at : (d ? d->base : end) - at, mode);
        if (status)
            return status;
    }
    return status;
}

static bool fits_a_device(const od_parts *parts)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        bytes += od_window_span(parts->at[i].base, parts->at[i].size);
    return bytes <= od_runtime_backend()->pool_bytes[0];
}

/* --- sections of kernels that may use more ---------------------------------------- */

/* Beside all else that the kernel maps. */
static bool region_fits(od_engine *engine, const od_map_args *args, const od_region *region)
{
    enum { MOST_ENTRIES = 64 };
    size_t bytes = region->size, room = od_runtime_backend()->pool_bytes[0];
    if (args->count > MOST_ENTRIES)
        return false;
    for (int32_t i = 0; i < args->count; i++) {
        od_reference other = od_refer_to_regions(engine, args, i);
        if (other.region != region)
            bytes += other.region ? other.region->size : other.size;
    }
    return bytes + (size_t)args->count * od_window_page() < room; /* the pool rounds */
}

/* No two constructs on sections of it run side by side: nothing is lost if each uses all of it. */
static bool is_for_one(od_region *region, const void *user)
{
    region->divided |= !user || (region->user && region->user != user);
    region->user = user;
    return !region->divided;
}

static bool is_mapped(const od_map_args *args, uintptr_t address)
{
    for (int32_t i = 0; i < args->count; i++)
        if (address - od_entry_begin(args, i) < (uintptr_t)args->sizes[i])
            return true;
    return false;
}

static bool names_more(const od_map_args *args, const od_region *region, const od_parts_named *named)
{
    for (int32_t i = 0; i < named->count; i++)
        if (lies_in(region, &named->depends[i]) && !is_mapped(args, named->depends[i].base))
            return true;
    return false;
}

/* Those of its items that tell how much. */
static od_status add_more(od_parts *parts, const od_map_args *args, const od_region *region,
                          const od_parts_named *named)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < named->count && !status; i++) {
        const od_depend *item = &named->depends[i];
        if (lies_in(region, item) && !is_mapped(args, item->base) && item->length >= od_window_page())
            status = add_section(parts, region, item->base, item->length,
                                 item->flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE);
    }
    return status;
}

static od_status find_in_window(od_engine *engine, const od_map_args *args, const od_reference *reference,
                                const od_parts_named *named, od_parts *parts)
{
    const od_region *region = reference->region;
    if (!od_runtime_names_its_parts(named->kernel, named->argument) && region_fits(engine, args, region))
        return add_all(engine, parts, region, OD_READ_WRITE);
    od_status status = add_section(parts, region, reference->base, reference->size, OD_READ_WRITE);
    return status || !named->all ? status : add_more(parts, args, region, named);
}

static od_status find_around(od_engine *engine, const od_map_args *args, const od_reference *reference,
                             const od_parts_named *named, od_parts *parts)
{
    od_region *region = reference->region;
    bool more = names_more(args, region, named), one = is_for_one(region, named->user);
    bool all = (more || one) && region_fits(engine, args, region), small = region->size <= od_window_page();
    if ((more || one) && !small && !(one && all) && od_runtime_guards_parts()) {
        od_status status = od_runtime_divide(engine, region);
        if (status && status != OD_EDEVICE)
            return status;
    }
    if (region->window)
        return find_in_window(engine, args, reference, named, parts);
    return all ? add(parts, region->base, region->size, OD_READ_WRITE) : OD_OK;
}

/* --- inputs ----------------------------------------------------------------------- */

static bool is_named_as_written(const od_region *region, const od_parts_named *named)
{
    for (int32_t j = 0; j < named->count; j++) {
        unsigned flags = named->depends[j].flags;
        if (flags != OD_DEPEND_IN && ((flags & OD_DEPEND_ALL_MEMORY) || lies_in(region, &named->depends[j])))
            return true;
    }
    return false;
}

/* Nothing says that the kernel writes to it, neither a clause nor what it did before. */
static bool may_be_input(const od_map_args *args, const od_reference *reference, const od_parts_named *named)
{
    int64_t type = args->types[reference->entry];
    bool says_written = (type & OD_MAP_FROM) && !(type & OD_MAP_IMPLICIT);
    return !says_written && !(type & OD_MAP_WHOLE) && !reference->region->undefined && od_runtime_guards_parts() &&
           !is_named_as_written(reference->region, named) && od_runtime_may_only_read(named->kernel, named->argument);
}

static bool has_tasks(od_datum *d, void *arg)
{
    bool *any = arg;
    *any |= d->tasks > 0;
    return !*any;
}

static bool is_wanted(od_engine *engine, od_region *region)
{
    if (!region->wanted)
        od_directory_visit(od_engine_directory(engine), region->base, region->size, has_tasks, &region->wanted);
    return region->wanted;
}

/* Others want it, too, and would have to wait for each other: replicas in windows show whether they need to. */
static od_status watch_input(od_engine *engine, const od_map_args *args, const od_reference *reference,
                             const od_parts_named *named)
{
    od_region *region = reference->region;
    if (region->window || !is_wanted(engine, region) ||
        od_reference_mode(engine, args, reference, named->depends, named->count) == OD_READ)
        return OD_OK;
    od_status status = od_runtime_divide(engine, region);
    return status == OD_EDEVICE ? OD_OK : status;
}

/* --- slices ----------------------------------------------------------------------- */

od_divisible od_parts_divisible(od_engine *engine, const od_map_args *args, int32_t i)
{
    od_reference reference = od_refer_to_regions(engine, args, i);
    const od_region *region = reference.region;
    if (!reference.size)
        return OD_DIVISIBLE;
    if (!region)
        return OD_DIVISIBLE_NOT_MAPPED;
    if (!is_whole(&reference) || (args->types[i] & OD_MAP_ALWAYS))
        return OD_DIVISIBLE_NOT_SECTION;
    if (!may_be_in_parts(args, region))
        return OD_DIVISIBLE_NOT_HELD;
    if (!od_runtime_backend()->windows || !od_runtime_guards_parts())
        return OD_DIVISIBLE_NOT_HERE;
    return region->window || od_runtime_may_divide(region) ? OD_DIVISIBLE : OD_DIVISIBLE_NOT_NOW;
}

/* The array's, as it is for so many slices; NULL: out of memory. */
static od_cut *cut_of(const od_region *region, const od_parts_slice *slice)
{
    od_window *window = region->window;
    if (!window->cut || window->cut->shares.count != slice->count) {
        free(window->cut);
        window->cut = od_cuts_recall(&(od_shares){region->base, region->size, slice->count});
    }
    return window->cut;
}

static od_mode mode_of_cell(const od_parts_slice *slice, int32_t argument, const od_cell *cell)
{
    static const od_mode modes[] = {
        [OD_CELL_UNUSED] = 0, [OD_CELL_READ] = OD_READ, [OD_CELL_OWNED] = OD_READ_WRITE};
    if (slice->learns)
        return OD_READ_WRITE;
    return modes[od_footprint_use(slice->footprint, (unsigned)argument, slice->index, cell)];
}

/* A slice that uses nothing of an array gets its address all the same, with a cell of its share, to read. */
static od_status add_any(od_parts *parts, const od_cut *cut, const od_parts_slice *slice)
{
    od_cell cell = od_cut_cell(cut, od_cut_find(cut, od_share_begin(&cut->shares, slice->index)));
    return parts->count ? OD_OK : add(parts, cell.base, cell.size, OD_READ);
}

static od_status find_cells(od_engine *engine, od_region *region, const od_parts_named *named, od_parts *parts)
{
    const od_parts_slice *slice = named->slice;
    od_status status = od_runtime_divide(engine, region);
    const od_cut *cut = status ? NULL : cut_of(region, slice);
    if (!cut)
        return status == OD_EDEVICE ? OD_OK : status ? status : OD_ENOMEM;
    if (!od_shares_are_pages(&cut->shares)) /* all share it, page by page */
        return add(parts, region->base, region->size, slice->learns ? OD_READ_WRITE : OD_READ);
    for (unsigned i = 0; i < cut->cells && !status; i++) {
        od_cell cell = od_cut_cell(cut, i);
        od_mode mode = mode_of_cell(slice, named->argument, &cell);
        if (mode)
            status = add(parts, cell.base, cell.size, mode);
    }
    return status ? status : add_any(parts, cut, slice);
}

typedef struct shape {
    const od_cut *cut;
    bool fits;
} shape;

static bool is_cell(od_datum *d, void *arg)
{
    shape *s = arg;
    od_cell cell = od_cut_cell(s->cut, od_cut_find(s->cut, d->base));
    return s->fits &= d->base == cell.base && d->size == cell.size;
}

/* What has been learnt of the kernel's slices; not for ever, each time moves the array. */
static void divide_cut(od_cut *cut, const od_parts_slice *slice, int32_t argument)
{
    enum { MOST_DIVISIONS = 16 };
    if (cut->divisions == MOST_DIVISIONS || !od_footprint_divide(slice->footprint, (unsigned)argument, cut))
        return;
    cut->divisions++;
    od_cuts_remember(cut);
}

od_status od_parts_prepare(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice)
{
    od_region *region = od_refer_to_regions(engine, args, i).region;
    if (!region)
        return OD_OK;
    od_status status = od_runtime_divide(engine, region);
    if (status)
        return status == OD_EDEVICE ? OD_OK : status;
    shape s = {cut_of(region, slice), true};
    if (!s.cut)
        return OD_ENOMEM;
    divide_cut(region->window->cut, slice, i);
    od_directory_visit(od_engine_directory(engine), region->base, region->size, is_cell, &s);
    if (s.fits)
        return OD_OK;
    status = od_engine_divide(engine, region, od_window_hold(region->window), true);
    if (status)
        od_window_release(region->window);
    return status;
}

static size_t bytes_of(const od_cut *cut, int32_t argument, const od_parts_slice *slice)
{
    size_t bytes = 0;
    for (unsigned j = 0; j < cut->cells; j++) {
        od_cell cell = od_cut_cell(cut, j);
        bytes += mode_of_cell(slice, argument, &cell) ? od_window_span(cell.base, cell.size) : 0;
    }
    return bytes;
}

size_t od_parts_slice_bytes(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice)
{
    const od_region *region = od_refer_to_regions(engine, args, i).region;
    if (!region)
        return 0;
    od_cut *fresh = region->window ? NULL : od_cuts_recall(&(od_shares){region->base, region->size, slice->count});
    const od_cut *cut = region->window ? cut_of(region, slice) : fresh;
    size_t bytes = cut && od_shares_are_pages(&cut->shares) ? bytes_of(cut, i, slice)
                                                            : od_window_span(region->base, region->size);
    free(fresh);
    return bytes;
}

/* --- both ----------------------------------------------------------------------- */

void od_parts_join(od_engine *engine, od_region *region)
{
    if (!region || !region->window)
        return;
    region->joins++;
    od_engine_divide(engine, region, NULL, false);
}

static od_status find_all(od_engine *engine, const od_map_args *args, const od_reference *reference,
                          const od_parts_named *named, od_parts *parts)
{
    od_mode mode = may_be_input(args, reference, named)
                       ? OD_READ
                       : od_reference_mode(engine, args, reference, named->depends, named->count);
    od_status status = add_all(engine, parts, reference->region, mode);
    if (status || fits_a_device(parts))
        return status;
    parts->count = 0;
    od_parts_join(engine, reference->region);
    return OD_OK;
}

od_status od_parts_find(od_engine *engine, const od_map_args *args, const od_reference *reference,
                        const od_parts_named *named, od_parts *parts)
{
    od_region *region = reference->region;
    if (!may_be_in_parts(args, region)) {
        od_parts_join(engine, region);
        return OD_OK;
    }
    if (named->slice && is_whole(reference))
        return find_cells(engine, region, named, parts);
    if (!is_whole(reference))
        return find_around(engine, args, reference, named, parts);
    bool input = may_be_input(args, reference, named);
    bool sections = names_sections(region, named->depends, named->count) &&
                    od_runtime_names_its_parts(named->kernel, named->argument);
    od_status status = sections ? od_runtime_divide(engine, region) : OD_EDEVICE;
    if (status == OD_OK)
        return add_items(parts, region, named->depends, named->count);
    if (status == OD_EDEVICE)
        status = input ? watch_input(engine, args, reference, named) : OD_OK;
    return status || !region->window ? status : find_all(engine, args, reference, named, parts);
}
