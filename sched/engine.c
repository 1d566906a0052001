/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine: life of a task from ready to done.
 *
 * ready     with the policy, or placed by the engine: a task that only one device may run (it
 *           shares a datum that is being written there, or was shown an address there), and
 *           a lone task, which goes where it costs least instead of to whoever asks first
 * buffered  in the task buffer of one device; its inputs are prefetched in buffer order
 * committed rights to all its data and memory for all of them obtained in one step, everything pinned
 * running   started; the only place that may hold copies of what it writes
 * storing   under strict coherence: results on their way to the host
 *
 * Rights. Readers may be anywhere. While a task that writes a datum is committed or
 * running, all users of that datum are on one device (its home) and share the replica.
 * A task that must wait holds nothing, and later tasks that want the same datum in a
 * conflicting way queue behind it: first come, first served.
 */
#include "sched/engine_internal.h"

#include "util/log.h"

#include <assert.h>
#include <stdlib.h>

/* --- rights ------------------------------------------------------------- */

static uint32_t users_at(const od_datum *d, int place)
{
    return place == OD_HOST ? d->host_users : d->replica[place].users;
}

static bool has_right(const od_access *a, int place)
{
    const od_datum *d = a->datum;
    bool renewable = place == OD_HOST && d->bound && !d->writers; /* that copy is loaded anew afterwards */
    if (d->home != OD_NOWHERE && d->home != place && !renewable)
        return false;
    if ((a->mode & OD_WRITE) && d->users != users_at(d, place))
        return false;
    /* A replica that another task is just writing cannot be loaded over. */
    bool unreadable = place != OD_HOST && !od_datum_is_readable(d, (unsigned)place);
    return !((a->mode & OD_READ) && unreadable && d->writers);
}

static bool conflicts(const od_task *a, const od_task *b)
{
    for (uint32_t i = 0; i < a->naccess; i++)
        for (uint32_t j = 0; j < b->naccess; j++)
            if (a->access[i].datum == b->access[j].datum && ((a->access[i].mode | b->access[j].mode) & OD_WRITE))
                return true;
    return false;
}

/* First come, first served: a task that has waited longer for one of these data goes first. */
static bool overtakes(const od_engine *e, const od_task *t)
{
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        od_node *node = (e->rights_waiters & OD_BIT(k)) ? od_list_first(&e->device[k].buffer) : NULL;
        const od_task *head = node ? od_container_of(node, od_task, link) : NULL;
        if (head && head != t && head->wait_seq && (!t->wait_seq || head->wait_seq < t->wait_seq) && conflicts(head, t))
            return true;
    }
    od_list_each(node, &e->host_waiting) {
        const od_task *w = od_container_of(node, od_task, link);
        if (w != t && w->wait_seq && (!t->wait_seq || w->wait_seq < t->wait_seq) && conflicts(w, t))
            return true;
    }
    return false;
}

static bool may_use_all(od_engine *e, od_task *t, int place)
{
    if (t->outer && place == OD_HOST) /* nested in a task that holds a device: it cannot wait for that one */
        return true;
    bool ok = t->outer || !overtakes(e, t);
    for (uint32_t i = 0; ok && i < t->naccess; i++)
        ok = has_right(&t->access[i], place);
    if (!ok && !t->wait_seq)
        t->wait_seq = ++e->wait_seq;
    return ok;
}

static void take_rights(od_task *t, int place)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->users++;
        if (place == OD_HOST) {
            d->host_users++;
        } else {
            d->replica[place].users++;
            d->replica[place].pins++;
        }
        if (t->access[i].mode & OD_WRITE)
            d->writers++;
        if (((t->access[i].mode & OD_WRITE) || (t->shows && place != OD_HOST)) && d->home == OD_NOWHERE)
            d->home = place;
        if (t->shows && place != OD_HOST) {
            d->bound++;
            d->replica[place].pins++;
        }
    }
}

void od_engine_leave_rights(od_task *t, int place)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->users--;
        if (place == OD_HOST) {
            d->host_users--;
        } else {
            d->replica[place].users--;
            d->replica[place].pins--;
        }
        if (t->access[i].mode & OD_WRITE)
            d->writers--;
        if (!d->writers && !d->bound)
            d->home = OD_NOWHERE;
    }
}

/* --- the end of a task -------------------------------------------------- */

static void forget_task(od_engine *e, od_task *t)
{
    if (e->config.policy->completed)
        e->config.policy->completed(e->policy_state, t);
    od_known_follow_done(e->known, t);
    od_engine_free_submission(e, t->submission);
    t->submission = NULL;
}

