/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine's memory decisions: allocating replicas, choosing and removing victims,
 * loading, writing back.
 *
 * Invariants kept here: a replica that is not absent has a block of its device's
 * pool; a transfer pins the replica that it reads; the only current copy
 * is never dropped without having been written back first, unless its contents are undefined or the host
 * has said that its own count. A device's memory is given to the head of its
 * buffer before any prefetch.
 */
#include "memmgr/data/spill.h"
#include "sched/engine/internal.h"
#include "util/log.h"
#include "util/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static od_transfer *new_transfer(od_engine *e)
{
    od_node *spare = od_list_pop_front(&e->spare_transfers);
    if (spare)
        return od_container_of(spare, od_transfer, link);
    od_transfer *x = od_malloc(sizeof *x);
    if (!x)
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a transfer");
    return x;
}

static void start_transfer(od_engine *e, od_transfer *x)
{
    x->start_ns = x->end_ns = 0;
    if (od_is_observed(e)) {
        x->queued_ns = od_engine_now(e);
        od_emit(e, (od_event){.kind = OD_EVENT_TRANSFER_QUEUED,
                              .ns = x->queued_ns,
                              .place = x->to,
                              .datum = x->datum,
                              .transfer = x});
    }
    e->config.driver_ops->start_transfer(e->config.driver, x);
}

void od_memory_transfer(od_engine *e, const od_transfer *what)
{
    od_transfer *x = new_transfer(e);
    if (!x)
        return;
    od_datum *d = what->datum;
    *x = *what;
    for (int side = 0; side < 2; side++) {
        int place = side ? x->to : x->from;
        if (place == OD_SPILL)
            x->spill = od_spill_address(d->region ? d->region->spill : d->spill, d->base);
        if (place == OD_HOST && e->config.pins && !d->touched) {
            d->touched = true;
            od_memory_update_outside(e, d);
        }
        if (place >= OD_SPILL)
            continue;
        od_stats_account(e, (unsigned)place);
        e->device[place].transfers++;
        e->device[place].loads += side && x->kind == OD_LOAD;
        e->device[place].stores += !side && x->to >= OD_SPILL;
        *(side ? &x->to_offset : &x->from_offset) = d->replica[place].offset;
    }
    if (x->from < OD_SPILL)
        d->replica[x->from].pins++;
    if (x->to < OD_SPILL && x->kind == OD_UPDATE)
        d->replica[x->to].pins++;
    if (x->to < OD_SPILL)
        od_patches_spoil(d->replica[x->to].patches);
    if (x->to >= OD_SPILL && x->kind != OD_UPDATE)
        d->stores++;
    d->transfers++;
    od_list_push_back(&e->transfers, &x->link);
    start_transfer(e, x);
}

void od_memory_update_outside(od_engine *e, od_datum *d)
{
    bool belongs = (d->nreplicas > 0 || d->touched || od_datum_is_dropped(d)) && !d->region;
    if (belongs && !od_list_contains(&d->outside))
        od_list_push_back(&e->outside, &d->outside);
    else if (!belongs && od_list_contains(&d->outside))
        od_list_remove(&e->outside, &d->outside);
}

void od_memory_release_host(od_engine *e, od_datum *d)
{
    if (!d->touched)
        return;
    d->touched = false;
    od_memory_update_outside(e, d);
    e->config.driver_ops->release_host(e->config.driver, d->base, d->size);
}

void od_memory_release_spill(od_engine *e, const od_spill *spill, uintptr_t base, size_t size)
{
    if (e->config.pins && spill)
        e->config.driver_ops->release_host(e->config.driver, (uintptr_t)od_spill_address(spill, base), size);
}

void od_memory_touch(od_engine *e, od_datum *d, unsigned k)
{
    od_replica *r = &d->replica[k];
    od_list_remove(&e->device[k].resident, &r->lru);
    od_list_push_back(&e->device[k].resident, &r->lru);
}

void od_memory_emit(od_engine *e, unsigned k)
{
    if (od_is_observed(e))
        od_emit(e, (od_event){.kind = OD_EVENT_MEMORY,
                              .ns = od_engine_now(e),
                              .place = (int)k,
                              .bytes = od_pool_used(e->device[k].pool)});
}

void od_memory_await_source(od_engine *e, od_datum *d, unsigned k)
{
    if (d->replica[k].awaits_source)
        return;
    d->replica[k].awaits_source = true;
    d->nawaiting++;
    e->device[k].awaiting++;
}

