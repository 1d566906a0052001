/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See by_share.h. */
#include "omp_ext/maps/parts/by_share.h"

#include "memmgr/window/cut.h"
#include "omp_ext/runtime/runtime.h"
#include "omp_ext/slices/cuts.h"
#include "omp_ext/slices/footprint.h"

#include <stdlib.h>

od_divisible od_parts_divisible(od_engine *engine, const od_map_args *args, int32_t i)
{
    od_reference reference = od_refer_to_regions(engine, args, i);
    const od_region *region = reference.region;
    if (!reference.size)
        return OD_DIVISIBLE;
    if (!region)
        return OD_DIVISIBLE_NOT_MAPPED;
    if (!od_parts_are_of_all(&reference) || (args->types[i] & OD_MAP_ALWAYS))
        return OD_DIVISIBLE_NOT_SECTION;
    if (!od_parts_are_possible(args, region))
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
    return parts->count ? OD_OK : od_parts_add(parts, cell.base, cell.size, OD_READ);
}

od_status od_parts_by_share(od_engine *engine, od_region *region, const od_parts_named *named, od_parts *parts)
{
    const od_parts_slice *slice = named->slice;
    od_status status = od_runtime_divide(engine, region);
    const od_cut *cut = status ? NULL : cut_of(region, slice);
    if (!cut)
        return status == OD_EDEVICE ? OD_OK : status ? status : OD_ENOMEM;
    if (!od_shares_are_pages(&cut->shares)) /* all share it, page by page */
        return od_parts_add(parts, region->base, region->size, slice->learns ? OD_READ_WRITE : OD_READ);
    for (unsigned i = 0; i < cut->cells && !status; i++) {
        od_cell cell = od_cut_cell(cut, i);
        od_mode mode = mode_of_cell(slice, named->argument, &cell);
        if (mode)
            status = od_parts_add(parts, cell.base, cell.size, mode);
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
    return s->fits &= !d->pieces && d->base == cell.base && d->size == cell.size;
}

/* What has been learnt of the kernel's slices; not for ever, each time moves the array. */
static void divide_cut(od_cut *cut, const od_parts_slice *slice, int32_t argument)
{
    enum { MOST_DIVISIONS = 16 };
    if (!slice->footprint || cut->divisions == MOST_DIVISIONS ||
        !od_footprint_divide(slice->footprint, (unsigned)argument, cut))
        return;
    cut->divisions++;
    od_cuts_remember(cut);
}

od_status od_parts_prepare(od_engine *engine, const od_map_args *args, int32_t i, const od_parts_slice *slice)
{
    od_region *region = od_refer_to_regions(engine, args, i).region;
    if (!region)
        return OD_OK;
    region->unsliced = 0;
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

bool od_parts_are_past_slices(od_region *region)
{
    enum { MOST_DOUBLED = 3 }; /* each turn moves the array twice */
    uint32_t doubled = region->rejoined < MOST_DOUBLED ? region->rejoined : MOST_DOUBLED;
    return region->window->cut && ++region->unsliced > UINT32_C(8) << doubled;
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
    od_cut *cut = region->window ? cut_of(region, slice) : fresh;
    if (cut)
        divide_cut(cut, slice, i);
    size_t bytes = cut && od_shares_are_pages(&cut->shares) ? bytes_of(cut, i, slice)
                                                            : od_window_span(region->base, region->size);
    free(fresh);
    return bytes;
}