static void complete(od_engine *e, od_task *t)
{
    t->state = OD_TASK_DONE;
    e->unfinished--;
    if (t->outer && t->outer->place != OD_HOST)
        e->device[t->outer->place].blocked--;
    e->stats.tasks++;
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->pending--;
        od_host_advance(e, d);
        od_memory_settle(e, d);
    }
    forget_task(e, t);
    e->config.driver_ops->complete_task(e->config.driver, t);
}

/* The host wrote a datum of which device `home` still holds a pinned copy: that one is loaded anew. */
static bool is_renewed(const od_datum *d)
{
    return d->home == OD_NOWHERE || d->home == OD_HOST || od_datum_is_readable(d, (unsigned)d->home);
}

/* True once everything that the task used is where coherence wants it: what may not stay on a device is on the host. */
static bool stored(od_engine *e, od_task *t)
{
    bool all = true;
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (t->place == OD_HOST)
            all &= !(t->access[i].mode & OD_WRITE) || is_renewed(d);
        else if (!d->keep && !d->writers && !d->bound)
            all &= od_memory_store(e, d);
    }
    return all;
}

static void finish(od_engine *e, od_task *t)
{
    if (stored(e, t)) {
        complete(e, t);
        return;
    }
    t->state = OD_TASK_STORING;
    od_list_push_back(&e->storing, &t->link);
}

static void finish_stored(od_engine *e)
{
    od_list_each(node, &e->storing) {
        od_task *t = od_container_of(node, od_task, link);
        if (stored(e, t)) {
            od_list_remove(&e->storing, &t->link);
            complete(e, t);
        }
    }
}

static void wrote(od_engine *e, od_datum *d, int place)
{
    d->valid = OD_BIT(place);
    if (place == OD_HOST && !is_renewed(d))
        od_memory_load(e, d, (unsigned)d->home, true);
}

static void stop_running(od_device *device, const od_task *t)
{
    device->running--;
    device->running_seconds = device->running ? device->running_seconds - t->duration : 0; /* no rounding errors stay */
}

static void end_run(od_engine *e, od_task *t, int place)
{
    if (place == OD_HOST) {
        e->host_running--;
        e->stats.host_tasks++;
        if (t->device != OD_NOWHERE)
            e->device[t->device].stats.host_tasks++;
        return;
    }
    od_stats_account(e, (unsigned)place);
    stop_running(&e->device[place], t);
    e->todo |= OD_BIT(place);
    if (t->failed)
        return;
    e->device[place].stats.tasks++;
    for (uint32_t i = 0; i < t->naccess; i++)
        od_memory_touch(e, t->access[i].datum, (unsigned)place);
}

void od_engine_task_give_back(od_engine *e, od_task *t, bool used)
{
    int place = t->place;
    assert(t->state == OD_TASK_RUNNING && place != OD_HOST && !t->outer);
    e->events++;
    t->failed = true; /* it is not done */
    t->end_ns = od_engine_now(e);
    od_tell_task(e, OD_EVENT_TASK_FINISHED, t);
    od_stats_account(e, (unsigned)place);
    stop_running(&e->device[place], t);
    e->todo |= OD_BIT(place) | e->rights_waiters;
    od_engine_leave_rights(t, place);
    for (uint32_t i = 0; i < t->naccess; i++) {
        if (used && (t->access[i].mode & OD_WRITE))
            wrote(e, t->access[i].datum, place);
        od_loss_settle(e, t->access[i].datum);
        od_host_advance(e, t->access[i].datum);
        od_engine_release(e, t->access[i].datum);
    }
    forget_task(e, t); /* as far as the policy is concerned: another task comes */
    t->access = NULL;
    t->naccess = 0;
    t->external = true;
    t->state = OD_TASK_NEW;
    e->unfinished--;
    od_engine_progress(e);
}

void od_engine_task_block(od_engine *e, od_task *t, bool waits)
{
    if (t->state != OD_TASK_RUNNING || t->place == OD_HOST)
        return;
    e->device[t->place].blocked += waits ? 1u : -1u;
    e->todo |= OD_BIT(t->place);
    od_engine_progress(e);
}

