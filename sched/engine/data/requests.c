/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Requests: what the host asks for, one item per datum.
 *
 * The items of a datum form a queue, served first come, first served; od_request_advance() takes the first one as far
 * as it can go now and is called whenever something about the datum has changed. Items wait for tasks that write the
 * datum, but for updates of a part of it, and never for tasks that have not committed: those were made ready after, or
 * beside, whoever asks, and OpenMP's dependences order the rest. Where such ones never end it has a turn of its own.
 */
#include "memmgr/data/attach.h"
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <stdlib.h>

/* --- items -------------------------------------------------------------- */

/* Something has been moved for it, or is on its way. */
static bool has_begun(const od_request_item *item)
{
    return item->started || !od_placeset_is_empty(item->written);
}

/* An update of a part of a region's datum: kernels beside it use other bytes, in a replica that has all of it. */
static bool is_beside_kernels(const od_engine *e, const od_request_item *item)
{
    const od_datum *d = item->datum;
    bool is_update = item->kind == OD_REQUEST_PUSH || item->kind == OD_REQUEST_PULL;
    bool has_contents = d->home == OD_NOWHERE || od_placeset_has(d->valid, d->home);
    return is_update && e->config.spill && d->region && item->bytes < d->size && has_contents;
}

/* True while tasks on devices use what it concerns and the asker is none of them. */
static bool in_use(const od_engine *e, const od_request_item *item)
{
    const od_datum *d = item->datum;
    return d->users > d->host_users && !d->bound && !item->request->inside && !is_beside_kernels(e, item);
}

static bool being_written(const od_engine *e, const od_request_item *item)
{
    const od_datum *d = item->datum;
    return d->writers && d->home != OD_HOST && !item->request->inside && !has_begun(item) &&
           !is_beside_kernels(e, item);
}

/* Only the program's memory holds it from now on. */
static void leave_to_host(od_engine *e, od_datum *d)
{
    od_memory_drop_all(e, d, OD_NOWHERE);
    od_memory_release_host(e, d);
    d->valid = od_placeset_of(OD_HOST);
    od_outside_update(e, d);
    od_seal_undo(e, d);
}

/* Drops every replica; one whose address the program holds is loaded anew instead. False: under way. */
static bool renew(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (d->users > d->host_users && d->home == OD_NOWHERE) /* the asker itself reads it: that copy stays as it is */
        return true;
    if ((!d->bound && d->users == d->host_users) || d->home == OD_HOST) {
        leave_to_host(e, d);
        return true;
    }
    if (item->moved) { /* through an address that was shown for writing, the program may write at any moment */
        if (d->bound && !od_placeset_has(d->valid, OD_HOST))
            d->valid = od_placeset_of(d->home);
        else
            d->valid = od_placeset_with(od_placeset_of(d->home), OD_HOST);
        od_seal_undo(e, d);
        return true;
    }
    if (!item->started) {
        item->started = true;
        item->place = d->home;
        od_memory_drop_all(e, d, d->home);
        od_transfer_start(e, &(od_transfer){.datum = d,
                                             .kind = OD_UPDATE,
                                             .from = OD_HOST,
                                             .to = d->home,
                                             .bytes = d->size,
                                             .demanded = true,
                                             .item = item});
    }
    return false;
}

static bool serve_write(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (!od_memory_store(e, d) || d->transfers || in_use(e, item))
        return false;
    if (d->bound || d->users > d->host_users) /* pinned: loaded anew when the host has written */
        return true;
    leave_to_host(e, d);
    return true;
}

/* A place other than the program's memory that holds the current contents; every transfer has ended. */
static int holder(const od_datum *d)
{
    od_placeset devices = od_placeset_devices(d->valid);
    return od_placeset_is_empty(devices) ? OD_SPILL : (int)od_placeset_first(devices);
}

static bool move_part(od_engine *e, od_request_item *item, int from, int to)
{
    if (!item->started) {
        item->started = true;
        od_transfer_start(e, &(od_transfer){.datum = item->datum,
                                             .kind = OD_UPDATE,
                                             .from = from,
                                             .to = to,
                                             .offset = item->offset,
                                             .bytes = item->bytes,
                                             .demanded = true,
                                             .item = item});
    }
    return item->moved;
}

static bool is_at_home_on_device(const od_engine *e, const od_datum *d)
{
    return d->home >= 0 && d->home < OD_SPILL && !od_device_is_lost(e, d->home);
}

