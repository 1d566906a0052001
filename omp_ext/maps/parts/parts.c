/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See parts.h. */
#include "omp_ext/maps/parts/parts.h"

#include "omp_ext/runtime/runtime.h"
#include "memmgr/data/spill.h"
#include "util/container/array.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

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
    parts->at[parts->count++] = (od_part){base, size, mode, NULL};
    return OD_OK;
}

void od_parts_free(od_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++)
        free(parts->at[i].pieces);
    free(parts->at);
    *parts = (od_parts){0};
}

static od_pieces *copy_pieces(const od_pieces *pieces)
{
    size_t bytes = sizeof *pieces + pieces->count * sizeof pieces->at[0];
    od_pieces *copy = od_malloc(bytes);
    if (copy)
        memcpy(copy, pieces, bytes);
    return copy;
}

static od_status add_known(od_parts *parts, const od_datum *d, od_mode mode)
{
    od_status status = add(parts, d->base, d->size, mode);
    if (!status && d->pieces && !(parts->at[parts->count - 1].pieces = copy_pieces(d->pieces)))
        status = OD_ENOMEM;
    return status;
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

typedef struct collection {
    od_parts *parts;
    od_mode mode;
    od_status status;
} collection;

static bool collect(od_datum *d, void *arg)
{
    collection *c = arg;
    c->status = add_known(c->parts, d, c->mode);
    return !c->status;
}

/* All that is known of it, and the gaps in between. */
static od_status add_all(od_engine *engine, od_parts *parts, const od_region *region, od_mode mode)
{
    const od_directory *directory = od_engine_directory(engine);
    collection c = {parts, mode, OD_OK};
    uintptr_t end = region->base + region->size;
    od_directory_visit(directory, region->base, region->size, collect, &c);
    for (uintptr_t at = region->base; at < end && !c.status;) {
        od_span known = {end, end};
        od_directory_first(directory, at, end - at, &known);
        if (known.begin > at)
            c.status = add(parts, at, known.begin - at, mode);
        at = known.end;
    }
    return c.status;
}

static bool fits_a_device(const od_parts *parts)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        bytes += parts->at[i].pieces ? parts->at[i].pieces->span : od_window_span(parts->at[i].base, parts->at[i].size);
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
    if (!od_runtime_names_its_parts(named->launch->call.kernel, named->argument) && region_fits(engine, args, region))
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
           !is_named_as_written(reference->region, named) && od_runtime_may_only_read(named->launch->call.kernel, named->argument);
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

/* --- footprints ------------------------------------------------------------------- */

static bool is_name(const od_region *region, const od_depend *item)
{
    return lies_in(region, item) && item->length < od_window_page();
}

/* It names places in the array, and nothing more of it. */
static bool names_places(const od_region *region, const od_parts_named *named)
{
    bool any = false;
    for (int32_t i = 0; i < named->count; i++) {
        if ((named->depends[i].flags & OD_DEPEND_ALL_MEMORY) ||
            (lies_in(region, &named->depends[i]) && !is_name(region, &named->depends[i])))
            return false;
        any |= is_name(region, &named->depends[i]);
    }
    return any;
}

/* Nothing is lost where one device has all of it, and nobody else wants it. */
static bool is_worth_dividing(od_engine *engine, const od_map_args *args, od_region *region, bool input)
{
    return !region_fits(engine, args, region) || (!input && is_wanted(engine, region));
}

/* Spans of addresses, growing. */
typedef struct spans {
    od_span *at; /* malloc'ed */
    uint32_t count, room;
} spans;

static od_status add_span(spans *s, uintptr_t begin, uintptr_t end)
{
    if (begin >= end)
        return OD_OK;
    if (s->count && s->at[s->count - 1].end >= begin) {
        s->at[s->count - 1].end = end > s->at[s->count - 1].end ? end : s->at[s->count - 1].end;
        return OD_OK;
    }
    if (!od_array_reserve(&s->at, &s->room, (uint64_t)s->count + 1, sizeof *s->at))
        return OD_ENOMEM;
    s->at[s->count++] = (od_span){begin, end};
    return OD_OK;
}

static od_status add_spans(od_parts *parts, const spans *s, od_mode mode)
{
    if (!s->count)
        return OD_OK;
    od_status status = add(parts, s->at[0].begin, s->at[0].end - s->at[0].begin, mode);
    if (status || s->count == 1)
        return status;
    od_part *part = &parts->at[parts->count - 1];
    part->pieces = od_pieces_make(s->at, s->count);
    part->size = part->pieces ? part->pieces->size : 0;
    return part->pieces ? OD_OK : OD_ENOMEM;
}

/* What is known of the array already in parts that others use, or that are on devices, stays as it is; the rest makes
 * a new part, or two where some is in the spill area, and some in the program's memory. */
typedef struct fitting {
    od_engine *engine;
    const od_region *region;
    od_parts *parts;
    od_mode mode;
    spans free, spilled;
    od_status status;
} fitting;

static bool stays(const od_datum *d, const od_region *region)
{
    return d->window == region->window && !od_engine_can_forget(d);
}

/* False: it is not among them. */
static bool use_listed(od_parts *parts, const od_datum *d, od_mode mode)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (parts->at[i].base == d->base) {
            parts->at[i].mode |= mode;
            return true;
        }
    return false;
}