void od_engine_task_done(od_engine *e, od_task *t, od_status status)
{
    int place = t->place;
    e->events++;
    t->failed = status != OD_OK;
    t->end_ns = od_engine_now(e);
    assert(t->state == OD_TASK_RUNNING);
    od_tell_task(e, OD_EVENT_TASK_FINISHED, t);
    end_run(e, t, place);
    od_engine_leave_rights(t, place);
    e->todo |= e->rights_waiters;
    for (uint32_t i = 0; !t->failed && i < t->naccess; i++)
        if (t->access[i].mode & OD_WRITE)
            wrote(e, t->access[i].datum, place);
    if (e->config.policy->done && place != OD_HOST)
        e->config.policy->done(e->policy_state, t, (unsigned)place);
    for (uint32_t i = 0; od_device_is_lost(e, place) && i < t->naccess; i++)
        od_loss_settle(e, t->access[i].datum);
    if (t->failed && od_device_is_lost(e, place))
        od_engine_place_again(e, t);
    else if (t->failed && place != OD_HOST)
        od_engine_to_host(e, t);
    else
        finish(e, t);
    od_engine_progress(e);
}

/* --- the host version --------------------------------------------------- */

void od_engine_to_host(od_engine *e, od_task *t)
{
    t->state = OD_TASK_READY;
    t->device = t->place == OD_HOST ? OD_NOWHERE : t->place;
    t->place = OD_HOST;
    od_list_push_back(&e->host_waiting, &t->link);
}

static bool is_bound(const od_task *t)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->bound)
            return true;
    return false;
}

/* Brings home what the host version reads, and drops what it will write. */
static od_request *bring_home(od_engine *e, od_task *t)
{
    od_request *request = od_request_create(t->naccess);
    if (!request) {
        e->config.driver_ops->fatal(e->config.driver, "out of host memory for a host task");
        return NULL;
    }
    request->task = t;
    request->inside = t->outer != NULL || is_bound(t);
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        d->pending++;
        request->items[i].datum = d;
        request->items[i].bytes = d->size;
        request->items[i].kind = (t->access[i].mode & OD_WRITE) ? OD_REQUEST_WRITE : OD_REQUEST_READ;
    }
    return request;
}

static bool commit_host_tasks(od_engine *e)
{
    bool any = false;
    od_list_each(node, &e->host_waiting) {
        od_task *t = od_container_of(node, od_task, link);
        if (!may_use_all(e, t, OD_HOST))
            continue;
        od_request *request = bring_home(e, t);
        if (!request)
            continue;
        od_list_remove(&e->host_waiting, &t->link);
        take_rights(t, OD_HOST);
        t->state = OD_TASK_COMMITTED;
        od_tell_task(e, OD_EVENT_TASK_COMMITTED, t);
        od_engine_request(e, request);
        any = true;
    }
    return any;
}

static bool start_host_tasks(od_engine *e)
{
    bool any = false;
    while (e->host_ready.count && e->host_running < e->config.host_slots) {
        od_task *t = od_container_of(od_list_pop_front(&e->host_ready), od_task, link);
        e->host_running++;
        t->state = OD_TASK_RUNNING;
        t->start_ns = od_engine_now(e);
        od_tell_task(e, OD_EVENT_TASK_STARTED, t);
        e->config.driver_ops->start_task(e->config.driver, t, OD_HOST);
        any = true;
    }
    return any;
}

/* --- start -------------------------------------------------------------- */

static bool is_runnable(const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->replica[k].state != OD_PRESENT)
            return false;
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(d, k))
            return false;
        if ((t->access[i].mode & OD_WRITE) && d->transfers)
            return false;
    }
    return true;
}

static void start(od_engine *e, od_task *t, unsigned k)
{
    od_device *device = &e->device[k];
    od_stats_account(e, k);
    od_list_remove(&device->committed, &t->link);
    device->running++;
    device->running_seconds += t->duration;
    t->state = OD_TASK_RUNNING;
    t->start_ns = od_engine_now(e);
    od_tell_task(e, OD_EVENT_TASK_STARTED, t);
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].mode & OD_WRITE)
            od_memory_drop_all(e, t->access[i].datum, (int)k);
    od_known_follow_taken(e->known, t);
    if (e->config.policy->started)
        e->config.policy->started(e->policy_state, t, k);
    e->config.driver_ops->start_task(e->config.driver, t, (int)k);
}

static bool start_committed(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    bool any = false;
    od_list_each(node, &device->committed) {
        od_task *t = od_container_of(node, od_task, link);
        if ((t->external || device->running - device->blocked < e->config.slots) && is_runnable(t, k)) {
            start(e, t, k);
            any = true;
        }
    }
    return any;
}

/* --- commit ------------------------------------------------------------- */

static bool all_have_memory(const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_replica_state state = t->access[i].datum->replica[k].state;
        if (state == OD_ABSENT || state == OD_LEAVING)
            return false;
    }
    return true;
}