/* The copy that counts: that of a writer or of addresses that the program holds, or any that is current. */
static int counting(const od_engine *e, const od_datum *d)
{
    return is_at_home_on_device(e, d) ? d->home : holder(d);
}

/* Into which copy the part goes next: the one that counts, then those that tasks read. OD_NOWHERE: into no more. */
static int next_copy(const od_engine *e, const od_datum *d, od_placeset written)
{
    if (od_placeset_is_empty(written))
        return counting(e, d);
    od_placeset others = od_placeset_minus(od_placeset_minus(d->holding, written), e->lost);
    for (od_placeset_walk at = od_placeset_begin(others); od_placeset_next(&at);) {
        const od_replica *r = &d->replica[at.place];
        if (r->pins && (!r->kept || od_placeset_has(d->valid, at.place)))
            return (int)at.place;
    }
    bool spilled = od_placeset_has(d->valid, OD_SPILL) && !od_placeset_has(written, OD_SPILL);
    return d->host_users && spilled ? OD_SPILL : OD_NOWHERE;
}

/*
 * From the program's memory into the copies that tasks read just now (tasks beside the asker use other parts of them),
 * or into one; all others are dropped. Meanwhile nobody begins to use the datum: what would be loaded for it might lack
 * the part. False: under way.
 */
static bool write_into_copies(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    int place = OD_NOWHERE;
    d->updating = true;
    do {
        if (item->moved) {
            od_placeset_add(&item->written, item->place);
            item->started = item->moved = false;
        }
        if (d->transfers)
            return false;
        item->written = od_placeset_minus(item->written, e->lost);
        place = next_copy(e, d, item->written);
        item->place = place;
    } while (place != OD_NOWHERE && move_part(e, item, OD_HOST, place));
    if (place != OD_NOWHERE)
        return false;
    od_placeset others = od_placeset_minus(od_placeset_minus(d->holding, item->written), e->lost);
    for (od_placeset_walk at = od_placeset_begin(others); od_placeset_next(&at);)
        od_memory_drop(e, d, at.place);
    d->valid = item->written;
    d->updating = false;
    e->todo = od_placeset_below(e->config.ndevices); /* who has waited for it, or for its memory */
    return true;
}

/* A task that asks while it runs has written to its copy, though the others count until it ends. */
static bool counts_at_writer(const od_engine *e, const od_datum *d)
{
    return d->writers && is_at_home_on_device(e, d) && od_placeset_has(d->valid, d->home);
}

static bool serve_pull(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (item->started)
        return item->moved;
    bool at_writer = counts_at_writer(e, d);
    if (od_placeset_is_empty(d->valid) || (!at_writer && od_placeset_has(d->valid, OD_HOST)))
        return true;
    if (d->transfers)
        return false;
    return move_part(e, item,
                     at_writer                             ? d->home
                     : od_placeset_has(d->valid, OD_SPILL) ? OD_SPILL
                                                           : holder(d),
                     OD_HOST);
}

/* The host writes to it just now in the program's memory, or the asker itself reads it: that copy stays as it is. */
static bool keeps_its_copy(const od_request_item *item)
{
    const od_datum *d = item->datum;
    bool whole = item->offset == 0 && item->bytes == d->size;
    return d->exclusive || (whole && d->users > d->host_users && d->home == OD_NOWHERE);
}

/* Inside a region: to where the contents are, so that what the host writes next is not seen. What only the program's
 * memory holds is there as a whole. */
static bool push_into_region(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    bool elsewhere = !od_placeset_is_empty(od_placeset_without(d->valid, OD_HOST));
    if (d->updating)
        return write_into_copies(e, item);
    if (!item->started && (d->transfers || in_use(e, item)))
        return false;
    if (!item->started && keeps_its_copy(item))
        return true;
    if (!item->started && !elsewhere && !od_memory_spill(e, d))
        return false;
    if (od_placeset_is_empty(od_placeset_without(d->valid, OD_HOST))) /* there is no spill area */
        return renew(e, item);
    return write_into_copies(e, item);
}