static od_status add_free(fitting *f, uintptr_t begin, uintptr_t end)
{
    od_status status = OD_OK;
    while (begin < end && !status) {
        uintptr_t at = end;
        size_t bytes = 0;
        od_spill_first(f->region->spill, begin, end - begin, &at, &bytes);
        status = add_span(&f->free, begin, at);
        if (!status)
            status = add_span(&f->spilled, at, at + bytes);
        begin = at + bytes;
    }
    return status;
}

static bool fit_around(od_datum *d, void *arg)
{
    fitting *f = arg;
    if (stays(d, f->region) && !use_listed(f->parts, d, f->mode))
        f->status = add_known(f->parts, d, f->mode);
    return !f->status;
}

/* The first range of what stays. */
static od_span first_to_stay(const fitting *f, uintptr_t begin, uintptr_t end)
{
    const od_directory *directory = od_engine_directory(f->engine);
    od_span known;
    for (uintptr_t at = begin; at < end && od_directory_first(directory, at, end - at, &known); at = known.end)
        if (stays(od_directory_find(directory, known.begin, 0), f->region))
            return known;
    return (od_span){end, end};
}

static void fit(fitting *f, uintptr_t begin, uintptr_t end)
{
    od_directory_visit(od_engine_directory(f->engine), begin, end - begin, fit_around, f);
    while (begin < end && !f->status) {
        od_span known = first_to_stay(f, begin, end);
        f->status = add_free(f, begin, known.begin);
        begin = known.end;
    }
}

/* One datum has just these bytes: the usual case. */
static const od_datum *known_as(od_engine *engine, const od_region *region, const spans *s)
{
    const od_datum *d = od_directory_find(od_engine_directory(engine), s->at[0].begin, 0);
    if (!d || d->window != region->window || d->base != s->at[0].begin)
        return NULL;
    od_extent extent = od_datum_extent(d);
    if (od_extent_count(extent) != s->count)
        return NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        od_piece piece = od_extent_piece(extent, i);
        if (piece.begin != s->at[i].begin || piece.size != s->at[i].end - s->at[i].begin)
            return NULL;
    }
    return d;
}

static od_status add_fitting(od_engine *engine, od_parts *parts, const od_region *region, const spans *s, od_mode mode)
{
    const od_datum *known = s->count ? known_as(engine, region, s) : NULL;
    if (known)
        return use_listed(parts, known, mode) ? OD_OK : add_known(parts, known, mode);
    fitting f = {.engine = engine, .region = region, .parts = parts, .mode = mode};
    for (uint32_t i = 0; i < s->count && !f.status; i++)
        fit(&f, s->at[i].begin, s->at[i].end);
    if (!f.status)
        f.status = add_spans(parts, &f.free, mode);
    if (!f.status)
        f.status = add_spans(parts, &f.spilled, mode);
    free(f.free.at);
    free(f.spilled.at);
    return f.status;
}

/* Whole pages, cut to the array. Those at the ends of a range that it fills in part may be others', too. */
typedef struct ranges {
    spans inner, before, behind;
} ranges;

