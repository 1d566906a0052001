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

#include <assert.h>
#include <math.h>

void od_memory_release_host(od_engine *e, od_datum *d)
{
    if (!d->touched)
        return;
    d->touched = false;
    od_outside_update(e, d);
    e->config.driver_ops->release_host(e->config.driver, d->base, od_shape_end(od_datum_shape(d)) - d->base);
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
    od_placeset_add(&e->awaiting, k);
}

static void stop_awaiting(od_engine *e, od_datum *d, unsigned k)
{
    if (!d->replica[k].awaits_source)
        return;
    d->replica[k].awaits_source = false;
    d->nawaiting--;
    if (--e->device[k].awaiting == 0)
        od_placeset_remove(&e->awaiting, k);
}

static void free_memory(od_engine *e, od_datum *d, unsigned k)
{
    od_replica *r = &d->replica[k];
    assert(r->pins == 0);
    od_pool_free(e->device[k].pool, r->offset - od_datum_phase(d));
    od_list_remove(&e->device[k].resident, &r->lru);
    stop_awaiting(e, d, k);
    r->state = OD_ABSENT;
    if (d->window)
        e->config.driver_ops->discard(e->config.driver, d, k);
    if (d->window && od_is_observed(e))
        od_emit(e, (od_event){.kind = OD_EVENT_DROP, .ns = od_engine_now(e), .place = (int)k, .datum = d});
    od_patches_free(r->patches);
    r->patches = NULL;
    od_placeset_remove(&d->valid, k);
    d->nreplicas--;
    od_placeset_remove(&d->holding, k);
    od_outside_update(e, d);
    od_memory_emit(e, k);
    od_placeset_add(&e->todo, k);
}

void od_memory_drop(od_engine *e, od_datum *d, unsigned k)
{
    if (d->replica[k].kept) {
        od_placeset_remove(&d->valid, k);
        od_outside_update(e, d);
        return;
    }
    bool counted = d->replica[k].state == OD_LEAVING;
    free_memory(e, d, k);
    if (!counted)
        od_hook_evicted(e, d, k);
}

void od_memory_drop_all(od_engine *e, od_datum *d, int except)
{
    for (od_placeset_walk at = od_placeset_begin(d->holding); od_placeset_next(&at);)
        if ((int)at.place != except)
            od_memory_drop(e, d, at.place);
}

bool od_memory_make_area(od_engine *e, od_region *region)
{
    if (!region->spill)
        region->spill = od_spill_create(region->base, region->size, &e->spilled);
    if (!region->spill && !e->spills_in_vain)
        od_log(OD_LOG_WARNING, "engine",
               "no memory for what a region of %zu bytes holds beside the program's own: it goes to the program's "
               "arrays, as with OMPDARTS_SPILL=0",
               region->size);
    e->spills_in_vain |= !region->spill;
    if (e->spilled > e->stats.spill_peak_bytes)
        e->stats.spill_peak_bytes = e->spilled;
    return region->spill;
}

/* Where contents go that must leave a device without the program having asked for them. */
static int refuge(od_engine *e, od_datum *d)
{
    if ((d->needed || d->discarding) && d->spill)
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
    if (od_datum_is_discarded(d)) {
        od_memory_drop(e, d, k);
        d->valid = od_placeset_of(OD_HOST);
        return;
    }
    if (od_recipe_drops(e, d, k)) {
        od_memory_drop(e, d, k);
        return;
    }
    r->state = OD_LEAVING;
    e->device[k].leaving_bytes += od_pool_rounded(e->device[k].pool, od_datum_occupies(d));
    od_transfer_start(
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
        if (r->state != OD_PRESENT || r->pins || od_datum_is_held(r->datum) || od_victim_has_no_place(&query, r->datum))
            continue;
        emit_eviction(e, k, r, OD_EVICT_COMPACTION, NULL);
        if (!od_datum_is_dropped(r->datum))
            od_recipe_forget(e, r->datum); /* it is needed at once */
        evict(e, r->datum, k);
    }
    return true;
}

bool od_memory_make_room(od_engine *e, unsigned k, od_task *head, size_t size)
{
    od_device *device = &e->device[k];
    size_t free_bytes = od_pool_available(device->pool);
    if (device->leaving_bytes && free_bytes + device->leaving_bytes >= od_pool_rounded(device->pool, size))
        return false;
    od_replica *victim = choose_victim(e, k, head);
    if (!victim)
        return clear_own(e, k, head);
    evict(e, victim->datum, k);
    return true;
}

static od_status alloc(od_pool *pool, const od_datum *d, size_t *offset)
{
    size_t bytes = od_datum_occupies(d), alignment = d->window ? od_window_alignment(d->window) : 0;
    return alignment ? od_pool_alloc_aligned(pool, bytes, alignment, offset) : od_pool_alloc(pool, bytes, offset);
}