/* Memory for all of the head's data; loads start as soon as theirs is there. */
static bool take_memory(od_engine *e, od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (d->replica[k].state == OD_LEAVING)
            return false;
        if (d->replica[k].state != OD_ABSENT)
            continue;
        if (!od_memory_take(e, k, d, t))
            return false;
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(d, k))
            od_memory_load(e, d, k, true);
    }
    /* Making room for the last may have moved the first: a second pass takes them anew. */
    return all_have_memory(t, k) || take_memory(e, t, k);
}

static void leave_buffer(od_engine *e, od_task *t, unsigned k)
{
    od_stats_account(e, k);
    od_list_remove(&e->device[k].buffer, &t->link);
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->replica[k].buffered_uses--;
    e->rights_waiters &= ~OD_BIT(k);
}

static void commit(od_engine *e, od_task *t, unsigned k)
{
    take_rights(t, (int)k);
    leave_buffer(e, t, k);
    t->state = OD_TASK_COMMITTED;
    od_list_push_back(&e->device[k].committed, &t->link);
    od_tell_task(e, OD_EVENT_TASK_COMMITTED, t);
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        od_memory_touch(e, d, k);
        if ((t->access[i].mode & OD_READ) && d->replica[k].state == OD_PRESENT && !od_datum_is_readable(d, k))
            od_memory_load(e, d, k, true);
    }
}

/* The policy counts on data that a buffered task was going to bring: what is not there will not come. */
static void forget_promises(od_engine *e, const od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++)
        if (t->access[i].datum->replica[k].state == OD_ABSENT)
            e->config.policy->evicted(e->policy_state, t->access[i].datum, k);
}

/* Takes a task out of the buffer again. */
void od_engine_take_back(od_engine *e, od_task *t, unsigned k)
{
    leave_buffer(e, t, k);
    forget_promises(e, t, k);
}

/* The one other device to which data of the task have been bound since it was placed here, or OD_NOWHERE. */
static int bound_elsewhere(const od_task *t, unsigned k)
{
    int device = OD_NOWHERE;
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->bound && (d->home == (int)k || (device != OD_NOWHERE && d->home != device)))
            return OD_NOWHERE;
        if (d->bound)
            device = d->home;
    }
    return device;
}

/* --- tasks that need a device ------------------------------------------- */

static bool no_device_is_left(const od_engine *e)
{
    return e->lost == OD_BIT(e->config.ndevices) - 1;
}

static const uint64_t patience_ns = UINT64_C(5000000000);

/* What keeps the task from a device is what other threads are shown just now; they may themselves wait for it. */
static bool is_patient(const od_engine *e, const od_task *t)
{
    return t->needs_device && e->config.driver_ops->waits_for_program && !no_device_is_left(e) &&
           (!t->patient_ns || od_engine_now(e) - t->patient_ns < patience_ns) &&
           e->config.driver_ops->waits_for_program(e->config.driver, t);
}

static void be_patient(od_engine *e, od_task *t)
{
    if (!t->patient_ns)
        t->patient_ns = od_engine_now(e);
    t->state = OD_TASK_READY;
    t->place = OD_NOWHERE;
    od_list_push_back(&e->patient, &t->link);
}

static void try_patient(od_engine *e)
{
    od_list again;
    od_list_init(&again);
    for (od_node *node; (node = od_list_pop_front(&e->patient));)
        od_list_push_back(&again, node);
    for (od_node *node; (node = od_list_pop_front(&again));)
        od_engine_place_again(e, od_container_of(node, od_task, link));
}

bool od_engine_lose_patience(od_engine *e)
{
    e->events += e->patient.count > 0;
    e->try_patient = true;
    od_engine_progress(e);
    return e->patient.count > 0;
}

static bool move_to_bound(od_engine *e, od_task *t, unsigned k)
{
    int device = bound_elsewhere(t, k);
    if (device == OD_NOWHERE)
        return false;
    od_engine_take_back(e, t, k);
    t->state = OD_TASK_READY;
    od_list_push_back(&e->device[device].forced, &t->link);
    return true;
}

static bool commit_head(od_engine *e, unsigned k)
{
    od_device *device = &e->device[k];
    od_node *node = od_list_first(&device->buffer);
    if (!node)
        return false;
    od_task *t = od_container_of(node, od_task, link);
    if (!t->external && device->committed.count >= e->config.slots)
        return false;
    if (!may_use_all(e, t, (int)k)) {
        if (!t->outer && t->bound == OD_NOWHERE && move_to_bound(e, t, k))
            return true;
        e->rights_waiters |= OD_BIT(k);
        return false;
    }
    e->rights_waiters &= ~OD_BIT(k);
    if (take_memory(e, t, k)) {
        commit(e, t, k);
        return true;
    }
    if (!od_device_is_quiet(device))
        return false;
    if (is_patient(e, t)) {
        od_engine_take_back(e, t, k);
        be_patient(e, t);
        od_tell_task(e, OD_EVENT_TASK_READY, t);
        return true;
    }
    od_log(t->shows ? OD_LOG_INFO : OD_LOG_WARNING, "engine", /* who shows addresses tells */
           "a task of %zu bytes does not fit on device %u beside what the program holds there; "
           "its host version runs",
           t->footprint, k);
    od_engine_take_back(e, t, k);
    od_engine_to_host(e, t);
    return true;
}