static void stop_awaiting(od_engine *e, od_datum *d, unsigned k)
{
    if (!d->replica[k].awaits_source)
        return;
    d->replica[k].awaits_source = false;
    d->nawaiting--;
    e->device[k].awaiting--;
}

static void free_memory(od_engine *e, od_datum *d, unsigned k)
{
    od_replica *r = &d->replica[k];
    assert(r->pins == 0);
    od_pool_free(e->device[k].pool, r->offset);
    od_list_remove(&e->device[k].resident, &r->lru);
    stop_awaiting(e, d, k);
    r->state = OD_ABSENT;
    if (d->window)
        e->config.driver_ops->discard(e->config.driver, d, k);
    od_patches_free(r->patches);
    r->patches = NULL;
    d->valid &= ~OD_BIT(k);
    d->nreplicas--;
    od_memory_update_outside(e, d);
    od_memory_emit(e, k);
    e->todo |= OD_BIT(k);
}

void od_memory_drop(od_engine *e, od_datum *d, unsigned k)
{
    bool counted = d->replica[k].state == OD_LEAVING;
    free_memory(e, d, k);
    if (!counted)
        od_hook_evicted(e, d, k);
}

void od_memory_drop_all(od_engine *e, od_datum *d, int except)
{
    for (unsigned k = 0; d->nreplicas && k < e->config.ndevices; k++)
        if ((int)k != except && d->replica[k].state != OD_ABSENT)
            od_memory_drop(e, d, k);
}

bool od_memory_make_area(od_engine *e, od_region *region)
{
    if (!region->spill)
        region->spill = od_spill_create(region->base, region->size, &e->spilled);
    if (e->spilled > e->stats.spill_peak_bytes)
        e->stats.spill_peak_bytes = e->spilled;
    return region->spill;
}

/* Where contents go that must leave a device without the program having asked for them. */
static int refuge(od_engine *e, od_datum *d)
{
    if (d->needed && d->spill)
        return OD_SPILL;
    return e->config.spill && d->region && od_memory_make_area(e, d->region) ? OD_SPILL : OD_HOST;
}

/* Room for another area that an eviction needs, bytes. */
static size_t spill_room(const od_engine *e)
{
    return e->config.spill_limit > e->spilled ? e->config.spill_limit - e->spilled : 0;
}

static void warn_of_spilling(od_engine *e)
{
    if (!e->config.spill_limit || !e->spill_anyway || e->spilled <= e->config.spill_limit || e->spill_warned)
        return;
    e->spill_warned = true;
    od_log(OD_LOG_WARNING, "engine",
           "spill areas take %zu bytes more than OMPDARTS_SPILL_LIMIT: no task could go on within it",
           e->spilled - e->config.spill_limit);
}

static void evict(od_engine *e, od_datum *d, unsigned k)
{
    od_replica *r = &d->replica[k];
    e->device[k].stats.evictions++;
    if (!od_datum_is_dirty(d, k)) {
        od_memory_drop(e, d, k);
        return;
    }
    if (d->discarding) {
        od_memory_drop(e, d, k);
        d->valid = OD_BIT(OD_HOST);
        return;
    }
    if (od_recipe_drops(e, d, k)) {
        od_memory_drop(e, d, k);
        return;
    }
    r->state = OD_LEAVING;
    e->device[k].leaving_bytes += od_pool_rounded(e->device[k].pool, od_datum_occupies(d));
    od_memory_transfer(
        e, &(od_transfer){
               .datum = d, .kind = OD_EVICT, .from = (int)k, .to = refuge(e, d), .bytes = d->size, .demanded = true});
    warn_of_spilling(e);
    od_hook_evicted(e, d, k); /* once: now its contents stop counting as being on k */
}

/* With the numbers of the rule that has chosen the replica; query NULL: none has. */
static void emit_eviction(od_engine *e, unsigned k, const od_replica *victim, od_evict_reason reason,
                          const od_evict_query *query)
{
    od_score scores[OD_MAX_SCORES];
    if (!od_is_observed(e))
        return;
    unsigned n = query && e->config.evict->explain ? e->config.evict->explain(query, victim, scores) : 0;
    od_emit(e, (od_event){.kind = OD_EVENT_EVICT,
                          .ns = od_engine_now(e),
                          .place = (int)k,
                          .datum = victim->datum,
                          .reason = reason,
                          .scores = scores,
                          .nscores = n});
}

