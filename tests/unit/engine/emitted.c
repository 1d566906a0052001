/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See emitted.h. */
#include "tests/unit/engine/emitted.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(t, condition, ...)                                                                                      \
    do {                                                                                                               \
        if (!(condition) && !(t)->error[0])                                                                            \
            snprintf((t)->error, sizeof(t)->error, __VA_ARGS__);                                                       \
    } while (0)

/* --- tasks ---------------------------------------------------------------- */

static uint32_t one_of(od_event_kind kind)
{
    return UINT32_C(1) << kind;
}

/* What may have been told last of a task before this. A task in a plan becomes ready again without a word. */
static bool may_follow(const told_task *task, const od_event *event)
{
    uint32_t waiting = one_of(OD_EVENT_TASK_READY) | one_of(OD_EVENT_TASK_PLANNED);
    bool again = task->last == OD_EVENT_TASK_FINISHED && task->failed;
    switch (event->kind) {
    case OD_EVENT_TASK_CREATED:
        return !task->known;
    case OD_EVENT_TASK_READY: /* again where its device was lost */
        return again || task->place != OD_HOST;
    case OD_EVENT_TASK_PLANNED:
    case OD_EVENT_TASK_BUFFERED:
        return waiting & one_of(task->last);
    case OD_EVENT_TASK_COMMITTED:
        if (event->place == OD_HOST)
            return again || ((waiting | one_of(OD_EVENT_TASK_BUFFERED)) & one_of(task->last));
        return task->last == OD_EVENT_TASK_BUFFERED && task->place == event->place;
    case OD_EVENT_TASK_STARTED:
        return task->last == OD_EVENT_TASK_COMMITTED && task->place == event->place;
    default:
        return task->last == OD_EVENT_TASK_STARTED && task->place == event->place;
    }
}

static void task_event(told *t, const od_event *event, size_t number)
{
    told_task *task = &t->task[number];
    EXPECT(t,
           (task->known || event->kind == OD_EVENT_TASK_CREATED) && may_follow(task, event) &&
               event->ns >= task->last_ns,
           "task %zu: '%s' on %d is told after '%s' on %d", number, od_event_name(event->kind), event->place,
           od_event_name(task->last), task->place);
    t->planned += event->kind == OD_EVENT_TASK_PLANNED;
    task->known = true;
    task->last = event->kind;
    task->failed = event->task->failed;
    task->advisory = event->task->advisory;
    task->place = event->place;
    task->last_ns = event->ns;
    if (event->kind == OD_EVENT_TASK_FINISHED && !task->failed && event->place != OD_HOST)
        t->device[event->place].stats.tasks++;
}

/* --- transfers ------------------------------------------------------------- */

const unsigned told_ranks[TOLD_DEVICES] = {3, 1, 1, 3, 2, 2, 3, 1};

static void count_peer(od_device_stats *stats, const od_transfer *x)
{
    stats->d2d_bytes += x->bytes;
    if (told_ranks[x->from] != told_ranks[x->to])
        stats->remote_bytes += x->bytes;
}

static void count_bytes(told *t, const od_transfer *x)
{
    if (x->to < OD_SPILL && x->from < OD_SPILL)
        count_peer(&t->device[x->to].stats, x);
    else if (x->to < OD_SPILL)
        t->device[x->to].stats.h2d_bytes += x->bytes;
    else if (x->from < OD_SPILL)
        t->device[x->from].stats.d2h_bytes += x->bytes;
}

static told_transfer *find(told *t, const od_transfer *x)
{
    for (size_t i = 0; i < TOLD_TRANSFERS; i++)
        if (t->transfer[i].transfer == x)
            return &t->transfer[i];
    return NULL;
}

static void uncount_load(told *t, const od_transfer *x)
{
    od_device_stats *stats = &t->device[x->to].stats;
    stats->loads--;
    stats->reloads -= x->datum->replica[x->to].loads > 1;
}

static void transfer_event(told *t, const od_event *event)
{
    const od_transfer *x = event->transfer;
    told_transfer *known = find(t, x);
    if (event->kind == OD_EVENT_TRANSFER_QUEUED) {
        EXPECT(t, !known, "a transfer is queued twice");
        known = find(t, NULL);
        if (known)
            *known = (told_transfer){.transfer = x};
        return;
    }
    EXPECT(t, known, "'%s' of a transfer that is not queued", od_event_name(event->kind));
    if (!known)
        return;
    bool starts = event->kind == OD_EVENT_TRANSFER_STARTED;
    EXPECT(t, known->started != starts, "'%s' comes at the wrong time", od_event_name(event->kind));
    known->started = starts;
    if (starts)
        return;
    if (!event->failed)
        count_bytes(t, x);
    else if (x->kind == OD_LOAD) /* it was none; its device is lost, or the one it was to come from */
        uncount_load(t, x);
    known->transfer = NULL;
}

/* --- decisions ---------------------------------------------------------------- */

static bool scores_are_sound(const od_event *event)
{
    for (unsigned i = 0; i < event->nscores; i++) {
        const od_score *s = &event->scores[i];
        bool steals_from_itself = strcmp(s->name, "from") == 0 && s->value == event->place;
        if (!isfinite(s->value) || steals_from_itself)
            return false;
    }
    return event->nscores > 0 && event->nscores <= OD_MAX_SCORES;
}