/* --- task buffers ------------------------------------------------------- */

static void buffer_task(od_engine *e, od_task *t, unsigned k, bool front)
{
    t->state = OD_TASK_BUFFERED;
    t->place = (int)k;
    t->prefetched = false;
    t->compactions = 0;
    od_stats_account(e, k);
    for (uint32_t i = 0; i < t->naccess; i++)
        t->access[i].datum->replica[k].buffered_uses++;
    if (front)
        od_list_push_front(&e->device[k].buffer, &t->link);
    else
        od_list_push_back(&e->device[k].buffer, &t->link);
    od_tell_task(e, OD_EVENT_TASK_BUFFERED, t);
    e->todo |= OD_BIT(k);
}

static od_task *ask_policy(od_engine *e, unsigned k)
{
    if (!e->in_policy)
        return NULL;
    uint64_t start_ns = od_engine_cost_clock(e);
    bool chosen = e->config.policy->places_at_arrival || od_engine_choose_working(e);
    od_task *t = chosen ? e->config.policy->pop(e->policy_state, k) : NULL;
    if (t)
        od_known_follow_taken(e->known, t);
    e->stats.sched_ns += od_engine_cost_clock(e) - start_ns;
    if (t)
        e->in_policy--;
    return t;
}

/* What the policy has for a lost device. */
static od_task *ask_for_lost(od_engine *e)
{
    od_task *t = NULL;
    for (uint64_t lost = e->lost; lost && !t; lost &= lost - 1) {
        unsigned k = (unsigned)__builtin_ctzll(lost);
        t = ask_policy(e, k);
        if (t)
            forget_promises(e, t, k);
    }
    return t;
}

static od_task *next_task(od_engine *e, unsigned k)
{
    od_node *node = od_list_pop_front(&e->device[k].forced);
    if (node)
        return od_container_of(node, od_task, link);
    od_task *t = ask_policy(e, k);
    return t ? t : ask_for_lost(e);
}

static void add_load(od_device_load *load, const od_list *tasks)
{
    od_list_each(node, tasks) {
        load->seconds += od_container_of(node, od_task, link)->duration;
        load->queued++;
    }
}

/* Each other device could take several times as many of the ready tasks, or none of these. */
static bool leaves_enough(const od_engine *e, size_t taken)
{
    enum { TIMES = 8 };
    return e->config.policy->places_at_arrival || e->in_policy >= TIMES * (e->config.ndevices - 1) * taken;
}

/* A device that loads nothing, though it has work, takes tasks beyond its buffer, up to `lookahead` seconds: their loads hide
 * behind what it computes now, and would not later. */
static bool looks_ahead(const od_engine *e, const od_device *device)
{
    od_device_load load = {0};
    if (e->config.lookahead <= 0 || device->loads || !device->committed.count ||
        device->buffer.count >= OD_MOST_AHEAD || !leaves_enough(e, device->buffer.count + 1))
        return false;
    add_load(&load, &device->buffer);
    return load.seconds < e->config.lookahead;
}

/* The device with the fewest tasks that still has room in its buffer and was not in `refused`. */
static int hungriest(const od_engine *e, uint64_t refused)
{
    int best = OD_NOWHERE;
    size_t fewest = SIZE_MAX;
    for (unsigned k = 0; k < e->config.ndevices; k++) {
        const od_device *device = &e->device[k];
        size_t load = device->buffer.count + device->committed.count + device->running;
        if (!(refused & OD_BIT(k)) && load < fewest &&
            (device->buffer.count < e->config.buffer || looks_ahead(e, device))) {
            best = (int)k;
            fewest = load;
        }
    }
    return best;
}

/* Fills the task buffers, the emptiest device first, so that few tasks spread. */
static bool fill_buffers(od_engine *e)
{
    uint64_t refused = e->lost;
    bool any = false;
    int k;
    while ((k = hungriest(e, refused)) != OD_NOWHERE) {
        od_task *t = next_task(e, (unsigned)k);
        if (t)
            buffer_task(e, t, (unsigned)k, false);
        if (!t || e->device[k].buffer.count > e->config.buffer) /* ahead one by one: perhaps it begins a load */
            refused |= OD_BIT(k);
        any |= t != NULL;
    }
    for (od_task *t; no_device_is_left(e) && (t = ask_for_lost(e)); any = true)
        od_engine_to_host(e, t);
    return any;
}

