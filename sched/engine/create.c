/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Making and unmaking an engine, and what it offers to its policy. */
#include "sched/engine/internal.h"
#include "util/memory.h"

#include <stdlib.h>

static double transfer_time_from(void *engine, const od_datum *d, od_placeset places, unsigned k)
{
    const od_engine *e = engine;
    const od_link *best = od_places_are_home(places) ? od_engine_link(e, OD_HOST, (int)k) : NULL;
    int peer = e->config.peer ? od_sources_fastest(&e->sources, places, k) : OD_NOWHERE;
    const od_link *link = peer == OD_NOWHERE ? NULL : od_engine_link(e, peer, (int)k);
    if (link && (!best || link->bandwidth > best->bandwidth))
        best = link;
    if (!best || best->bandwidth <= 0) /* by way of the host */
        best = od_engine_link(e, OD_HOST, (int)k);
    return best->latency + (double)d->size / best->bandwidth;
}

static double transfer_time(void *engine, const od_datum *d, unsigned k)
{
    return transfer_time_from(engine, d, d->valid, k);
}

static od_device_load device_load(void *engine, unsigned k)
{
    const od_engine *e = engine;
    const od_device *device = &e->device[k];
    unsigned running = device->running - device->blocked;
    od_device_load load = {.running = running, .loads = device->loads, .seconds = device->running_seconds};
    od_buffer_add_load(e, k, &device->committed, &load);
    od_buffer_add_load(e, k, &device->buffer, &load);
    return load;
}

static void background(void *engine, od_background *work, size_t tasks)
{
    od_engine_background(engine, work, tasks);
}

static unsigned active(void *engine)
{
    return ((const od_engine *)engine)->nactive;
}

static bool is_idle(void *engine, unsigned k)
{
    return !od_placeset_has(((const od_engine *)engine)->working, k);
}

static const od_datum *find_datum(void *engine, uintptr_t base)
{
    const od_engine *e = engine;
    const od_datum *d = od_directory_find(e->directory, base, 0);
    return d && d->base == base ? d : NULL;
}

static void planned(void *engine, od_task *t, unsigned k)
{
    (void)k; /* the task's place */
    od_emit_task(engine, OD_EVENT_TASK_PLANNED, t);
}

static void decided(void *engine, const od_decision *decision)
{
    od_emit(engine, (od_event){.kind = OD_EVENT_DECISION,
                               .ns = od_engine_now(engine),
                               .place = (int)decision->k,
                               .task = decision->task,
                               .datum = decision->datum,
                               .reason = decision->kind,
                               .scores = decision->scores,
                               .nscores = decision->nscores});
}

static od_status make_devices(od_engine *e)
{
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        od_device *device = &e->device[k];
        od_list_init(&device->resident);
        od_list_init(&device->forced);
        od_list_init(&device->buffer);
        od_list_init(&device->committed);
        od_list_init(&device->results);
        device->last_ns = od_engine_now(e);
        device->pool = od_pool_create(e->config.memory, e->config.alignment);
        if (!device->pool)
            return OD_ENOMEM;
        device->stats.limit_bytes = od_pool_capacity(device->pool);
        device->stats.rank = e->config.ranks ? e->config.ranks[k] : 0;
    }
    e->config.ranks = NULL;
    return OD_OK;
}