/* Takes memory on k for a datum that is absent there; head NULL: for a prefetch. False: not now. */
bool od_memory_take(od_engine *e, unsigned k, od_datum *d, od_task *head)
{
    od_device *device = &e->device[k];
    od_replica *r = &d->replica[k];
    od_status status;
    while ((status = alloc(device->pool, d, &r->offset)) == OD_EFULL)
        if (!od_memory_make_room(e, k, head, od_datum_occupies(d)))
            return false;
    if (status) {
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a device's pool");
        return false;
    }
    r->offset += od_datum_phase(d);
    r->state = OD_PRESENT;
    if ((d->window || e->config.commits) && e->config.driver_ops->occupy)
        e->config.driver_ops->occupy(e->config.driver, d, k);
    od_list_push_back(&device->resident, &r->lru);
    d->nreplicas++;
    od_placeset_add(&d->holding, k);
    od_outside_update(e, d);
    od_memory_emit(e, k);
    od_hook_incoming(e, d, k);
    return true;
}

void od_memory_clear_end(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    size_t capacity = od_pool_capacity(device->pool);
    if (od_pool_end(device->pool) <= capacity || od_device_is_lost(e, (int)k))
        return;
    od_node *first = od_list_first(&device->buffer);
    od_evict_query query = query_of(e, k, first ? od_container_of(first, od_task, link) : NULL);
    od_list_each(it, &device->resident) {
        od_replica *r = od_container_of(it, od_replica, lru);
        size_t end = r->offset - od_datum_phase(r->datum) + od_pool_rounded(device->pool, od_datum_occupies(r->datum));
        if (end <= capacity || !od_victim_allowed(&query, r))
            continue;
        emit_eviction(e, k, r, OD_EVICT_TO_SHRINK, NULL);
        evict(e, r->datum, k);
    }
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
    int source = od_source_of_load(e, d, k);
    if (source == OD_NOWHERE) {
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
    od_transfer_start(
        e, &(od_transfer){
               .datum = d, .kind = OD_LOAD, .from = source, .to = (int)k, .bytes = d->size, .demanded = demanded});
}

static void send(od_engine *e, od_datum *d, int from, int to, bool demanded)
{
    od_transfer_start(e, &(od_transfer){.datum = d,
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
    if (od_placeset_is_empty(d->valid) || od_placeset_has(d->valid, OD_HOST))
        return true;
    if (d->stores || od_datum_is_stranded(e, d))
        return false;
    write_back(e, d, od_placeset_has(d->valid, OD_SPILL) ? OD_SPILL : od_source_device(e, d, OD_HOST), OD_HOST);
    return false;
}

/* Makes a copy current that is on no device. True: there is one; false: under way. */
bool od_memory_save(od_engine *e, od_datum *d)
{
    if (od_datum_is_home(d))
        return true;
    if (!d->stores && !od_datum_is_stranded(e, d))
        write_back(e, d, od_source_device(e, d, OD_HOST), refuge(e, d));
    return false;
}

/* Makes the spill area current, as od_memory_store() does with the program's memory; without one, that. */
bool od_memory_spill(od_engine *e, od_datum *d)
{
    if (od_placeset_has(d->valid, OD_SPILL))
        return true;
    if (refuge(e, d) == OD_HOST)
        return od_memory_store(e, d);
    if (od_placeset_is_empty(d->valid)) { /* undefined contents may be any */
        d->valid = od_placeset_of(OD_SPILL);
        return true;
    }
    if (d->stores || od_datum_is_stranded(e, d))
        return false;
    int source = od_source_device(e, d, OD_HOST);
    write_back(e, d, source == OD_NOWHERE ? OD_HOST : source, OD_SPILL);
    return false;
}

static void count_stored(od_device_stats *stats, const od_transfer *x)
{
    stats->d2h_bytes += x->bytes;
    stats->spilled_bytes += x->to == OD_SPILL ? x->bytes : 0;
}

static void count_peer(od_device_stats *to, const od_device_stats *from, uint64_t bytes)
{
    to->d2d_bytes += bytes;
    to->remote_bytes += to->rank != from->rank ? bytes : 0;
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
        count_peer(&e->device[x->to].stats, &e->device[x->from].stats, x->bytes);
}

void od_memory_serve_awaiting(od_engine *e, od_datum *d)
{
    od_placeset_walk at = od_placeset_begin(d->holding);
    while (d->nawaiting && od_placeset_next(&at))
        if (d->replica[at.place].awaits_source)
            od_memory_load(e, d, at.place, true);
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

/* Seconds until the task would have ended on an idle device. */
static double seconds_alone(const od_engine *e, const od_task *t, unsigned k)
{
    double seconds = od_policy_seconds(&e->env, t, k);
    for (uint32_t i = 0; i < t->naccess; i++)
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(t->access[i].datum, k))
            seconds += e->env.transfer_time(e->env.engine, t->access[i].datum, k);
    return seconds;
}

unsigned od_memory_nearest_device(const od_engine *e, const od_task *t)
{
    unsigned best = od_placeset_first(e->working);
    double least = (double)INFINITY;
    for (od_placeset_walk at = od_placeset_begin(e->working); od_placeset_next(&at);) {
        double seconds = seconds_alone(e, t, at.place);
        if (seconds < least) {
            best = at.place;
            least = seconds;
        }
    }
    return best;
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
    od_placeset_add(&d->valid, x->to);
    if (x->to == OD_HOST) {
        od_seal_undo(e, d);
        od_shared_came_home(d);
    }
    if (x->kind == OD_EVICT)
        od_memory_stop_leaving(e, d, (unsigned)x->from);
}