/* Asks for one task's inputs with memory that nobody needs sooner. False: no memory now. */
static bool prefetch_task(od_engine *e, od_task *t, unsigned k)
{
    for (uint32_t i = 0; i < t->naccess; i++) {
        od_datum *d = t->access[i].datum;
        if (!(t->access[i].mode & OD_READ) || d->replica[k].state != OD_ABSENT)
            continue;
        if (d->writers || d->home != OD_NOWHERE)
            continue;
        if (!od_memory_take(e, k, d, NULL))
            return false;
        if (!od_datum_is_readable(d, k))
            od_memory_load(e, d, k, false);
    }
    return true;
}

/* In buffer order, and only while the head does not wait for memory or rights. */
static void prefetch(od_engine *e, unsigned k)
{
    od_list_each(node, &e->device[k].buffer) {
        od_task *t = od_container_of(node, od_task, link);
        if (!t->prefetched && !prefetch_task(e, t, k))
            return;
        t->prefetched = true;
    }
}

static bool head_waits(const od_engine *e, unsigned k)
{
    const od_device *device = &e->device[k];
    return device->buffer.count && device->committed.count < e->config.slots;
}

static bool serve_device(od_engine *e, unsigned k)
{
    bool any = start_committed(e, k);
    while (commit_head(e, k)) {
        any = true;
        start_committed(e, k);
    }
    if (!head_waits(e, k))
        prefetch(e, k);
    return any;
}

void od_engine_progress(od_engine *e)
{
    if (e->in_progress || e->held)
        return;
    e->in_progress = true;
    bool again = true;
    while (again) {
        if (e->try_patient) {
            e->try_patient = false;
            try_patient(e);
        }
        again = fill_buffers(e);
        while (e->todo) {
            unsigned k = (unsigned)__builtin_ctzll(e->todo);
            e->todo &= e->todo - 1;
            again |= serve_device(e, k);
        }
        again |= commit_host_tasks(e) || start_host_tasks(e);
        finish_stored(e);
        again |= e->todo != 0;
    }
    e->in_progress = false;
    od_engine_check(e);
}

/* --- arrival ------------------------------------------------------------ */

static size_t bytes_to_load(const od_task *t, unsigned k)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->naccess; i++)
        if ((t->access[i].mode & OD_READ) && !od_datum_is_readable(t->access[i].datum, k))
            bytes += t->access[i].datum->size;
    return bytes;
}

/* A task with nothing beside it: a synchronous program. It goes where the fewest bytes must move, of the devices that work. */
static unsigned cheapest_device(const od_engine *e, const od_task *t)
{
    unsigned best = (unsigned)__builtin_ctzll(~e->lost);
    for (unsigned k = best + 1; k < e->config.ndevices; k++)
        if (!od_device_is_lost(e, (int)k) && !od_engine_rests(e, k) && bytes_to_load(t, k) < bytes_to_load(t, best))
            best = k;
    return best;
}

/* The one device where the task must run, or OD_NOWHERE. */
static int required_device(const od_engine *e, const od_task *t)
{
    if (t->bound != OD_NOWHERE)
        return t->bound;
    for (uint32_t i = 0; i < t->naccess; i++) {
        int home = t->access[i].datum->home;
        if (home != OD_NOWHERE && home != OD_HOST && !od_device_is_lost(e, home))
            return home;
    }
    return OD_NOWHERE;
}

/* The program holds addresses of its data on different devices, or on another than it must run on: only the host can. */
static bool is_bound_apart(const od_task *t)
{
    int device = t->bound;
    for (uint32_t i = 0; i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->bound && device != OD_NOWHERE && d->home != device)
            return true;
        if (d->bound)
            device = d->home;
    }
    return false;
}

static size_t footprint(const od_engine *e, const od_task *t)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->naccess; i++)
        bytes += od_pool_rounded(e->device[0].pool, t->access[i].datum->size);
    return bytes;
}

static void too_large(od_engine *e, od_task *t)
{
    if (!e->warned_too_large)
        od_log(OD_LOG_WARNING, "engine",
               "a task needs %zu bytes, more than the %zu bytes of a device: such tasks run on the host "
               "(raise OMPDARTS_MEM_LIMIT or use smaller tiles)",
               t->footprint, od_pool_capacity(e->device[0].pool));
    e->warned_too_large = true;
    od_engine_to_host(e, t);
}

