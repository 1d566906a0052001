/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Settings change while a run goes on.
 *
 * Whatever the old policy has planned ends with it: its tasks, which the known graph lists, are as they were when they
 * arrived, and the new policy gets them in that order, after it has been told which data are where. Nothing moves, and
 * what devices have been given stays there.
 */
#include "sched/engine/internal.h"
#include "util/log.h"
#include "util/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Tasks that the policy owns. */
struct owned {
    od_task **task;
    size_t count;
};

static void collect(struct owned *owned, const od_list *tasks)
{
    od_list_each(it, tasks) {
        od_task *task = od_container_of(it, od_known_task, link)->task;
        if (task)
            owned->task[owned->count++] = task;
    }
}

static int by_arrival(const void *a, const void *b)
{
    uint64_t x = (*(od_task *const *)a)->id, y = (*(od_task *const *)b)->id;
    return x < y ? -1 : x > y;
}

static od_status find_owned(const od_engine *e, struct owned *owned)
{
    size_t count = e->known->open.count;
    for (unsigned k = 0; k < e->config.ndevices; k++)
        count += e->known->claimed[k].count;
    *owned = (struct owned){.task = od_malloc((count + 1) * sizeof(od_task *))};
    if (!owned->task)
        return OD_ENOMEM;
    collect(owned, &e->known->open);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        collect(owned, &e->known->claimed[k]);
    assert(owned->count == e->in_policy);
    qsort(owned->task, owned->count, sizeof(od_task *), by_arrival);
    return OD_OK;
}

/* As if no policy had ever seen it, with what is known of its kind by now. */
static void take_back(od_engine *e, od_task *t)
{
    e->policy_seconds += t->known->seconds - t->duration;
    t->duration = t->known->seconds;
    for (uint32_t i = 0; t->state == OD_TASK_PLANNED && i < t->naccess; i++)
        t->access[i].datum->replica[t->place].planned_uses = 0;
    t->state = OD_TASK_READY;
    t->place = OD_NOWHERE;
    t->policy_data = NULL;
    t->link = (od_node){NULL, NULL};
}

static void tell_of_data(od_engine *e, unsigned k)
{
    od_list_each(node, &e->device[k].resident) {
        od_replica *r = od_container_of(node, od_replica, lru);
        if (r->state != OD_LEAVING)
            od_policy_incoming(e->config.policy, e->policy_state, r->datum, k);
    }
    od_list_each(node, &e->device[k].buffer) {
        const od_task *t = od_container_of(node, od_task, link);
        for (uint32_t i = 0; i < t->naccess; i++)
            if (t->access[i].datum->replica[k].state == OD_ABSENT)
                od_policy_incoming(e->config.policy, e->policy_state, t->access[i].datum, k);
    }
}

static void give(od_engine *e, od_task *t)
{
    if (e->config.policy->places_at_arrival)
        od_engine_choose_active(e);
    if (e->config.policy->ready(e->policy_state, t) == OD_OK)
        return;
    od_policy_gives(e, t); /* it is out of memory: the task runs all the same */
    od_placeset left = od_placeset_minus(od_placeset_below(OD_HOST), e->lost);
    od_buffer_force(e, t, od_placeset_first(left));
}

static void look_ahead(od_engine *e, uint64_t ahead)
{
    e->config.ahead = ahead;
    e->room = od_buffer_room(&e->config) > e->room ? od_buffer_room(&e->config) : e->room;
}

static void use(od_engine *e, const od_settings *s, void *state)
{
    e->config.policy = s->policy.ops;
    e->config.evict = s->evict;
    e->config.buffer = s->buffer;
    e->config.devices_only = s->devices_only;
    look_ahead(e, s->policy.ahead);
    e->policy_state = state;
    e->moved = od_placeset_below(e->config.ndevices);
    od_placeset before = e->working;
    bool begun = e->active.begun; /* tasks wait for the first estimate alone */
    od_active_init(&e->active, &e->env, s->active, s->policy.ops->chooses_active);
    e->active.begun = begun;
    e->active.set = s->devices;
    od_engine_settle_active(e);
    od_engine_emit_active(e, before);
}

od_status od_engine_adopt(od_engine *e, const od_settings *s)
{
    void *state, *old = e->policy_state;
    struct owned owned;
    const od_policy_ops *old_ops = e->config.policy;
    if (!e->chooser_ops || !e->known || e->background.count)
        return e->background.count ? OD_EBUSY : OD_EINVAL;
    if (find_owned(e, &owned))
        return OD_ENOMEM;
    od_placeset devices = e->config.devices;
    int active = e->config.active;
    e->config.devices = s->devices;
    e->config.active = s->active;
    od_engine_estimate_links(e);
    od_policy_env env = e->env;
    env.buffer = s->buffer;
    env.known = s->policy.ops->wants_known ? e->known : NULL;
    env.values = s->policy.values;
    od_status status = od_policy_create(s->policy.ops, &env, &state);
    if (!status && (status = od_known_reopen(e->known)))
        s->policy.ops->destroy(state);
    if (status) {
        free(owned.task);
        e->config.devices = devices;
        e->config.active = active;
        od_engine_estimate_links(e);
        return OD_ENOMEM;
    }
    env.values = NULL;
    e->env = env;
    old_ops->destroy(old);
    use(e, s, state);
    od_known_predict(e->known);
    for (size_t i = 0; i < owned.count; i++)
        take_back(e, owned.task[i]);
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        tell_of_data(e, k);
        od_placeset_add(&e->todo, k);
    }
    e->adopted = true;
    for (size_t i = 0; i < owned.count; i++)
        give(e, owned.task[i]);
    free(owned.task);
    od_log(OD_LOG_INFO, "engine", "from now on: %s+%s, %u tasks per buffer, %" PRIu64 " ahead", s->policy.ops->name,
           s->evict->name, s->buffer, s->policy.ahead);
    return OD_OK;
}