static od_evict_query query_of(const od_engine *e, unsigned k, const od_task *head)
{
    return (od_evict_query){.k = k,
                            .resident = &e->device[k].resident,
                            .buffer = &e->device[k].buffer,
                            .head = head,
                            .policy = e->config.policy,
                            .policy_state = e->policy_state,
                            .bounded = e->config.spill_limit && e->config.spill && !e->spill_anyway,
                            .room = spill_room(e)};
}

static od_replica *choose_victim(od_engine *e, unsigned k, const od_task *head)
{
    od_evict_query query = query_of(e, k, head);
    od_replica *victim = od_hook_victim(e, &query);
    assert(!victim || od_victim_allowed(&query, victim));
    if (!victim && query.bounded && head) {
        e->spill_full = true;
        e->spilled_then = e->spilled;
    }
    if (victim)
        emit_eviction(e, k, victim, head ? OD_EVICT_FOR_TASK : OD_EVICT_FOR_PREFETCH, &query);
    return victim;
}

/* What a prefetch may evict. What has to be copied first frees nothing now: it only begins to leave. */
bool od_memory_drop_one(od_engine *e, unsigned k)
{
    od_replica *victim = e->device[k].leaving_bytes ? NULL : choose_victim(e, k, NULL);
    if (!victim)
        return false;
    evict(e, victim->datum, k);
    return victim->state == OD_ABSENT;
}

static bool uses(const od_task *t, const od_datum *d)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum == d)
            return true;
    return false;
}

bool od_memory_has_room(const od_engine *e, unsigned k, const od_task *t)
{
    const od_pool *pool = e->device[k].pool;
    od_evict_query query = query_of(e, k, t);
    size_t taken = t->footprint;
    od_list_each(it, &e->device[k].resident) {
        const od_replica *r = od_container_of(it, od_replica, lru);
        if (!od_victim_allowed(&query, r) && !uses(t, r->datum))
            taken += od_pool_rounded(pool, od_datum_occupies(r->datum));
    }
    return taken <= od_pool_capacity(pool);
}

/* Last resort for the head of a device that does nothing else: its own data may lie so that what is missing
 * does not fit between them. Moves them all out of the way; in an empty pool they fit. A few times at
 * most: what the program holds there by its address (od_datum.bound) may leave too little. */
enum { MAX_COMPACTIONS = 8 };

static bool clear_own(od_engine *e, unsigned k, od_task *head)
{
    const od_device *device = &e->device[k];
    if (!head || head->compactions >= MAX_COMPACTIONS || !od_device_is_quiet(device))
        return false;
    head->compactions++;
    for (uint32_t i = 0; i < head->naccess; i++) {
        const od_replica *r = &head->access[i].datum->replica[k];
        od_evict_query query = query_of(e, k, head);
        if (r->state != OD_PRESENT || r->pins || r->datum->lent || od_victim_has_no_place(&query, r->datum))
            continue;
        emit_eviction(e, k, r, OD_EVICT_COMPACTION, NULL);
        if (!od_datum_is_dropped(r->datum))
            od_recipe_forget(e, r->datum); /* it is needed at once */
        evict(e, r->datum, k);
    }
    return true;
}

/* Starts to make room for `size` bytes. True: something was freed at once, try again. */
static bool make_room(od_engine *e, unsigned k, od_task *head, size_t size)
{
    od_device *device = &e->device[k];
    size_t free_bytes = od_pool_capacity(device->pool) - od_pool_used(device->pool);
    if (device->leaving_bytes && free_bytes + device->leaving_bytes >= od_pool_rounded(device->pool, size))
        return false;
    od_replica *victim = choose_victim(e, k, head);
    if (!victim)
        return clear_own(e, k, head);
    evict(e, victim->datum, k);
    return true;
}

/* Takes memory on k for a datum that is absent there; head NULL: for a prefetch. False: not now. */
bool od_memory_take(od_engine *e, unsigned k, od_datum *d, od_task *head)
{
    od_device *device = &e->device[k];
    od_replica *r = &d->replica[k];
    od_status status;
    while ((status = od_pool_alloc(device->pool, od_datum_occupies(d), &r->offset)) == OD_EFULL)
        if (!make_room(e, k, head, od_datum_occupies(d)))
            return false;
    if (status) {
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a device's pool");
        return false;
    }
    r->state = OD_PRESENT;
    od_list_push_back(&device->resident, &r->lru);
    d->nreplicas++;
    od_memory_update_outside(e, d);
    od_memory_emit(e, k);
    od_hook_incoming(e, d, k);
    return true;
}

