/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Regions of the virtual device: entering and leaving sections. */
#include "sched/engine/internal.h"

static bool in_region(od_datum *d, void *arg)
{
    od_outside_update(arg, d);
    d->keep |= d->region != NULL;
    return true;
}

typedef struct straddling {
    uintptr_t base, end;
    od_datum *found;
} straddling;

static bool is_stale_on_host(const od_datum *d)
{
    return !od_placeset_is_empty(d->valid) && !od_placeset_has(d->valid, OD_HOST);
}

static bool find_straddling(od_datum *d, void *arg)
{
    straddling *s = arg;
    if (d->base < s->base || od_shape_end(od_datum_shape(d)) > s->end || is_stale_on_host(d) || d->discarding)
        s->found = d;
    return !s->found;
}

/* Data that lie only partly in a new region, left from earlier constructs, would keep its rules from them; and what is
 * not written back when it opens would be lost if it closed with `release`. */
static od_status forget_straddling(od_engine *e, uintptr_t base, size_t size)
{
    straddling s = {base, base + size, NULL};
    for (;;) {
        s.found = NULL;
        od_directory_visit(e->directory, base, size, find_straddling, &s);
        if (!s.found)
            return OD_OK;
        if (!od_datum_can_be_forgotten(s.found))
            return OD_EFULL;
        od_status status = od_idle_forget(e, s.found);
        if (status)
            return status;
    }
}

static od_status open_new(od_engine *e, const od_section *s, bool undefined, od_region **region)
{
    od_status status = forget_straddling(e, s->begin, s->size);
    if (!status)
        status = od_directory_open(e->directory, &(od_mapping){s->begin, s->size, s->origin}, undefined, region);
    if (!status)
        od_directory_visit(e->directory, s->begin, s->size, in_region, e);
    if (!status)
        od_admit_opened(e, s->begin, s->size, undefined);
    return status;
}

static uint32_t *count_of(od_region *region, bool hold)
{
    return hold ? &region->holds : &region->references;
}

static bool is_blocked_by_kernels(const od_engine *e, const od_section *section)
{
    od_region *region;
    od_directory_refer(e->directory, section->begin, section->size, &region);
    return region && od_region_is_of_kernels(region);
}

od_status od_engine_region_open(od_engine *e, const od_section *section, bool undefined)
{
    od_region *region;
    od_status status = OD_OK;
    od_verdict verdict = od_directory_judge(e->directory, OD_NAMING_ENTER, section, &region);
    if (verdict == OD_VERDICT_REFUSE)
        return is_blocked_by_kernels(e, section) ? OD_EFULL : OD_EINVAL;
    if (verdict == OD_VERDICT_MAKE)
        status = open_new(e, section, undefined, &region);
    if (!status && verdict != OD_VERDICT_NOTHING)
        ++*count_of(region, section->hold);
    return status;
}

/* What happens to a datum when its region closes: the part that is copied out, the rest is discarded. */
static void close_item(od_request *r, uint32_t *n, const od_request_item *seen, bool copy_out)
{
    const od_datum *d = seen->datum;
    bool whole = seen->bytes == d->size;
    r->items[*n] = *seen;
    r->items[*n].kind = !copy_out ? OD_REQUEST_DISCARD : whole ? OD_REQUEST_WRITE : OD_REQUEST_PULL;
    (*n)++;
    if (copy_out && !whole)
        od_request_set_item(r, (*n)++, OD_REQUEST_DISCARD, seen->datum);
}

static od_status close_request(od_engine *e, const od_region *region, uintptr_t base, size_t size, bool copy_out,
                               od_request **request)
{
    od_request *all;
    od_status status = od_engine_range_request(e, region->base, region->size, OD_REQUEST_DISCARD, &all);
    *request = NULL;
    if (status || !all)
        return status;
    od_request *r = od_request_create(2 * all->nitems);
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->nitems; i++) {
        od_request_item *item = &all->items[i];
        od_stretch stretch = od_shape_overlap(od_datum_shape(item->datum), base, base + size);
        if (!r || item->datum->region != region) {
            item->datum->pending--;
        } else if (stretch.bytes) {
            item->offset = stretch.offset;
            item->bytes = stretch.bytes;
            close_item(r, &n, item, copy_out);
        } else {
            close_item(r, &n, item, false);
        }
    }
    od_request_destroy(all);
    if (!r)
        return OD_ENOMEM;
    r->nitems = n;
    *request = r;
    return OD_OK;
}

/* Contents that something will be made from first, or of which a part will be copied out first, may go to the spill
 * area even when the region has closed. */
static bool keep_evictable(od_datum *d, void *arg)
{
    od_engine *e = arg;
    if (d->region && (d->needed || (d->pending > 1 && e->config.spill)))
        od_memory_make_area(e, d->region);
    return true;
}

static od_status close_now(od_engine *e, od_region *region, const od_section *s, bool copy_out, od_request **request)
{
    od_status status = close_request(e, region, s->begin, s->size, copy_out, request);
    if (status)
        return status;
    od_directory_visit(e->directory, region->base, region->size, keep_evictable, e);
    od_memory_release_spill(e, region->spill, region->base, region->size);
    od_seal_forget(e, region);
    od_admit_closed(e, region);
    od_directory_close(e->directory, region);
    for (uint32_t i = 0; *request && i < (*request)->nitems; i++) {
        od_datum *d = (*request)->items[i].datum;
        d->discarding |= (*request)->items[i].kind == OD_REQUEST_DISCARD && !d->needed;
        od_outside_update(e, d);
    }
    return OD_OK;
}

bool od_engine_keep_bound(od_engine *e, const od_datum *d)
{
    od_region *region = d->region;
    const od_pool *pool = e->device[d->home].pool;
    /* what finds no room runs in host memory, for which GPUs have to copy it */
    bool has_room = e->config.in_process || od_pool_used(pool) <= od_pool_capacity(pool) / 2;
    bool keeps = region && !region->shown && d->base == region->base && d->size == region->size && has_room;
    if (keeps)
        region->shown = 1;
    return keeps;
}

/* The program was shown the region's address: to the end of the region. */
static void unbind_shown(od_engine *e, od_region *region)
{
    for (; region->shown; region->shown--)
        od_engine_unbind(e, od_directory_find(e->directory, region->base, region->size), true);
}

od_status od_engine_region_close(od_engine *e, const od_section *section, bool copy_out, bool all, od_request **request)
{
    od_region *region;
    *request = NULL;
    if (od_directory_judge(e->directory, OD_NAMING_LEAVE, section, &region) != OD_VERDICT_USE)
        return OD_OK; /* not present: OpenMP says that nothing happens */
    uint32_t *count = count_of(region, section->hold);
    if (!od_presence_give_back(count, *count_of(region, !section->hold), all))
        return OD_OK;
    unbind_shown(e, region);
    od_status status = close_now(e, region, section, copy_out, request);
    if (status)
        ++*count;
    else if (!*request) /* otherwise after that: what the guard holds may go on where nothing of the region is left */
        od_engine_construct_done(e, OD_BANKER_NO_STEP);
    return status;
}