static void give_to_policy(od_engine *e, od_task *t)
{
    uint64_t start_ns = od_engine_cost_clock(e);
    od_status status = od_known_follow_ready(e->known, t);
    if (!status && e->config.policy->places_at_arrival)
        od_engine_choose_working(e);
    if (!status)
        status = e->config.policy->ready(e->policy_state, t);
    e->stats.sched_ns += od_engine_cost_clock(e) - start_ns;
    if (status) /* the policy is out of memory: the task runs all the same */
        od_list_push_back(&e->device[cheapest_device(e, t)].forced, &t->link);
    else
        e->in_policy++;
}

static void place(od_engine *e, od_task *t)
{
    int required = required_device(e, t);
    bool nested = t->outer && t->outer->place != OD_HOST;
    if (od_device_is_lost(e, required))
        e->config.driver_ops->fatal(e->config.driver,
                                    "a task needs memory that was allocated on a device that is lost");
    else if (t->footprint > od_pool_capacity(e->device[0].pool))
        too_large(e, t);
    else if (is_bound_apart(t) && is_patient(e, t))
        be_patient(e, t);
    else if (is_bound_apart(t) || no_device_is_left(e) || (nested && od_device_is_lost(e, t->outer->place)))
        od_engine_to_host(e, t);
    else if (nested)
        buffer_task(e, t, (unsigned)t->outer->place, true);
    else if (required != OD_NOWHERE)
        od_list_push_back(&e->device[required].forced, &t->link);
    else if (e->unfinished == 1 && !e->held)
        od_list_push_back(&e->device[cheapest_device(e, t)].forced, &t->link);
    else
        give_to_policy(e, t);
}

/* A task whose device is lost. */
void od_engine_place_again(od_engine *e, od_task *t)
{
    t->state = OD_TASK_READY;
    t->place = t->device = OD_NOWHERE;
    t->failed = false;
    od_tell_task(e, OD_EVENT_TASK_READY, t);
    place(e, t);
}

/* A task inside a running one finds what that one is writing in the shared replica: no load. */
static void share_with_outer(od_task *t)
{
    for (uint32_t i = 0; t->outer && i < t->naccess; i++) {
        const od_datum *d = t->access[i].datum;
        if (d->writers && d->home == t->outer->place && d->home != OD_HOST &&
            !od_datum_is_readable(d, (unsigned)d->home))
            t->access[i].mode = OD_WRITE;
    }
}

static void tell_created(od_engine *e, od_task *t)
{
    if (od_is_told(e))
        od_tell(e, (od_event){.kind = OD_EVENT_TASK_CREATED, .ns = t->created_ns, .place = t->place, .task = t});
}

void od_engine_task_ready(od_engine *e, od_task *t)
{
    bool again = t->failed; /* given back */
    share_with_outer(t);
    e->events++;
    t->id = e->next_id++;
    t->state = OD_TASK_READY;
    t->place = t->device = OD_NOWHERE;
    t->wait_seq = 0;
    t->patient_ns = 0;
    t->failed = false;
    t->policy_data = NULL;
    t->known = t->submission ? t->submission->known : NULL;
    t->link = (od_node){NULL, NULL};
    t->footprint = footprint(e, t);
    e->unfinished++;
    if (t->outer && t->outer->place != OD_HOST)
        e->device[t->outer->place].blocked++;
    if (!again)
        tell_created(e, t);
    od_tell_task(e, OD_EVENT_TASK_READY, t);
    place(e, t);
    od_engine_progress(e);
}

void od_engine_hold(od_engine *e)
{
    e->held = true;
}

void od_engine_resume(od_engine *e)
{
    e->held = false;
    od_engine_progress(e);
}

/* --- making and unmaking ------------------------------------------------ */

static double transfer_time(void *engine, const od_datum *d, unsigned k)
{
    const od_engine *e = engine;
    const od_link *best = od_datum_is_home(d) ? od_engine_link(e, OD_HOST, (int)k) : NULL;
    uint64_t peers = e->config.peer ? d->valid & (OD_BIT(OD_SPILL) - 1) & ~OD_BIT(k) : 0;
    for (uint64_t left = peers; left; left &= left - 1) {
        const od_link *link = od_engine_link(e, __builtin_ctzll(left), (int)k);
        if (!best || link->bandwidth > best->bandwidth)
            best = link;
    }
    if (!best || best->bandwidth <= 0) /* by way of the host */
        best = od_engine_link(e, OD_HOST, (int)k);
    return best->latency + (double)d->size / best->bandwidth;
}