/* The datum is to come, or the task is still the policy's. */
static bool choice_is_open(const told *t, const od_event *event, size_t number)
{
    bool loads = event->reason == OD_DECISION_LOAD;
    if (event->reason == OD_DECISION_IDLE)
        return !event->datum && !event->task;
    if ((event->datum != NULL) != loads || (event->task != NULL) == loads)
        return false;
    if (loads)
        return !od_datum_is_resident(event->datum, (unsigned)event->place);
    const told_task *task = &t->task[number];
    return task->known && (task->last == OD_EVENT_TASK_READY || task->last == OD_EVENT_TASK_PLANNED);
}

static void decision_event(told *t, const od_event *event, size_t task)
{
    bool known = event->reason < OD_DECISION_KINDS && event->place >= 0 && event->place < (int)t->ndevices;
    EXPECT(t, known && scores_are_sound(event) && choice_is_open(t, event, task),
           "a decision of kind %u for device %d that cannot be", event->reason, event->place);
    t->decisions[known ? event->reason : 0]++;
}

/* --- devices ----------------------------------------------------------------- */

static void stall_event(told *t, const od_event *event)
{
    told_device *device = &t->device[event->place];
    EXPECT(t, event->reason != OD_STALL_NONE && event->since_ns < event->ns && event->since_ns >= device->last_ns,
           "device %d: a stall of cause %u from %" PRIu64 " to %" PRIu64 ", after one that ended at %" PRIu64,
           event->place, event->reason, event->since_ns, event->ns, device->last_ns);
    device->last_ns = event->ns;
    if (event->reason != OD_STALL_IDLE)
        device->stats.stall_ns += event->ns - event->since_ns;
}

void told_event(told *t, const od_event *event, size_t task, size_t memory)
{
    od_device_stats *stats = event->place >= 0 && event->place < TOLD_DEVICES ? &t->device[event->place].stats : NULL;
    switch (event->kind) {
    case OD_EVENT_TRANSFER_QUEUED:
    case OD_EVENT_TRANSFER_STARTED:
    case OD_EVENT_TRANSFER_FINISHED:
        transfer_event(t, event);
        break;
    case OD_EVENT_LOAD:
        stats->loads++;
        stats->reloads += event->scores[0].value > 0;
        break;
    case OD_EVENT_EVICT:
        stats->evictions++;
        EXPECT(t, event->datum->replica[event->place].state == OD_PRESENT, "what is evicted is not there");
        break;
    case OD_EVENT_DECISION:
        decision_event(t, event, task);
        break;
    case OD_EVENT_SETTINGS:
        EXPECT(t, event->choice->tried > 0 && event->choice->best.name[0], "settings are told, and none is the best");
        break;
    case OD_EVENT_WAITING:
        EXPECT(t, event->tasks == t->waiting + 1 || event->tasks + 1 == t->waiting,
               "%" PRIu64 " tasks wait after %" PRIu64, event->tasks, t->waiting);
        t->waiting = event->tasks;
        break;
    case OD_EVENT_MEMORY:
        EXPECT(t, event->bytes <= memory, "device %d has %" PRIu64 " bytes in use, more than its limit", event->place,
               event->bytes);
        stats->peak_bytes = event->bytes > stats->peak_bytes ? event->bytes : stats->peak_bytes;
        break;
    case OD_EVENT_STALL:
        stall_event(t, event);
        break;
    case OD_EVENT_DROP:
        EXPECT(t, event->datum->replica[event->place].state == OD_ABSENT, "what is dropped is there");
        break;
    case OD_EVENT_FAULT:
        stats->faults++;
        stats->fault_ns += event->ns - event->since_ns;
        break;
    default:
        task_event(t, event, task);
    }
}

void told_check_end(told *t, od_engine *engine, unsigned ndevices, bool complete)
{
    for (size_t i = 0; complete && i < TOLD_TASKS; i++)
        EXPECT(t,
               !t->task[i].known || t->task[i].advisory ||
                   (t->task[i].last == OD_EVENT_TASK_FINISHED && !t->task[i].failed),
               "task %zu: its end is not told", i);
    od_engine_stats all;
    od_engine_stats_get(engine, &all);
    EXPECT(t, t->waiting == all.waiting && !(complete && t->waiting),
           "told of %" PRIu64 " waiting tasks, there are %" PRIu64, t->waiting, all.waiting);
    for (unsigned k = 0; k < ndevices; k++) {
        od_device_stats stats;
        od_engine_device_stats(engine, k, &stats);
        const od_device_stats *counted = &t->device[k].stats;
        EXPECT(t,
               counted->tasks == stats.tasks && counted->loads == stats.loads && counted->reloads == stats.reloads &&
                   counted->evictions == stats.evictions,
               "device %u: told of %" PRIu64 " tasks %" PRIu64 " loads %" PRIu64 " reloads %" PRIu64
               " evictions, there were %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
               k, counted->tasks, counted->loads, counted->reloads, counted->evictions, stats.tasks, stats.loads,
               stats.reloads, stats.evictions);
        EXPECT(t,
               counted->h2d_bytes == stats.h2d_bytes && counted->d2h_bytes == stats.d2h_bytes &&
                   counted->d2d_bytes == stats.d2d_bytes && counted->remote_bytes == stats.remote_bytes &&
                   counted->peak_bytes == stats.peak_bytes && told_ranks[k] == stats.rank,
               "device %u: told of other bytes than were moved or held", k);
        EXPECT(t, counted->faults == stats.faults && counted->fault_ns == stats.fault_ns,
               "device %u: told of other page faults than there were", k);
        EXPECT(t, !complete || counted->stall_ns == stats.stall_ns,
               "device %u: told of %" PRIu64 " ns of stalls, there were %" PRIu64, k, counted->stall_ns,
               stats.stall_ns);
    }
}
