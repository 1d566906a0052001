/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the host asks of the engine: requests, regions, and data whose ranges overlap.
 *
 * A request has one item per datum. The items of a datum form a queue, served first
 * come, first served; od_host_advance() takes the first one as far as it can go
 * now and is called whenever something about the datum has changed. Items wait
 * for tasks that write the datum, never for tasks that have not committed: those were made ready after, or beside,
 * whoever asks, and OpenMP's dependences order the rest.
 */
#include "memmgr/spill.h"
#include "sched/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- items -------------------------------------------------------------- */

/* True while tasks on devices use the datum and the asker is none of them. */
static bool in_use(const od_request_item *item)
{
    const od_datum *d = item->datum;
    return d->users > d->host_users && !d->bound && !item->request->inside;
}

static bool being_written(const od_request_item *item)
{
    const od_datum *d = item->datum;
    return d->writers && d->home != OD_HOST && !item->request->inside;
}

/* Drops every replica; one whose address the program holds is loaded anew instead. False: under way. */
static bool renew(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (d->users > d->host_users && d->home == OD_NOWHERE) /* the asker itself reads it: that copy stays as it is */
        return true;
    if ((!d->bound && d->users == d->host_users) || d->home == OD_HOST) {
        od_memory_drop_all(e, d, OD_NOWHERE);
        od_memory_let_go(e, d);
        d->valid = OD_BIT(OD_HOST);
        return true;
    }
    if (item->moved) {
        d->valid = OD_BIT(OD_HOST) | OD_BIT(d->home);
        return true;
    }
    if (!item->started) {
        item->started = true;
        od_memory_drop_all(e, d, d->home);
        od_memory_transfer(e, &(od_transfer){.datum = d,
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
    if (!od_memory_store(e, d) || d->transfers || in_use(item))
        return false;
    if (d->bound || d->users > d->host_users) /* pinned: loaded anew when the host has written */
        return true;
    od_memory_drop_all(e, d, OD_NOWHERE);
    od_memory_let_go(e, d);
    d->valid = OD_BIT(OD_HOST);
    return true;
}

/* A place other than the program's memory that holds the current contents; every transfer has ended. */
static int holder(const od_engine *e, const od_datum *d)
{
    for (unsigned k = 0; k < e->config.ndevices; k++)
        if (d->valid & OD_BIT(k))
            return (int)k;
    return OD_SPILL;
}

static bool move_part(od_engine *e, od_request_item *item, int from, int to)
{
    if (!item->started) {
        item->started = true;
        od_memory_transfer(e, &(od_transfer){.datum = item->datum,
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

static bool serve_pull(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (item->started)
        return item->moved;
    if (d->valid == 0 || (d->valid & OD_BIT(OD_HOST)))
        return true;
    return d->transfers ? false : move_part(e, item, d->valid & OD_BIT(OD_SPILL) ? OD_SPILL : holder(e, d), OD_HOST);
}

static bool serve_push(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    bool whole = item->offset == 0 && item->bytes == d->size;
    if (!item->started && (d->transfers || in_use(item)))
        return false;
    bool in_program = (d->valid & OD_BIT(OD_HOST)) && !(d->valid & OD_BIT(OD_SPILL));
    if (!item->started && (whole || d->valid == 0 || in_program))
        return renew(e, item);
    if (item->started && d->bound && (whole || in_program))
        return renew(e, item);
    int place = holder(e, d);
    if (!move_part(e, item, OD_HOST, place))
        return false;
    od_memory_drop_all(e, d, place);
    d->valid = OD_BIT(place);
    return true;
}

/* Devices that hold the contents already hold what the program's memory has: they may stay. */
static bool serve_snapshot(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (!od_memory_spill(e, d) || d->transfers)
        return false;
    if (d->valid & OD_BIT(OD_SPILL))
        d->valid &= ~OD_BIT(OD_HOST);
    return true;
}

static bool serve_settle(od_engine *e, od_request_item *item)
{
    od_datum *d = item->datum;
    if (!od_memory_spill(e, d) || d->transfers || in_use(item))
        return false;
    if (!d->bound && d->users == d->host_users)
        od_memory_drop_all(e, d, OD_NOWHERE);
    return true;
}

/* True once the item has been served. */
static bool serve(od_engine *e, od_request_item *item)
{
    if (being_written(item))
        return false;
    switch (item->kind) {
    case OD_REQUEST_READ:
        return od_memory_store(e, item->datum);
    case OD_REQUEST_WRITE:
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
        if (item->started != item->moved || item->datum->transfers || in_use(item) || !renew(e, item))
            return false;
        item->datum->discarding = false;
        return true;
    }
    return true;
}

static void complete_request(od_engine *e, od_request *request)
{
    e->requests--;
    if (request->task) {
        od_list_push_back(&e->host_ready, &request->task->link);
        od_request_destroy(request);
    } else {
        e->config.driver_ops->complete_request(e->config.driver, request);
    }
}

/* Its region has closed and its contents are the program's: the spill area is not needed any more. */
static void leave_spill(od_engine *e, od_datum *d)
{
    if (!d->spill || d->region || d->transfers || (d->valid & OD_BIT(OD_SPILL)))
        return;
    od_memory_let_go_spill(e, d->spill, d->base, d->size);
    od_spill_release(d->spill);
    d->spill = NULL;
}

void od_host_advance(od_engine *e, od_datum *d)
{
    od_request_item *item;
    while ((item = d->items) && serve(e, item)) {
        d->items = item->next;
        d->pending--;
        d->requested--;
        od_request *request = item->request;
        leave_spill(e, d);
        if (--request->pending == 0)
            complete_request(e, request);
    }
}

/* --- requests ----------------------------------------------------------- */

od_request *od_request_create(uint32_t nitems)
{
    od_request *request = calloc(1, sizeof *request + nitems * sizeof(od_request_item));
    if (request)
        request->nitems = nitems;
    return request;
}

void od_request_destroy(od_request *request)
{
    free(request);
}

static void enqueue(od_request *request, od_request_item *item)
{
    item->request = request;
    item->next = NULL;
    item->datum->requested++;
    od_request_item **end = &item->datum->items;
    while (*end)
        end = &(*end)->next;
    *end = item;
}

void od_engine_request(od_engine *e, od_request *request)
{
    uint32_t nitems = request->nitems;
    e->events++;
    e->requests++;
    request->pending = nitems + 1; /* one for this function: it still reads the items */
    for (uint32_t i = 0; i < nitems; i++)
        enqueue(request, &request->items[i]);
    for (uint32_t i = 0; i < nitems; i++) {
        od_datum *d = request->items[i].datum;
        od_host_advance(e, d);
        od_memory_settle(e, d);
    }
    if (--request->pending == 0)
        complete_request(e, request);
    od_engine_progress(e);
}

static void set_item(od_request *request, uint32_t i, od_request_kind kind, od_datum *d)
{
    d->pending++;
    request->items[i].kind = kind;
    request->items[i].datum = d;
    request->items[i].bytes = d->size;
}

static bool may_go_home(const od_datum *d)
{
    return !d->writers && !d->discarding;
}

od_status od_engine_sync_request(od_engine *e, od_request **request)
{
    uint32_t n = 0;
    *request = NULL;
    od_list_each(node, &e->outside)
        n += may_go_home(od_container_of(node, od_datum, outside));
    if (!n)
        return OD_OK;
    od_request *r = od_request_create(n);
    if (!r)
        return OD_ENOMEM;
    n = 0;
    od_list_each(node, &e->outside) {
        od_datum *d = od_container_of(node, od_datum, outside);
        if (may_go_home(d))
            set_item(r, n++, d->pending > d->requested ? OD_REQUEST_READ : OD_REQUEST_WRITE, d);
    }
    *request = r;
    return OD_OK;
}

/* --- ranges ------------------------------------------------------------- */

static bool first(od_datum *d, void *arg)
{
    *(const od_datum **)arg = d;
    return false;
}

/* Makes data of the parts of [base, base+size) that the region's spill area remembers; if `all`, of those as well that
 * are only in the program's memory. */
static od_status materialise(od_engine *e, const od_region *region, uintptr_t base, size_t size, bool all)
{
    od_datum *added;
    od_status status = OD_OK;
    uintptr_t part;
    size_t bytes;
    while (!status && od_spill_first(region->spill, base, size, &part, &bytes))
        status = od_directory_add(e->directory, part, bytes, &added);
    for (uintptr_t at = base; all && !status && at < base + size;) {
        const od_datum *d = NULL;
        od_directory_visit(e->directory, at, base + size - at, first, &d);
        uintptr_t gap_end = d ? d->base : base + size;
        if (gap_end > at)
            status = od_directory_add(e->directory, at, gap_end - at, &added);
        at = d ? d->base + d->size : base + size;
    }
    return status;
}

/* Not in the program's memory, or not any more when the tasks that use it have ended. */
static bool is_only_elsewhere(od_datum *d, void *arg)
{
    bool *found = arg;
    *found |= (d->valid && !(d->valid & OD_BIT(OD_HOST))) || d->pending > d->requested;
    return !*found;
}

/* A range that is to be divided into other data must be in one place: the program's memory, where it all is already or
 * must go; or the spill area. */
static od_status prepare_settling(od_engine *e, uintptr_t base, size_t size, od_request_kind *kind)
{
    const od_region *region = od_directory_find_region(e->directory, base, size);
    bool spills = region && od_spill_cover(region->spill, base, size) != OD_COVER_NONE;
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

static bool collect(od_datum *d, void *arg)
{
    collection *c = arg;
    if (c->request)
        set_item(c->request, c->count, c->kind, d);
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
    else if (region)
        status = materialise(e, region, base, size, false);
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
        const od_datum *d = item->datum;
        uintptr_t from = base > d->base ? base : d->base;
        uintptr_t to = base + size < d->base + d->size ? base + size : d->base + d->size;
        item->offset = from - d->base;
        item->bytes = to - from;
    }
    return OD_OK;
}

/* --- data --------------------------------------------------------------- */

static bool can_forget(const od_datum *d)
{
    bool idle = !d->pending && !d->users && !d->transfers && !d->items && !d->bound;
    return idle && !d->spill && od_datum_is_home(d);
}

static bool all_can_be_forgotten(od_datum *d, void *arg)
{
    bool *all = arg;
    *all = can_forget(d);
    return *all;
}

/* What comes after it finds its contents in the program's memory or in the spill area. */
static od_status forget(od_engine *e, od_datum *d)
{
    if ((d->valid & OD_BIT(OD_SPILL)) && od_spill_keep(d->region->spill, d->base, d->size))
        return OD_ENOMEM;
    if (d->region && d->valid)
        d->region->undefined = false;
    od_memory_drop_all(e, d, OD_NOWHERE);
    od_memory_let_go(e, d);
    if (e->config.policy->forget)
        e->config.policy->forget(e->policy_state, d);
    if (e->known)
        od_known_forget(e->known, d);
    od_directory_remove(e->directory, d);
    return OD_OK;
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
        status = forget(e, (od_datum *)(uintptr_t)d);
    }
    return status;
}

/* A datum may begin where the contents are all in one place. */
static bool is_divided(od_engine *e, uintptr_t base, size_t size)
{
    const od_region *region = od_directory_find_region(e->directory, base, size);
    return region && od_spill_cover(region->spill, base, size) == OD_COVER_PART;
}

od_status od_engine_datum(od_engine *e, uintptr_t base, size_t size, od_datum **datum)
{
    *datum = od_directory_find(e->directory, base, size);
    if (*datum && (*datum)->size != size && (*datum)->nreplicas == 0 && can_forget(*datum))
        *datum = NULL; /* a larger one that is on no device makes place */
    /* Outside regions the rest of a larger datum belongs to the host meanwhile: it must not be written back. */
    if (!*datum || ((*datum)->size != size && !(*datum)->region)) {
        od_status status = forget_range(e, base, size);
        if (!status && is_divided(e, base, size))
            status = OD_EFULL;
        if (!status)
            status = od_directory_add(e->directory, base, size, datum);
        if (status)
            return status;
        (*datum)->forecast = od_forecast_get(e->forecast, base);
    }
    (*datum)->pending++;
    return OD_OK;
}

void od_engine_release(od_engine *e, od_datum *d)
{
    d->pending--;
    od_memory_settle(e, d);
}

static bool is_bound(od_datum *d, void *arg)
{
    bool *bound = arg;
    *bound |= d->bound > 0;
    return !*bound;
}

bool od_engine_range_is_bound(od_engine *e, uintptr_t base, size_t size)
{
    bool bound = false;
    od_directory_visit(e->directory, base, size, is_bound, &bound);
    return bound;
}

static void forecast(od_engine *e, uintptr_t address, int change)
{
    uint32_t count = od_forecast_add(e->forecast, address, change);
    od_datum *d = od_directory_find(e->directory, address, 0);
    if (d && d->base == address)
        d->forecast = count;
}

static void count_waiting(od_engine *e, int change)
{
    e->stats.waiting += (uint64_t)change;
    if (od_is_told(e))
        od_tell(e, (od_event){
                       .kind = OD_EVENT_WAITING, .ns = od_engine_now(e), .place = OD_HOST, .tasks = e->stats.waiting});
}

od_submission *od_engine_submit(od_engine *e, const void *kind, double seconds, const od_level_use *uses,
                                uint32_t nuses)
{
    od_submission *s = malloc(sizeof *s + nuses * sizeof *uses);
    if (!s)
        return NULL;
    *s = (od_submission){.kind = kind, .seconds = seconds, .nuses = nuses};
    if (nuses)
        memcpy(s->uses, uses, nuses * sizeof *uses);
    od_list_push_back(&e->submissions, &s->link);
    e->stats.submitted++;
    count_waiting(e, +1);
    for (uint32_t i = 0; i < nuses; i++)
        forecast(e, uses[i].address, +1);
    s->level = od_levels_submit(e->levels, seconds, uses, nuses);
    uint64_t start = od_engine_cost_clock(e);
    if (e->known)
        s->known = od_known_submit(e->known, kind, seconds, uses, nuses);
    if (e->config.policy->submitted)
        e->config.policy->submitted(e->policy_state, s);
    e->stats.sched_ns += od_engine_cost_clock(e) - start;
    return s;
}

double od_engine_unsubmit(od_engine *e, od_submission **submission)
{
    od_submission *s = *submission;
    if (!s)
        return 0;
    count_waiting(e, -1);
    for (uint32_t i = 0; i < s->nuses; i++)
        forecast(e, s->uses[i].address, -1);
    double level = s->level ? od_levels_ready(e->levels, s->level) : 0;
    s->level = NULL;
    if (!e->config.policy->submitted && !e->known) {
        od_engine_free_submission(e, s);
        *submission = NULL;
    }
    return level;
}

void od_engine_free_submission(od_engine *e, od_submission *submission)
{
    if (!submission)
        return;
    od_list_remove(&e->submissions, &submission->link);
    free(submission);
}

void od_engine_withdraw(od_engine *e, od_submission *submission)
{
    if (submission && e->config.policy->withdrawn)
        e->config.policy->withdrawn(e->policy_state, submission);
    if (submission && submission->known)
        od_known_done(e->known, submission->known);
    od_engine_free_submission(e, submission);
}

void od_engine_bind(od_engine *e, od_datum *d, unsigned k, bool write)
{
    (void)e;
    assert(d->replica[k].state == OD_PRESENT && (d->home == OD_NOWHERE || d->home == (int)k));
    if (write)
        d->valid = OD_BIT(k);
}

void od_engine_unbind(od_engine *e, od_datum *d, bool write)
{
    unsigned k = (unsigned)d->home;
    e->events++;
    if (write) {
        od_memory_drop_all(e, d, (int)k);
        d->valid = OD_BIT(k);
    }
    d->replica[k].pins--;
    if (--d->bound == 0 && !d->writers)
        d->home = OD_NOWHERE;
    e->todo |= OD_BIT(k) | e->rights_waiters;
    e->try_patient = true;
    od_host_advance(e, d);
    od_memory_settle(e, d);
    od_engine_progress(e);
}

/* --- regions ------------------------------------------------------------ */

static bool in_region(od_datum *d, void *arg)
{
    od_memory_update_outside(arg, d);
    d->keep |= d->region != NULL;
    return true;
}

typedef struct straddling {
    uintptr_t base, end;
    od_datum *found;
} straddling;

static bool is_stale_on_host(const od_datum *d)
{
    return d->valid && !(d->valid & OD_BIT(OD_HOST));
}

static bool find_straddling(od_datum *d, void *arg)
{
    straddling *s = arg;
    if (d->base < s->base || d->base + d->size > s->end || is_stale_on_host(d))
        s->found = d;
    return !s->found;
}

/* Data that lie only partly in a new region, left from earlier constructs, would keep its rules from them; and what is
 * not home when it opens would be lost if it closed with `release`. */
static od_status forget_straddling(od_engine *e, uintptr_t base, size_t size)
{
    straddling s = {base, base + size, NULL};
    for (;;) {
        s.found = NULL;
        od_directory_visit(e->directory, base, size, find_straddling, &s);
        if (!s.found)
            return OD_OK;
        if (!can_forget(s.found))
            return OD_EFULL;
        od_status status = forget(e, s.found);
        if (status)
            return status;
    }
}

od_status od_engine_region_open(od_engine *e, uintptr_t base, size_t size, bool undefined)
{
    od_region *region = od_directory_find_region(e->directory, base, size);
    bool opened;
    od_status status = region ? OD_OK : forget_straddling(e, base, size);
    if (!status)
        status = od_directory_open(e->directory, base, size, undefined, &region, &opened);
    if (!status && opened)
        od_directory_visit(e->directory, base, size, in_region, e);
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
        set_item(r, (*n)++, OD_REQUEST_DISCARD, seen->datum);
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
        uintptr_t begin = item->datum->base, end = begin + item->datum->size;
        uintptr_t from = base > begin ? base : begin, to = base + size < end ? base + size : end;
        if (!r || item->datum->region != region) {
            item->datum->pending--;
        } else if (to > from) {
            item->offset = from - begin;
            item->bytes = to - from;
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

od_status od_engine_region_close(od_engine *e, uintptr_t base, size_t size, bool copy_out, bool all,
                                 od_request **request)
{
    *request = NULL;
    od_region *region = od_directory_find_region(e->directory, base, size);
    if (!region)
        return OD_OK; /* not present: OpenMP says that nothing happens */
    region->references = all ? 0 : region->references - (region->references > 0);
    if (region->references || region->holds)
        return OD_OK;
    od_status status = close_request(e, region, base, size, copy_out, request);
    if (status) {
        region->references++;
        return status;
    }
    od_memory_let_go_spill(e, region->spill, region->base, region->size);
    od_directory_close(e->directory, region);
    for (uint32_t i = 0; *request && i < (*request)->nitems; i++) {
        od_datum *d = (*request)->items[i].datum;
        d->discarding |= (*request)->items[i].kind == OD_REQUEST_DISCARD;
        od_memory_update_outside(e, d);
    }
    return OD_OK;
}