/* The device that holds current contents and can send them to `to` soonest, or OD_NOWHERE. */
static int device_source(const od_engine *e, const od_datum *d, int to)
{
    int best = OD_NOWHERE;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        if (!(d->valid & OD_BIT(k) & ~e->lost) || d->replica[k].state != OD_PRESENT)
            continue;
        if (best == OD_NOWHERE || od_engine_link(e, (int)k, to)->bandwidth > od_engine_link(e, best, to)->bandwidth)
            best = (int)k;
    }
    return best;
}

static const double clearly = 1.5; /* links are measured, and measurements differ */

/* A peer only where its link is clearly faster, or where the host's copy is stale. OD_NOWHERE: the only copy is
 * leaving. */
static int load_source(const od_engine *e, const od_datum *d, unsigned k)
{
    int host = d->valid & OD_BIT(OD_HOST) ? OD_HOST : d->valid & OD_BIT(OD_SPILL) ? OD_SPILL : OD_NOWHERE;
    int peer = e->config.peer || host == OD_NOWHERE ? device_source(e, d, (int)k) : OD_NOWHERE;
    if (host == OD_NOWHERE || peer == OD_NOWHERE)
        return peer == OD_NOWHERE ? host : peer;
    double host_bandwidth = od_engine_link(e, OD_HOST, (int)k)->bandwidth;
    return od_engine_link(e, peer, (int)k)->bandwidth > clearly * host_bandwidth ? peer : host;
}

static void emit_load(od_engine *e, const od_datum *d, unsigned k)
{
    if (!od_is_observed(e))
        return;
    const od_score reload = {"reload", d->replica[k].loads > 0};
    od_emit(e, (od_event){.kind = OD_EVENT_LOAD,
                          .ns = od_engine_now(e),
                          .place = (int)k,
                          .datum = d,
                          .scores = &reload,
                          .nscores = 1});
}

/* Brings the contents to k, where memory has been taken. */
void od_memory_load(od_engine *e, od_datum *d, unsigned k, bool demanded)
{
    od_replica *r = &d->replica[k];
    assert((r->state == OD_PRESENT || r->awaits_source) && !od_datum_is_dropped(d));
    r->state = OD_LOADING;
    int source = load_source(e, d, k);
    if (source == OD_NOWHERE) { /* its only copy is leaving: from the host then */
        od_memory_await_source(e, d, k);
        return;
    }
    if (source < OD_SPILL && !e->config.peer) {
        od_memory_await_source(e, d, k);
        od_memory_save(e, d);
        return;
    }
    stop_awaiting(e, d, k);
    emit_load(e, d, k);
    if (r->loads++)
        e->device[k].stats.reloads++;
    e->device[k].stats.loads++;
    od_memory_transfer(
        e, &(od_transfer){
               .datum = d, .kind = OD_LOAD, .from = source, .to = (int)k, .bytes = d->size, .demanded = demanded});
}

static void send(od_engine *e, od_datum *d, int from, int to, bool demanded)
{
    od_memory_transfer(e, &(od_transfer){.datum = d,
                                         .kind = OD_WRITE_BACK,
                                         .from = from,
                                         .to = to,
                                         .bytes = d->size,
                                         .demanded = demanded});
}

static void write_back(od_engine *e, od_datum *d, int from, int to)
{
    send(e, d, from, to, true);
}

void od_memory_send_home(od_engine *e, od_datum *d, unsigned k)
{
    send(e, d, (int)k, OD_HOST, false);
}

/* Makes the program's memory current, from the spill area where that has the contents: no link is needed then. True:
 * it is, or nothing is to be kept; false: under way. */
bool od_memory_store(od_engine *e, od_datum *d)
{
    if (d->valid == 0 || (d->valid & OD_BIT(OD_HOST)))
        return true;
    if (d->stores || od_datum_is_stranded(e, d))
        return false;
    write_back(e, d, d->valid & OD_BIT(OD_SPILL) ? OD_SPILL : device_source(e, d, OD_HOST), OD_HOST);
    return false;
}

/* Makes a copy current that is on no device. True: there is one; false: under way. */
bool od_memory_save(od_engine *e, od_datum *d)
{
    if (od_datum_is_home(d))
        return true;
    if (!d->stores && !od_datum_is_stranded(e, d))
        write_back(e, d, device_source(e, d, OD_HOST), refuge(e, d));
    return false;
}