static bool serve_push(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    bool whole = item->offset == 0 && item->bytes == d->size;
    if (e->config.spill && d->region)
        return push_into_region(e, item);
    if (d->updating)
        return write_into_copies(e, item);
    if (!item->started && (d->transfers || in_use(e, item)))
        return false;
    bool in_program = od_placeset_has(d->valid, OD_HOST);
    if (!item->started && (whole || od_placeset_is_empty(d->valid) || in_program))
        return renew(e, item);
    if (item->started && d->bound && (whole || in_program))
        return renew(e, item);
    return write_into_copies(e, item);
}

/* A host task's request is this one, or comes behind it: that task has not begun. */
static bool precedes_task(const od_request_item *item)
{
    while (item && !item->request->task)
        item = item->next;
    return item;
}

static bool serve_settle(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (d->exclusive && !precedes_task(item)) /* a copy of what is just being written would be none */
        return false;
    if (od_placeset_is_empty(d->valid) &&
        in_use(e, item)) /* undefined contents in the spill area would be none on a device */
        return false;
    if (!od_memory_spill(e, d) || d->transfers || in_use(e, item))
        return false;
    if (!d->bound && d->users == d->host_users)
        od_memory_drop_all(e, d, OD_NOWHERE);
    return true;
}

/* OD_REQUEST_SNAPSHOT, see seal.c. */
static bool serve_snapshot(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (!od_placeset_has(d->valid, OD_HOST) || !d->region)
        return true;
    if (!od_placeset_is_only(d->valid, OD_HOST)) { /* loads of it may be under way */
        if (d->transfers)
            return false;
        od_placeset_remove(&d->valid, OD_HOST);
        return true;
    }
    if (d->writers && !precedes_task(item)) /* it is about to count elsewhere, or a host version writes it just now */
        return item->request->inside;
    if (!od_memory_spill(e, d) || d->transfers)
        return false;
    if (od_placeset_has(d->valid, OD_SPILL))
        od_placeset_remove(&d->valid, OD_HOST);
    return true;
}

/* What is in the datum, or in which data it is, will be something else. */
static bool changes(od_request_kind kind)
{
    return kind == OD_REQUEST_WRITE || kind == OD_REQUEST_OUTSIDE || kind == OD_REQUEST_DISCARD ||
           kind == OD_REQUEST_PUSH || kind == OD_REQUEST_SETTLE;
}

/* Contents that have been dropped must be made again before: its own, or what has been made from it. */
static bool waits_for_rerun(od_engine *e, const od_request_item *item)
{
    od_datum *d = item->datum;
    if (!od_datum_is_dropped(d))
        return changes(item->kind) && od_recipe_secures(e, d);
    if (item->kind == OD_REQUEST_SNAPSHOT)
        return false;
    if (item->kind != OD_REQUEST_DISCARD)
        od_recipe_want(e, d, OD_NOWHERE);
    return d->recipe->wanted;
}

/* True once the item has been served. */
static bool serve(od_engine *e, od_request_item *item)
{
    if (item->datum->lent || (item->kind != OD_REQUEST_SNAPSHOT && being_written(e, item)) || waits_for_rerun(e, item))
        return false;
    if (changes(item->kind))
        od_recipe_changed(e, item->datum);
    switch (item->kind) {
    case OD_REQUEST_READ:
    case OD_REQUEST_READ_OUTSIDE:
        return od_memory_store(e, item->datum);
    case OD_REQUEST_WRITE:
    case OD_REQUEST_OUTSIDE:
        return serve_write(e, item);
    case OD_REQUEST_PULL:
        return serve_pull(e, item);
    case OD_REQUEST_PUSH:
        return serve_push(e, item);
    case OD_REQUEST_SNAPSHOT:
        return serve_snapshot(e, item);
    case OD_REQUEST_SETTLE:
        return serve_settle(e, item);
    case OD_REQUEST_DISCARD:
        if (item->started != item->moved || item->datum->transfers || in_use(e, item) || !renew(e, item))
            return false;
        item->datum->discarding = false;
        return true;
    }
    return true;
}

static void complete_request(od_engine *e, od_request *request)
{
    e->requests--;
    if (request->seal)
        od_seal_done(e, request->seal);
    if (request->task) {
        od_list_push_back(&e->host_ready, &request->task->link);
        od_request_destroy(request);
    } else {
        e->config.driver_ops->complete_request(e->config.driver, request);
    }
}

/* Its region has closed and its contents are the program's: neither the spill area is needed any more, nor what the
 * region's pointers led to. */
