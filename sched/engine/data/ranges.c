/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Data by their address: finding and making them, and requests for all that overlap a range, or that are to be
 * written back or sealed at a synchronisation point. */
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"

#include <stdlib.h>

/* --- ranges ------------------------------------------------------------- */

static bool first(od_datum *d, void *arg)
{
    *(const od_datum **)arg = d;
    return false;
}

/* Parts end where pages or the region do: kernels may touch all of a page (omp_ext/runtime/parts/pages.c). */
static void widen_to_pages(const od_region *region, uintptr_t *base, size_t *size)
{
    uintptr_t begin = od_window_page_begin(*base), end = od_window_page_end(*base + *size);
    if (!region->window)
        return;
    *base = begin > region->base ? begin : region->base;
    *size = (end - region->base < region->size ? end : region->base + region->size) - *base;
}

/* Makes data of the parts of [base, base+size) that the region's spill area remembers; if `all`, of those as well that
 * are only in the program's memory. */
static od_status materialise(od_engine *e, const od_region *region, uintptr_t base, size_t size, bool all)
{
    od_datum *added;
    od_status status = OD_OK;
    uintptr_t part;
    size_t bytes;
    widen_to_pages(region, &base, &size);
    while (!status && od_spill_first(region->spill, base, size, &part, &bytes))
        status = od_directory_add(e->directory, part, bytes, &added);
    for (uintptr_t at = base; all && !status && at < base + size;) {
        od_span known = {base + size, base + size};
        od_directory_first(e->directory, at, base + size - at, &known);
        if (known.begin > at)
            status = od_directory_add(e->directory, at, known.begin - at, &added);
        at = known.end;
    }
    return status;
}

/* Not in the program's memory, or perhaps not any more when what comes before has been done: tasks may write it, and
 * requests seal it. */
static bool is_only_elsewhere(od_datum *d, void *arg)
{
    bool *found = arg;
    *found |= (!od_placeset_is_empty(d->valid) && !od_placeset_has(d->valid, OD_HOST)) || d->pending;
    return !*found;
}

/* A range that is to be divided into other data must be in one place: the program's memory, where it all is already or
 * must go; or the spill area. */
static od_status prepare_settling(od_engine *e, uintptr_t base, size_t size, od_request_kind *kind)
{
    const od_region *region = od_directory_find_region(e->directory, base, size);
    bool spills = region && (region->gathered || od_spill_cover(region->spill, base, size) != OD_COVER_NONE);
    od_directory_visit(e->directory, base, size, is_only_elsewhere, &spills);
    if (region && spills && e->config.spill)
        return materialise(e, region, base, size, true);
    *kind = OD_REQUEST_WRITE;
    return OD_OK;
}

typedef struct collection {
    od_request *request; /* NULL while counting */
    uint32_t count;
    od_request_kind kind;
} collection;

static bool is_outside(od_request_kind kind)
{
    return kind == OD_REQUEST_OUTSIDE || kind == OD_REQUEST_READ_OUTSIDE;
}

static bool collect(od_datum *d, void *arg)
{
    collection *c = arg;
    if (is_outside(c->kind) && d->region)
        return true;
    if (c->request)
        od_request_set_item(c->request, c->count, c->kind, d);
    c->count++;
    return true;
}

od_status od_engine_range_request(od_engine *e, uintptr_t base, size_t size, od_request_kind kind, od_request **request)
{
    const od_region *region = od_directory_find_region(e->directory, base, size);
    od_status status = OD_OK;
    *request = NULL;
    if (kind == OD_REQUEST_SETTLE)
        status = prepare_settling(e, base, size, &kind);
    else if (kind == OD_REQUEST_SNAPSHOT && !(region && e->config.spill))
        return OD_OK;
    else if (kind == OD_REQUEST_SNAPSHOT)
        status = materialise(e, region, base, size, true);
    else if (region && !is_outside(kind))
        status = materialise(e, region, base, size, kind == OD_REQUEST_PUSH && e->config.spill);
    if (status)
        return status;
    collection c = {NULL, 0, kind};
    od_directory_visit(e->directory, base, size, collect, &c);
    if (!c.count)
        return OD_OK;
    c.request = od_request_create(c.count);
    if (!c.request)
        return OD_ENOMEM;
    c.count = 0;
    od_directory_visit(e->directory, base, size, collect, &c);
    *request = c.request;
    for (uint32_t i = 0; i < c.count; i++) { /* only the part inside the range */
        od_request_item *item = &c.request->items[i];
        od_stretch stretch = od_shape_overlap(od_datum_shape(item->datum), base, base + size);
        item->offset = stretch.offset;
        item->bytes = stretch.bytes;
    }
    return OD_OK;
}

/* --- synchronisation points ----------------------------------------------- */

static bool may_go_home(const od_datum *d)
{
    return !d->writers && !d->discarding;
}

/* Tasks of the program will use it; a rerun is none, and comes before the host writes. */
static bool is_awaited(const od_datum *d)
{
    return d->pending > d->requested && !d->needed && !od_datum_is_dropped(d);
}