static bool make_links(od_engine *e)
{
    unsigned n = e->config.ndevices;
    const od_driver_ops *ops = e->config.driver_ops;
    e->link = calloc((n + 1) * (n + 1), sizeof *e->link);
    for (unsigned from = 0; e->link && from <= n; from++)
        for (unsigned to = 0; to <= n; to++) {
            od_link *link = &e->link[from * (n + 1) + to];
            if (ops->link)
                *link = ops->link(e->config.driver, from < n ? (int)from : OD_HOST, to < n ? (int)to : OD_HOST);
            else
                *link = from < n && to < n ? e->config.peer_link : e->config.host_link;
        }
    return e->link != NULL;
}

static od_device_load device_load(void *engine, unsigned k)
{
    const od_engine *e = engine;
    const od_device *device = &e->device[k];
    od_device_load load = {.running = device->running, .loads = device->loads, .seconds = device->running_seconds};
    add_load(&load, &device->committed);
    add_load(&load, &device->buffer);
    return load;
}

static void aside(void *engine, od_aside *work, size_t tasks)
{
    od_engine_aside(engine, work, tasks);
}

static unsigned working(void *engine)
{
    return od_engine_working(engine);
}

static bool rests(void *engine, unsigned k)
{
    return od_engine_rests(engine, k);
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
    od_tell_task(engine, OD_EVENT_TASK_PLANNED, t);
}

static void decided(void *engine, const od_decision *decision)
{
    od_tell(engine, (od_event){.kind = OD_EVENT_DECISION,
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
        device->last_ns = od_engine_now(e);
        device->pool = od_pool_create(e->config.memory, e->config.alignment);
        if (!device->pool)
            return OD_ENOMEM;
    }
    return OD_OK;
}

od_status od_engine_create(const od_engine_config *config, od_engine **engine)
{
    if (!config->ndevices || config->ndevices > OD_MAX_DEVICES || !config->buffer || !config->slots)
        return OD_EINVAL;
    od_engine *e = calloc(1, sizeof *e);
    if (!e)
        return OD_ENOMEM;
    e->config = *config;
    if (!e->config.alignment)
        e->config.alignment = 256;
    od_list_init(&e->submissions);
    od_list_init(&e->asides);
    od_list_init(&e->patient);
    od_list_init(&e->host_waiting);
    od_list_init(&e->host_ready);
    od_list_init(&e->storing);
    od_list_init(&e->outside);
    od_list_init(&e->transfers);
    od_list_init(&e->spare_transfers);
    e->env = (od_policy_env){.ndevices = config->ndevices,
                             .buffer = config->buffer,
                             .memory = config->memory,
                             .seed = config->seed,
                             .values = config->policy_values,
                             .engine = e,
                             .transfer_time = transfer_time,
                             .load = device_load,
                             .find = find_datum,
                             .working = working,
                             .rests = rests,
                             .aside = aside,
                             .planned = od_is_told(e) ? planned : NULL,
                             .decided = od_is_told(e) ? decided : NULL};
    e->directory = od_directory_create(config->ndevices);
    e->forecast = od_forecast_create();
    e->levels = od_levels_create();
    od_status status = make_links(e) && e->directory && e->forecast && e->levels ? make_devices(e) : OD_ENOMEM;
    for (unsigned k = 0; !status && k < config->ndevices; k++)
        e->env.inbound += od_engine_link(e, OD_HOST, (int)k)->bandwidth;
    od_working_init(&e->working, &e->env, config->working, config->policy->chooses_working);
    if (!status && (e->working.chooses || config->policy->wants_known)) {
        e->known = od_known_create(&e->env);
        e->env.known = config->policy->wants_known ? e->known : NULL;
        status = e->known ? OD_OK : OD_ENOMEM;
    }
    if (!status)
        status = od_policy_create(config->policy, &e->env, &e->policy_state);
    e->env.values = NULL; /* not kept */
    if (status) {
        e->policy_state = NULL;
        od_engine_destroy(e);
        return status;
    }
    *engine = e;
    return OD_OK;
}

/* Requests that nobody has answered and transfers that have not ended, after the driver has given up. */
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
    od_engine_abandon_asides(e);
    if (e->policy_state)
        e->config.policy->destroy(e->policy_state);
    od_known_destroy(e->known);
    for (unsigned k = 0; k < e->config.ndevices; k++)
        od_pool_destroy(e->device[k].pool);
    if (e->directory)
        od_directory_destroy(e->directory);
    od_node *node;
    while ((node = od_list_pop_front(&e->submissions)))
        free(od_container_of(node, od_submission, link));
    od_forecast_destroy(e->forecast);
    od_levels_destroy(e->levels);
    free(e->link);
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
