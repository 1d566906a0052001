/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See by_name.h. */
#include "omp_ext/maps/parts/by_name.h"

#include "memmgr/data/spill.h"
#include "omp_ext/runtime/runtime.h"
#include "util/container/array.h"

#include <stdlib.h>

static bool is_name(const od_region *region, const od_depend *item)
{
    return od_parts_lie_in(region, item) && item->length < od_window_page();
}

static bool are_close(uintptr_t a, uintptr_t b)
{
    enum { MOST_TILES = 16 }; /* in a page */
    size_t apart = a > b ? a - b : b - a;
    return apart && apart < od_window_page() / MOST_TILES;
}

/* Pages of very many tiles would be on their way from device to device all the time. Tasks that follow each other
 * mostly name tiles that do. */
static bool is_crowded(od_region *region, const od_parts_named *named)
{
    for (int32_t i = 0; i < named->count && !region->crowded; i++) {
        if (!is_name(region, &named->depends[i]))
            continue;
        region->crowded = region->named && are_close(region->named, named->depends[i].base);
        region->named = named->depends[i].base;
        region->named_inside |= region->named != region->base;
    }
    return region->crowded;
}

bool od_parts_are_named(od_region *region, const od_parts_named *named)
{
    bool any = false;
    for (int32_t i = 0; i < named->count; i++) {
        if ((named->depends[i].flags & OD_DEPEND_ALL_MEMORY) ||
            (od_parts_lie_in(region, &named->depends[i]) && !is_name(region, &named->depends[i])))
            return false;
        any |= is_name(region, &named->depends[i]);
    }
    return any && !is_crowded(region, named);
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

/* What is known of the array already in parts that others use, or that are on devices, stays as it is, and so do the
 * parts that the task has named before; the rest makes a new part, or two where some is in the spill area, and some in
 * the program's memory. */
typedef struct fitting {
    od_engine *engine;
    const od_region *region;
    od_parts *parts;
    od_mode mode;
    spans free, spilled;
    od_status status;
} fitting;

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

static bool list_what_stays(od_datum *d, void *arg)
{
    fitting *f = arg;
    bool stays = d->window == f->region->window && !od_engine_can_forget(d);
    if (stays && !use_listed(f->parts, d, f->mode))
        f->status = od_parts_add_known(f->parts, d, f->mode);
    return !f->status;
}

/* The first range of a part that is listed; empty, at the end: there is none. */
static od_span use_first_listed(fitting *f, uintptr_t begin, uintptr_t end)
{
    od_span found = {end, end}, own;
    od_part *part = NULL;
    for (uint32_t i = 0; i < f->parts->count; i++)
        if (od_shape_first(od_part_shape(&f->parts->at[i]), begin, end, &own) && own.begin < found.begin) {
            found = own;
            part = &f->parts->at[i];
        }
    if (part)
        part->mode |= f->mode;
    return found;
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

static void fit(fitting *f, uintptr_t begin, uintptr_t end)
{
    od_directory_visit(od_engine_directory(f->engine), begin, end - begin, list_what_stays, f);
    while (begin < end && !f->status) {
        od_span listed = use_first_listed(f, begin, end);
        f->status = add_free(f, begin, listed.begin);
        begin = listed.end;
    }
}

/* One datum has just these bytes: the usual case. */
static const od_datum *known_as(od_engine *engine, const od_region *region, const spans *s)
{
    const od_datum *d = od_directory_find(od_engine_directory(engine), s->at[0].begin, 0);
    if (!d || d->window != region->window || d->base != s->at[0].begin)
        return NULL;
    od_shape shape = od_datum_shape(d);
    if (od_shape_count(shape) != s->count)
        return NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        od_piece piece = od_shape_piece(shape, i);
        if (piece.begin != s->at[i].begin || piece.size != s->at[i].end - s->at[i].begin)
            return NULL;
    }
    return d;
}

static od_status add_fitting(od_engine *engine, od_parts *parts, const od_region *region, const spans *s, od_mode mode)
{
    const od_datum *known = s->count ? known_as(engine, region, s) : NULL;
    if (known)
        return use_listed(parts, known, mode) ? OD_OK : od_parts_add_known(parts, known, mode);
    fitting f = {.engine = engine, .region = region, .parts = parts, .mode = mode};
    for (uint32_t i = 0; i < s->count && !f.status; i++)
        fit(&f, s->at[i].begin, s->at[i].end);
    if (!f.status)
        f.status = od_parts_add_spans(parts, f.free.at, f.free.count, mode);
    if (!f.status)
        f.status = od_parts_add_spans(parts, f.spilled.at, f.spilled.count, mode);
    free(f.free.at);
    free(f.spilled.at);
    return f.status;
}

/* Whole pages, cut to the array. Those at the ends of a range that it fills in part may be others', too. */
typedef struct ranges {
    spans inner, before, behind;
    uintptr_t end; /* of what is in one of them */
} ranges;

static od_status add_next(ranges *r, spans *to, uintptr_t begin, uintptr_t end)
{
    begin = begin > r->end ? begin : r->end;
    if (begin >= end)
        return OD_OK;
    r->end = end;
    return add_span(to, begin, end);
}

/* Each begins behind the one before. */
static od_status add_range(ranges *r, const od_region *region, uintptr_t begin, uintptr_t end)
{
    uintptr_t last = region->base + region->size;
    if (begin >= end)
        return OD_OK;
    uintptr_t outer_begin = od_window_page_begin(begin), outer_end = od_window_page_end(end);
    uintptr_t inner_begin = begin == region->base ? begin : od_window_page_end(begin);
    uintptr_t inner_end = end == last ? end : od_window_page_begin(end);
    outer_begin = outer_begin > region->base ? outer_begin : region->base;
    outer_end = outer_end < last ? outer_end : last;
    if (inner_begin > inner_end)
        return add_next(r, &r->before, outer_begin, outer_end);
    od_status status = add_next(r, &r->before, outer_begin, inner_begin);
    if (!status)
        status = add_next(r, &r->inner, inner_begin, inner_end);
    return status ? status : add_next(r, &r->behind, inner_end, outer_end);
}

static od_status find_ranges(ranges *r, const od_region *region, uintptr_t name, const od_strides *f)
{
    uintptr_t last = region->base + region->size;
    if (!f->count)
        return add_range(r, region, name, last - name > od_window_page() ? od_window_page_end(name + 1) : last);
    od_status status = OD_OK;
    for (uint32_t i = 0; i < f->count && !status && name < last; i++, name += f->stride) {
        uintptr_t begin = name - region->base > f->before ? name - f->before : region->base;
        status = add_range(r, region, begin, f->length < last - name ? name + f->length : last);
    }
    return status;
}

/* The system keeps a list of ranges that are protected apart, of limited length. */
static bool are_too_many(const od_parts *parts)
{
    enum { MOST = 16384 }; /* on all devices at once, of a task on each: a quarter of it, as there are gaps, too */
    uint32_t n = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        n += parts->at[i].pieces ? parts->at[i].pieces->count : 1;
    return n > MOST / od_runtime_ndevices();
}

static od_status add_named(od_engine *engine, od_parts *parts, const od_reference *reference,
                           const od_parts_named *named, const od_depend *item)
{
    const od_region *region = reference->region;
    od_mode mode = item->flags == OD_DEPEND_IN ? OD_READ : OD_READ_WRITE;
    od_strides strides = od_runtime_strides(named->launch, region->window, named->argument, item->base);
    ranges r = {0};
    od_status status = find_ranges(&r, region, item->base, &strides);
    const spans *each[] = {&r.inner, &r.before, &r.behind};
    for (int i = 0; i < 3 && !status; i++)
        status = add_fitting(engine, parts, region, each[i], mode);
    free(r.inner.at);
    free(r.before.at);
    free(r.behind.at);
    return status;
}

od_status od_parts_by_name(od_engine *engine, od_parts *parts, const od_reference *reference,
                           const od_parts_named *named)
{
    od_status status = OD_OK;
    for (int32_t i = 0; i < named->count && !status; i++)
        if (is_name(reference->region, &named->depends[i]))
            status = add_named(engine, parts, reference, named, &named->depends[i]);
    if (status || !are_too_many(parts))
        return status;
    od_parts_free(parts);
    return OD_EDEVICE;
}