static uint32_t add_outside(od_engine *e, od_request *r)
{
    uint32_t n = 0;
    od_list_each(node, &e->outside) {
        od_datum *d = od_container_of(node, od_datum, outside);
        if (!may_go_home(d))
            continue;
        if (r)
            od_request_set_item(r, n, is_awaited(d) ? OD_REQUEST_READ : OD_REQUEST_WRITE, d);
        n++;
    }
    return n;
}

static bool collect_unsealed(od_datum *d, void *arg)
{
    return !od_placeset_has(d->valid, OD_HOST) || collect(d, arg);
}

/* Data of all parts of the regions are there. r NULL: they are counted. */
static uint32_t add_unsealed(od_engine *e, od_request *r, uint32_t n)
{
    collection c = {r, n, OD_REQUEST_SNAPSHOT};
    od_list_each(node, &e->unsealed) {
        od_region *region = od_container_of(node, od_region, unsealed);
        od_directory_visit(e->directory, region->base, region->size, collect_unsealed, &c);
        if (r)
            region->seal = r->seal;
    }
    return c.count;
}

static od_status materialise_unsealed(od_engine *e)
{
    od_status status = OD_OK;
    od_list_each(node, &e->unsealed) {
        const od_region *region = od_container_of(node, od_region, unsealed);
        if (!status)
            status = materialise(e, region, region->base, region->size, true);
    }
    return status;
}

bool od_engine_is_settled(const od_engine *e, bool *quiet)
{
    bool settled = !e->outside.count && !e->unsealed.count;
    *quiet = settled && !e->unfinished && !e->submissions.count;
    return settled;
}

od_status od_engine_sync_request(od_engine *e, od_request **request)
{
    bool quiet;
    *request = NULL;
    if (od_engine_is_settled(e, &quiet))
        return OD_OK;
    od_status status = materialise_unsealed(e);
    uint32_t n = add_unsealed(e, NULL, add_outside(e, NULL));
    if (status || (!n && !e->unsealed.count))
        return status;
    od_request *r = od_request_create(n);
    if (!r)
        return OD_ENOMEM;
    r->seal = e->unsealed.count ? ++e->seal_seq : 0;
    add_unsealed(e, r, add_outside(e, r));
    *request = r;
    return OD_OK;
}

/* --- data --------------------------------------------------------------- */

static bool all_can_be_forgotten(od_datum *d, void *arg)
{
    bool *all = arg;
    *all = od_datum_can_be_forgotten(d);
    return *all;
}

static od_status forget_range(od_engine *e, uintptr_t base, size_t size)
{
    bool all = true;
    od_directory_visit(e->directory, base, size, all_can_be_forgotten, &all);
    if (!all)
        return OD_EFULL;
    od_status status = OD_OK;
    for (const od_datum *d = NULL; !status; d = NULL) {
        od_directory_visit(e->directory, base, size, first, &d);
        if (!d)
            break;
        status = od_idle_forget(e, (od_datum *)(uintptr_t)d);
    }
    return status;
}

/* A datum may begin where the contents are all in one place. */
static bool is_divided(od_engine *e, od_shape shape)
{
    const od_region *region =
        od_directory_find_region(e->directory, shape.base, od_shape_piece(shape, 0).size);
    bool any = false, all = true;
    for (uint32_t i = 0, n = od_shape_count(shape); region && i < n; i++) {
        od_piece piece = od_shape_piece(shape, i);
        od_cover cover = od_spill_cover(region->spill, piece.begin, piece.size);
        any |= cover != OD_COVER_NONE;
        all &= cover == OD_COVER_WHOLE;
    }
    return any && !all;
}

static od_status forget_shape(od_engine *e, od_shape shape)
{
    od_status status = OD_OK;
    for (uint32_t i = 0, n = od_shape_count(shape); i < n && !status; i++) {
        od_piece piece = od_shape_piece(shape, i);
        status = forget_range(e, piece.begin, piece.size);
    }
    return status;
}

/* A construct is given the datum. */
static void give(od_datum *d)
{
    d->pending++;
    if (d->region)
        d->region->uses++;
}

static void begin(od_engine *e, od_datum *d)
{
    d->forecast = od_forecast_get(e->forecast, d->base);
    d->untrusted = !d->region && od_idle_doubts(e, d->base);
}

/* Its place is free of others. OD_EFULL: not yet. */
static od_status make_place(od_engine *e, od_shape shape)
{
    od_status status = forget_shape(e, shape);
    if (!status && is_divided(e, shape))
        status = OD_EFULL;
    if (!status)
        od_idle_make_place(e);
    return status;
}

/* On no device, and nobody else holds it: requests make one datum of all that no task has used. */
static bool is_for_requests_alone(const od_datum *d)
{
    return d->region && d->nreplicas == 0 && d->requested && d->pending == d->requested;
}