void od_engine_look_ahead(od_engine *e, uint64_t ahead)
{
    look_ahead(e, ahead);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        od_placeset_add(&e->todo, k);
}

void od_engine_settings(const od_engine *e, od_settings *s)
{
    *s = (od_settings){.policy = {.ops = e->config.policy, .ahead = e->config.ahead},
                       .evict = e->config.evict,
                       .buffer = e->config.buffer,
                       .active = e->config.active,
                       .devices_only = e->config.devices_only,
                       .devices = e->config.devices};
}

uint64_t od_engine_clock(const od_engine *e)
{
    return od_engine_now(e);
}

uint64_t od_engine_processor_ns(const od_engine *e, bool own)
{
    const od_driver_ops *ops = e->config.driver_ops;
    return ops->processor_ns ? ops->processor_ns(e->config.driver, own) : 0;
}

unsigned od_engine_processors(const od_engine *e)
{
    return e->config.processors;
}

unsigned od_engine_devices(const od_engine *e)
{
    return e->config.ndevices;
}

od_placeset od_engine_lost(const od_engine *e)
{
    return e->lost;
}

double od_engine_known_seconds(const od_engine *e)
{
    unsigned left = e->config.ndevices - od_placeset_count(e->lost);
    double seconds = e->known->open_seconds + e->known->taken_seconds;
    for (unsigned k = 0; k < e->config.ndevices; k++)
        seconds += e->known->claimed_seconds[k];
    return left ? seconds / left : 0;
}

bool od_engine_is_vague(const od_engine *e)
{
    enum { FEW = 8 };
    uint64_t known = e->stats.waiting + e->stats.unfinished;
    bool has_sizes = e->known->sized || e->stats.tasks || !e->known->nitems;
    return !has_sizes || e->known->nvague > known / FEW;
}

bool od_engine_is_uneven(const od_engine *e)
{
    static const double clearly = 1.5;
    double least = (double)INFINITY, most = 0, fastest = (double)INFINITY, slowest = 0;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        double bandwidth = od_engine_link(e, OD_HOST, (int)k)->bandwidth;
        double times = od_policy_slowness(&e->env, OD_SPEED_GENERAL, k);
        least = fmin(least, bandwidth);
        most = fmax(most, bandwidth);
        fastest = fmin(fastest, times);
        slowest = fmax(slowest, times);
    }
    return most > clearly * least || slowest > clearly * fastest;
}

bool od_engine_is_awaited(const od_engine *e)
{
    return e->awaited;
}

const od_durations *od_engine_durations(const od_engine *e)
{
    return &e->known->durations;
}

const od_pattern *od_engine_pattern(const od_engine *e)
{
    return &e->known->pattern;
}

void od_engine_in_background(od_engine *e, od_background *job, size_t tasks)
{
    size_t many = tasks > OD_BACKGROUND_FEW ? tasks : OD_BACKGROUND_FEW;
    if (!e->config.driver_ops->processor_ns)
        od_engine_background(e, job, many);
    else if (!od_engine_start_background(e, job, many))
        od_background_finish(e, job, false);
}

void od_engine_chosen(od_engine *e, const od_choice *choice)
{
    if (od_is_observed(e))
        od_emit(e, (od_event){.kind = OD_EVENT_SETTINGS, .ns = od_engine_now(e), .place = OD_HOST, .choice = choice});
}

void od_engine_recall(od_engine *e, const od_recalled_graph *graph, od_recall_found *found, void *arg)
{
    if (e->config.driver_ops->recall)
        e->config.driver_ops->recall(e->config.driver, graph, found, arg);
}

void od_engine_keep_row(const od_engine *e, const od_recalled_graph *graph, const od_recalled_row *row)
{
    if (e->config.driver_ops->keep)
        e->config.driver_ops->keep(e->config.driver, graph, row);
}

void od_engine_keep(const od_engine *e)
{
    if (e->chooser && e->chooser_ops->keep)
        e->chooser_ops->keep(e->chooser);
}

const od_choices *od_engine_choices(const od_engine *e)
{
    return e->chooser ? e->chooser_ops->choices(e->chooser) : NULL;
}