/* Makes the spill area current, as od_memory_store() does with the program's memory; without one, that. */
bool od_memory_spill(od_engine *e, od_datum *d)
{
    if (d->valid & OD_BIT(OD_SPILL))
        return true;
    if (refuge(e, d) == OD_HOST)
        return od_memory_store(e, d);
    if (d->valid == 0) { /* undefined contents may be any */
        d->valid = OD_BIT(OD_SPILL);
        return true;
    }
    if (d->stores || od_datum_is_stranded(e, d))
        return false;
    int source = device_source(e, d, OD_HOST);
    write_back(e, d, source == OD_NOWHERE ? OD_HOST : source, OD_SPILL);
    return false;
}

static void count_stored(od_device_stats *stats, const od_transfer *x)
{
    stats->d2h_bytes += x->bytes;
    stats->spilled_bytes += x->to == OD_SPILL ? x->bytes : 0;
}

static void count_bytes(od_engine *e, const od_transfer *x)
{
    if (x->from >= OD_SPILL && x->to >= OD_SPILL)
        return;
    if (x->from >= OD_SPILL)
        e->device[x->to].stats.h2d_bytes += x->bytes;
    else if (x->to >= OD_SPILL)
        count_stored(&e->device[x->from].stats, x);
    else
        e->device[x->to].stats.d2d_bytes += x->bytes;
}

void od_memory_serve_awaiting(od_engine *e, od_datum *d)
{
    for (unsigned k = 0; d->nawaiting && k < e->config.ndevices; k++)
        if (d->replica[k].awaits_source)
            od_memory_load(e, d, k, true);
}

void od_memory_stop_leaving(od_engine *e, od_datum *d, unsigned k)
{
    e->device[k].leaving_bytes -= od_pool_rounded(e->device[k].pool, od_datum_occupies(d));
    od_memory_drop(e, d, k);
}

void od_memory_outdate(od_engine *e, od_datum *d)
{
    if (!d->stores)
        return;
    od_list_each(node, &e->transfers) {
        od_transfer *x = od_container_of(node, od_transfer, link);
        x->outdated |= x->datum == d && x->kind == OD_WRITE_BACK;
    }
}

size_t od_memory_missing(const od_task *t, unsigned k)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->naccess; i++)
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(t->access[i].datum, k))
            bytes += t->access[i].datum->size;
    return bytes;
}

/* What a transfer counted when it began. */
void od_memory_uncount(od_engine *e, od_transfer *x)
{
    od_datum *d = x->datum;
    for (int side = 0; side < 2; side++) {
        int place = side ? x->to : x->from;
        if (place >= OD_SPILL)
            continue;
        od_stats_account(e, (unsigned)place);
        e->device[place].transfers--;
        e->device[place].loads -= side && x->kind == OD_LOAD;
        e->device[place].stores -= !side && x->to >= OD_SPILL;
        e->todo |= OD_BIT(place);
    }
    if (x->from < OD_SPILL)
        d->replica[x->from].pins--;
    if (x->to < OD_SPILL && x->kind == OD_UPDATE)
        d->replica[x->to].pins--;
    if (x->to >= OD_SPILL && x->kind != OD_UPDATE)
        d->stores--;
    d->transfers--;
    od_list_remove(&e->transfers, &x->link);
}

void od_memory_finish_transfer(od_engine *e, od_transfer *x)
{
    od_datum *d = x->datum;
    count_bytes(e, x);
    if (x->kind == OD_UPDATE && x->item)
        x->item->moved = true;
    if (x->kind == OD_UPDATE)
        return;
    if (x->kind == OD_LOAD)
        d->replica[x->to].state = OD_PRESENT;
    if (x->outdated)
        return;
    d->valid |= OD_BIT(x->to);
    if (x->to == OD_HOST)
        od_seal_undo(e, d);
    if (x->kind == OD_EVICT)
        od_memory_stop_leaving(e, d, (unsigned)x->from);
}

enum { MAX_TRIES = 3 };

/* True where the transfer is being tried again. */
bool od_memory_try_again(od_engine *e, od_transfer *x)
{
    char message[256];
    if (++x->tries < MAX_TRIES) {
        start_transfer(e, x);
        return true;
    }
    snprintf(message, sizeof message,
             "copying %zu bytes of the datum at host address %#lx %s device %d failed %d times", x->bytes,
             (unsigned long)x->datum->base, x->from >= OD_SPILL ? "to" : "from", x->from >= OD_SPILL ? x->to : x->from,
             MAX_TRIES);
    e->config.driver_ops->fatal(e->config.driver, message);
    return false;
}