static void leave_region(od_engine *e, od_datum *d)
{
    if (d->needed)
        return;
    if (!d->region && !d->transfers && !d->items && !d->discarding && od_placeset_has(d->valid, OD_HOST)) {
        od_attachments_release(d->attachments);
        d->attachments = NULL;
    }
    if (!d->spill || d->region || d->transfers || od_placeset_has(d->valid, OD_SPILL))
        return;
    od_memory_release_spill(e, d->spill, d->base, d->size);
    od_spill_release(d->spill);
    d->spill = NULL;
}

void od_request_advance(od_engine *e, od_datum *d)
{
    od_request_item *item;
    while ((item = d->items) && serve(e, item)) {
        d->items = item->next;
        d->pending--;
        d->requested--;
        od_request *request = item->request;
        leave_region(e, d);
        if (--request->pending == 0)
            complete_request(e, request);
    }
}

static const uint64_t patience_ns = UINT64_C(200000000);
static const uint64_t first_turn_ns = UINT64_C(1000000000), between_ns = UINT64_C(700000000);

void od_request_note_left(od_datum *d, uint32_t commit)
{
    for (od_request_item *item = d->items; item; item = item->next)
        item->before -= (int32_t)(commit - item->commits) <= 0; /* however often it has wrapped around */
}

bool od_request_has_turn(const od_engine *e, const od_datum *d)
{
    const od_request_item *item = d->items;
    if (!item || item->request->inside || item->before)
        return false;
    uint64_t waited_ns = od_engine_now(e) - item->since_ns, turn_ns = first_turn_ns;
    if (waited_ns < patience_ns)
        return false;
    waited_ns -= patience_ns;
    for (; waited_ns >= turn_ns + between_ns; turn_ns *= 2)
        waited_ns -= turn_ns + between_ns;
    return waited_ns < turn_ns;
}

/* --- requests ----------------------------------------------------------- */

od_request *od_request_create(uint32_t nitems)
{
    od_request *request = od_calloc(1, sizeof *request + nitems * sizeof(od_request_item));
    if (request)
        request->nitems = nitems;
    return request;
}

void od_request_destroy(od_request *request)
{
    free(request);
}

/* Those of running tasks come before what may wait for these tasks; all that waits is unordered with them. */
static void enqueue(od_engine *e, od_request *request, od_request_item *item)
{
    od_datum *d = item->datum;
    od_request_item **place = d->items ? &d->last_item->next : &d->items;
    if (request->inside)
        for (place = &d->items; *place && (has_begun(*place) || (*place)->request->inside);)
            place = &(*place)->next;
    item->request = request;
    item->since_ns = od_engine_now(e);
    item->commits = d->commits;
    item->before = d->users;
    item->next = *place;
    d->requested++;
    *place = item;
    if (!item->next)
        d->last_item = item;
}

/* What kernels of the program's own have written through an address that it holds is nowhere else. A host task's own
 * request comes after its rights. */
static void distrust_copies(od_engine *e, od_datum *d, const od_request *request)
{
    bool may_differ = d->written_through && d->home >= 0 && d->home < OD_SPILL && od_placeset_has(d->valid, d->home);
    if (!may_differ || d->host_users > (request->task != NULL))
        return;
    od_memory_outdate(e, d);
    d->valid = od_placeset_of(d->home);
}

void od_request_begin(od_engine *e, od_request *request)
{
    uint32_t nitems = request->nitems;
    e->events++;
    e->requests++;
    request->pending = nitems + 1; /* one for this function: it still reads the items */
    for (uint32_t i = 0; i < nitems; i++) {
        enqueue(e, request, &request->items[i]);
        distrust_copies(e, request->items[i].datum, request);
    }
    for (uint32_t i = 0; i < nitems; i++) /* what is discarded need not be made again because of the others */
        if (od_datum_is_dropped(request->items[i].datum))
            od_request_advance(e, request->items[i].datum);
    for (uint32_t i = 0; i < nitems; i++) {
        od_datum *d = request->items[i].datum;
        od_request_advance(e, d);
        od_idle_settle(e, d);
    }
    if (--request->pending == 0)
        complete_request(e, request);
}

void od_request_set_item(od_request *request, uint32_t i, od_request_kind kind, od_datum *d)
{
    d->pending++;
    request->items[i].kind = kind;
    request->items[i].datum = d;
    request->items[i].bytes = d->size;
}