od_status od_engine_create(const od_engine_config *config, od_engine **engine)
{
    if (!config->ndevices || config->ndevices > OD_MAX_DEVICES || config->cpus > OD_MAX_CPUS || !config->buffer ||
        !config->slots)
        return OD_EINVAL;
    od_engine *e = od_calloc(1, sizeof *e);
    if (!e)
        return OD_ENOMEM;
    e->config = *config;
    e->room = od_buffer_room(config);
    e->same_ahead.end = config->untimed ? UINT64_MAX : 0;
    if (!e->config.alignment)
        e->config.alignment = 256;
    od_list_init(&e->submissions);
    od_list_init(&e->background);
    od_list_init(&e->deferred);
    od_list_init(&e->host_waiting);
    od_list_init(&e->host_ready);
    od_list_init(&e->storing);
    od_list_init(&e->recipes);
    od_list_init(&e->wanted);
    od_list_init(&e->outside);
    od_list_init(&e->idle);
    od_list_init(&e->idle_parts);
    od_list_init(&e->unsealed);
    od_list_init(&e->transfers);
    od_list_init(&e->spare_transfers);
    e->env = (od_policy_env){.ndevices = config->ndevices,
                             .buffer = config->buffer,
                             .memory = &e->config.memory,
                             .seed = config->seed,
                             .values = config->policy_values,
                             .engine = e,
                             .transfer_time = transfer_time,
                             .transfer_time_from = transfer_time_from,
                             .load = device_load,
                             .moved = &e->policy_moved,
                             .alike = &e->alike,
                             .slowness = config->topology ? &config->topology->slowness : NULL,
                             .topology = config->topology,
                             .active = active,
                             .is_idle = is_idle,
                             .background = background,
                             .planned = od_is_observed(e) ? planned : NULL,
                             .decided = od_is_observed(e) ? decided : NULL};
    e->directory = od_directory_create(config->ndevices);
    e->forecast = od_forecast_create();
    e->levels = config->ranked ? NULL : od_levels_create();
    e->link = od_calloc((config->ndevices + 1) * (config->ndevices + 1), sizeof *e->link);
    e->moved = od_placeset_below(config->ndevices);
    od_heap_init(&e->shortest, od_buffer_is_shorter, e);
    bool sorts = !od_heap_reserve(&e->shortest, config->ndevices);
    bool made = sorts && !od_sources_init(&e->sources, config->ndevices) && e->link && e->directory && e->forecast &&
                (config->ranked || e->levels) && !od_admit_init(e);
    od_status status = made ? make_devices(e) : OD_ENOMEM;
    if (!status)
        od_engine_estimate_links(e);
    od_active_init(&e->active, &e->env, config->active, config->policy->chooses_active);
    e->active.set = config->devices;
    od_engine_settle_active(e);
    e->chooser_ops = config->policy->chooser;
    if (!status && (e->active.chooses || config->policy->wants_known || e->chooser_ops)) {
        e->known = od_known_create(config->ndevices, find_datum, e);
        e->env.known = config->policy->wants_known ? e->known : NULL;
        status = e->known ? OD_OK : OD_ENOMEM;
        if (e->known)
            e->known->findings = config->findings;
    }
    if (!status)
        status = od_policy_create(config->policy, &e->env, &e->policy_state);
    e->env.values = NULL; /* not kept */
    if (status)
        e->policy_state = NULL;
    else if (e->chooser_ops && !(e->chooser = e->chooser_ops->create(e)))
        status = OD_ENOMEM;
    if (status) {
        od_engine_destroy(e);
        return status;
    }
    *engine = e;
    return OD_OK;
}

/* Unanswered requests and unfinished transfers, after the driver has given up. */
static bool discard_items(od_datum *d, void *arg)
{
    (void)arg;
    for (od_request_item *item = d->items, *next; item; item = next) {
        next = item->next;
        if (--item->request->pending == 0)
            od_request_destroy(item->request);
    }
    return true;
}

static void discard_unfinished(od_engine *e)
{
    if (e->directory)
        od_directory_visit(e->directory, 0, UINTPTR_MAX, discard_items, NULL);
    for (od_node *node; (node = od_list_pop_front(&e->transfers));)
        free(od_container_of(node, od_transfer, link));
}

void od_engine_destroy(od_engine *e)
{
    if (!e)
        return;
    discard_unfinished(e);
    od_engine_abandon_background(e);
    if (e->chooser)
        e->chooser_ops->destroy(e->chooser);
    if (e->policy_state)
        e->config.policy->destroy(e->policy_state);
    od_known_destroy(e->known);
    od_recipe_destroy_all(e);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        od_pool_destroy(e->device[k].pool);
    if (e->directory)
        od_directory_destroy(e->directory);
    od_node *node;
    while ((node = od_list_pop_front(&e->submissions)))
        free(od_container_of(node, od_submission, link));
    od_lifetimes_destroy(e->admission.lifetimes);
    od_forecast_destroy(e->forecast);
    od_levels_destroy(e->levels);
    free(e->link);
    od_sources_free(&e->sources);
    od_heap_free(&e->shortest);
    free(e->doubted);
    while ((node = od_list_pop_front(&e->spare_transfers)))
        free(od_container_of(node, od_transfer, link));
    free(e);
}

void od_engine_links(const od_engine *e, od_link *host, od_link *peer)
{
    *host = e->config.host_link;
    *peer = e->config.peer_link;
}

od_directory *od_engine_directory(od_engine *e)
{
    return e->directory;
}