od_status od_engine_datum(od_engine *e, uintptr_t base, size_t size, od_datum **datum)
{
    *datum = od_directory_find(e->directory, base, size);
    if (*datum && (*datum)->window != ((*datum)->region ? (*datum)->region->window : NULL))
        *datum = NULL; /* it was made before the region was in parts, or while it was, or of one that is closed */
    if (*datum && (*datum)->size != size && (*datum)->nreplicas == 0 && od_datum_can_be_forgotten(*datum))
        *datum = NULL; /* a larger one that is on no device makes place, */
    if (*datum && (*datum)->size != size && is_for_requests_alone(*datum))
        return OD_EFULL; /* or will */
    /* Outside regions the rest of a larger datum belongs to the host meanwhile: it must not be written back. */
    if (!*datum || ((*datum)->size != size && !(*datum)->region)) {
        od_status status = make_place(e, (od_shape){base, size, NULL});
        if (!status)
            status = od_directory_add(e->directory, base, size, datum);
        if (status)
            return status;
        begin(e, *datum);
    } else {
        (*datum)->used = true;
    }
    give(*datum);
    return OD_OK;
}

od_status od_engine_part(od_engine *e, od_pieces *pieces, od_datum **datum)
{
    od_datum *d = od_directory_find(e->directory, pieces->at[0].begin, 0);
    od_status status = OD_OK;
    if (d && d->region && d->window == d->region->window && od_pieces_are_equal(d->pieces, pieces)) {
        free(pieces);
        d->used = true;
    } else {
        status = make_place(e, (od_shape){pieces->at[0].begin, pieces->size, pieces});
        if (!status)
            status = od_directory_add_pieces(e->directory, pieces, &d);
        if (status) {
            free(pieces);
            return status;
        }
        begin(e, d);
    }
    give(d);
    *datum = d;
    return OD_OK;
}

bool od_engine_can_forget(const od_datum *d)
{
    return od_datum_can_be_forgotten(d);
}

void od_engine_release(od_engine *e, od_datum *d)
{
    d->pending--;
    od_idle_settle(e, d);
}

od_status od_engine_begin_with(od_engine *e, od_datum *d, unsigned k)
{
    return od_memory_take(e, k, d, NULL) ? OD_OK : OD_EFULL;
}

void od_engine_begin_loading(od_engine *e, od_datum *d, unsigned k)
{
    bool somewhere = !od_placeset_is_empty(d->valid);
    if (somewhere && d->replica[k].state == OD_PRESENT && !od_datum_is_readable(d, k))
        od_memory_load(e, d, k, true);
}

uint32_t od_engine_residents(const od_engine *e, unsigned k, od_datum **data, uint32_t most)
{
    uint32_t count = 0;
    od_list_each(it, &e->device[k].resident) {
        const od_replica *r = od_container_of(it, od_replica, lru);
        if (r->state != OD_LEAVING && count++ < most)
            data[count - 1] = r->datum;
    }
    return count;
}

static bool is_not_for_reruns(od_datum *d, void *arg)
{
    bool *none = arg;
    return *none &= !od_datum_is_dropped(d) && !d->needed;
}

static bool end_recipes(od_datum *d, void *arg)
{
    od_recipe_changed(arg, d);
    return true;
}

/* True where contents have to be made again before kernels may touch all of the region. From then on none are. */
static bool made_again(od_engine *e, const od_region *region)
{
    bool none = true;
    od_directory_visit(e->directory, region->base, region->size, is_not_for_reruns, &none);
    if (none)
        od_directory_visit(e->directory, region->base, region->size, end_recipes, e);
    return !none;
}

od_status od_engine_divide(od_engine *e, od_region *region, od_window *window, bool alone)
{
    od_status status = alone ? forget_range(e, region->base, region->size) : OD_OK;
    if (!status && (made_again(e, region) || (alone && is_divided(e, (od_shape){region->base, region->size, NULL}))))
        status = OD_EFULL;
    if (status)
        return status;
    e->events++;
    od_window_release(region->window);
    region->window = window;
    return OD_OK;
}

od_status od_engine_gather(od_engine *e, od_region *region)
{
    if (!e->config.spill)
        return OD_EDEVICE;
    region->gathered = true;
    od_status status = forget_range(e, region->base, region->size);
    if (!status && made_again(e, region))
        status = OD_EFULL;
    if (status)
        return status;
    if (!od_memory_make_area(e, region))
        return OD_EDEVICE;
    if (region->undefined) /* what is nowhere is anything */
        return od_spill_keep(region->spill, region->base, region->size);
    return od_spill_cover(region->spill, region->base, region->size) == OD_COVER_WHOLE ? OD_OK : OD_EFULL;
}

/* For writing, too, or for reading alone. */
static bool is_shown(const od_datum *d)
{
    bool shown = d->bound > 0;
    od_placeset_walk at = od_placeset_begin(d->holding);
    while (!shown && od_placeset_next(&at))
        shown = d->replica[at.place].kept > 0;
    return shown;
}

static bool look_if_shown(od_datum *d, void *arg)
{
    bool *shown = arg;
    *shown = is_shown(d);
    return !*shown;
}

bool od_engine_range_is_bound(od_engine *e, uintptr_t base, size_t size)
{
    bool shown = false;
    od_directory_visit(e->directory, base, size, look_if_shown, &shown);
    return shown;
}