static od_status add_range(ranges *r, const od_region *region, uintptr_t begin, uintptr_t end)
{
    uintptr_t last = region->base + region->size;
    begin = begin > region->base ? begin : region->base;
    end = end < last ? end : last;
    if (begin >= end)
        return OD_OK;
    uintptr_t outer_begin = od_window_page_begin(begin), outer_end = od_window_page_end(end);
    uintptr_t inner_begin = begin == region->base ? begin : od_window_page_end(begin);
    uintptr_t inner_end = end == last ? end : od_window_page_begin(end);
    outer_begin = outer_begin > region->base ? outer_begin : region->base;
    outer_end = outer_end < last ? outer_end : last;
    if (inner_begin > inner_end)
        return add_span(&r->before, outer_begin, outer_end);
    od_status status = add_span(&r->before, outer_begin, inner_begin);
    if (!status)
        status = add_span(&r->inner, inner_begin, inner_end);
    return status ? status : add_span(&r->behind, inner_end, outer_end);
}

static od_status find_ranges(ranges *r, const od_region *region, uintptr_t name, const od_footprint *f)
{
    if (!f->count)
        return add_range(r, region, od_window_page_begin(name), od_window_page_begin(name) + od_window_page());
    od_status status = OD_OK;
    uintptr_t last = region->base + region->size;
    for (uint32_t i = 0; i < f->count && !status && name < last; i++, name += f->stride) {
        uintptr_t begin = name - region->base > f->before ? name - f->before : region->base;
        status = add_range(r, region, begin, f->length < last - name ? name + f->length : last);
    }
    return status;
}

/* The system keeps a list of ranges that are protected apart, of limited length. */
static bool are_too_many(const od_parts *parts)
{
    enum { MOST = 8192 }; /* on all devices at once, of a task on each */
    uint32_t n = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        n += parts->at[i].pieces ? parts->at[i].pieces->count : 1;
    return n > MOST / od_runtime_ndevices();
}

static od_status add_footprint(od_engine *engine, od_parts *parts, const od_reference *reference,
                               const od_parts_named *named, const od_depend *item)
{
    const od_region *region = reference->region;
    od_mode mode = item->flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
    od_footprint footprint = od_runtime_footprint(named->launch, region->window, named->argument, item->base);
    ranges r = {0};
    od_status status = find_ranges(&r, region, item->base, &footprint);
    const spans *each[] = {&r.inner, &r.before, &r.behind};
    for (int i = 0; i < 3 && !status; i++)
        status = add_fitting(engine, parts, region, each[i], mode);
    free(r.inner.at);
    free(r.before.at);
    free(r.behind.at);
    return status;
}

/* OD_EDEVICE: there are too many ranges. */
static od_status add_footprints(od_engine *engine, od_parts *parts, const od_reference *reference,
                                const od_parts_named *named)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < named->count && !status; i++)
        if (is_name(reference->region, &named->depends[i]))
            status = add_footprint(engine, parts, reference, named, &named->depends[i]);
    if (status || !are_too_many(parts))
        return status;
    od_parts_free(parts);
    return OD_EDEVICE;
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
    if (!is_whole(reference))
        return find_around(engine, args, reference, named, parts);
    bool input = may_be_input(args, reference, named);
    bool sections = names_sections(region, named->depends, named->count) &&
                    od_runtime_names_its_parts(named->launch->call.kernel, named->argument);
    od_status status = sections ? od_runtime_divide(engine, region) : OD_EDEVICE;
    if (status == OD_OK)
        return add_items(parts, region, named->depends, named->count);
    if (status == OD_EDEVICE && names_places(region, named) && od_runtime_guards_parts() &&
        is_worth_dividing(engine, args, region, input))
        status = od_runtime_divide(engine, region);
    if (status == OD_OK)
        status = add_footprints(engine, parts, reference, named);
    if (status == OD_OK)
        return OD_OK;
    if (status == OD_EDEVICE)
        status = input ? watch_input(engine, args, reference, named) : OD_OK;
    return status || !region->window ? status : find_all(engine, args, reference, named, parts);
}
