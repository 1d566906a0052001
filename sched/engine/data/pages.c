/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pages of parts that a running kernel touches without having named them. The driver brings them to the kernel at
 * once, and takes care of what running kernels do to one page (omp_ext/runtime/parts/pages.c). Meanwhile the part is
 * lent: tasks that run go on, but none begins to use it, its replicas stay, and requests wait until it is given back. A
 * running task never waits for others here, only for transfers under way, so nobody waits in a circle.
 */
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"

static bool is_settled(const od_datum *d)
{
    if (d->transfers || d->nawaiting)
        return false;
    for (od_placeset_walk at = od_placeset_begin(d->holding); od_placeset_next(&at);)
        if (d->replica[at.place].state != OD_PRESENT)
            return false;
    return true;
}

od_status od_engine_lend_part(od_engine *e, uintptr_t base, size_t size, od_datum **part)
{
    od_datum *d = od_directory_find(e->directory, base, size);
    od_status status = d ? OD_OK : od_directory_add(e->directory, base, size, &d);
    if (status)
        return status;
    if (!is_settled(d))
        return OD_EBUSY;
    od_recipe_changed(e, d);
    e->events++;
    d->lent++;
    d->pending++;
    *part = d;
    return OD_OK;
}

void od_engine_return_part(od_engine *e, od_datum *d)
{
    d->lent--;
    d->pending--;
    if (d->lent)
        return;
    od_request_advance(e, d);
    od_idle_settle(e, d);
    e->todo = od_placeset_below(e->config.ndevices);
    od_engine_proceed(e);
}

bool od_engine_write_too(od_engine *e, od_task *t, uint32_t i)
{
    od_access *a = &t->access[i];
    od_datum *d = a->datum;
    const od_replica *r = &d->replica[t->place];
    if (a->mode & OD_WRITE)
        return !d->lent;
    if (d->lent || d->bound || d->requested || !is_settled(d) || d->users != r->users || r->state != OD_PRESENT ||
        !od_datum_is_readable(d, (unsigned)t->place))
        return false;
    e->events++;
    od_rights_write_too(e, t, i);
    od_memory_drop_all(e, d, t->place);
    od_engine_proceed(e);
    return true;
}

int od_engine_part_source(const od_engine *e, const od_datum *d)
{
    if (d->writers && d->home >= 0 && d->home < OD_SPILL)
        return d->home;
    for (od_placeset_walk at = od_placeset_begin(od_engine_senders(e, d)); od_placeset_next(&at);)
        if (d->replica[at.place].state == OD_PRESENT)
            return (int)at.place;
    return od_placeset_has(d->valid, OD_SPILL) ? OD_SPILL : od_placeset_has(d->valid, OD_HOST) ? OD_HOST : OD_NOWHERE;
}

/* Inside a region the program's memory changes only where OpenMP says so. */
static void leave_program(od_engine *e, od_datum *d)
{
    od_region *region = d->region;
    if (!region || !e->config.spill)
        return;
    od_placeset others = od_placeset_without(d->valid, OD_HOST);
    if (!od_placeset_is_empty(others)) {
        d->valid = others;
        return;
    }
    if (!od_memory_make_area(e, region))
        return;
    if (!od_placeset_is_empty(d->valid))
        od_shape_copy(od_datum_shape(d), od_spill_address(region->spill, d->base), (const char *)d->base,
                       (od_stretch){0, d->size});
    d->valid = od_placeset_of(OD_SPILL);
}

od_placeset od_engine_part_holders(od_engine *e, od_datum *d)
{
    bool any =
        od_placeset_is_empty(d->valid); /* contents will do: those of a replica are as good as those of the refuge */
    leave_program(e, d);
    if (od_placeset_is_empty(d->valid))
        d->valid = od_placeset_of(OD_HOST);
    od_placeset holders = od_placeset_intersection(d->valid, od_placeset_with(od_placeset_of(OD_HOST), OD_SPILL));
    for (od_placeset_walk at = od_placeset_begin(d->holding); od_placeset_next(&at);)
        if (d->replica[at.place].state == OD_PRESENT)
            od_placeset_add(&holders, at.place);
    if (any)
        d->valid = od_placeset_union(d->valid, holders);
    return holders;
}

void od_engine_count_page(od_engine *e, unsigned k, size_t bytes)
{
    e->device[k].stats.fault_bytes += bytes;
}

void od_engine_count_fault(od_engine *e, unsigned k, const od_datum *part, uint64_t since_ns)
{
    od_event event = {.kind = OD_EVENT_FAULT, .place = (int)k, .datum = part, .since_ns = since_ns};
    event.ns = od_engine_now(e);
    e->device[k].stats.faults++;
    e->device[k].stats.fault_ns += event.ns > since_ns ? event.ns - since_ns : 0;
    if (od_is_observed(e))
        od_emit(e, event);
}

bool od_engine_take_page(od_engine *e, unsigned k, bool evicts, size_t *account)
{
    od_device *device = &e->device[k];
    while (od_pool_alloc(device->pool, od_window_page(), account))
        if (!evicts || !od_memory_make_room(e, k, NULL, od_window_page()))
            return false;
    device->page_bytes += od_pool_rounded(device->pool, od_window_page());
    od_memory_emit(e, k);
    return true;
}

void od_engine_give_page(od_engine *e, unsigned k, size_t account)
{
    od_device *device = &e->device[k];
    device->page_bytes -= od_pool_rounded(device->pool, od_window_page());
    od_pool_free(device->pool, account);
    od_memory_emit(e, k);
    od_placeset_add(&e->todo, k);
}
