/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From events to lines of JSON, the format of Chrome's trace viewer. See trace.h.
 *
 * A device is a process of the trace, its kinds of work are the threads. Spans of one thread may not overlap in that
 * format: where work does (two kernels, several copies), it is spread over lanes, threads of the same name.
 */
#include "trace/format.h"

#include "memmgr/data/transfer.h"
#include "trace/json_args.h"
#include "trace/json_text.h"
#include "trace/sink.h"
#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <stdlib.h>

enum { HOST_PID = 1, FIRST_DEVICE_PID, MOST_COMMAND = 600 };

/* A load that no task has used yet. */
typedef struct arrival {
    uintptr_t base; /* 0: none */
    uint64_t from_ns, to_ns;
    unsigned lane;
    od_track track;
} arrival;

typedef struct process {
    od_lanes lanes[OD_TRACKS];
    unsigned named[OD_TRACKS]; /* lanes, so far */
    arrival *arrivals;         /* by datum */
    uint32_t narrivals;
    unsigned buffered, committed, running;
} process;

#define NEVER UINT64_MAX

/* When a task came to each state, NEVER: not yet. */
typedef struct life {
    struct life *next; /* of the spare ones */
    uint64_t created_ns, ready_ns, planned_ns, buffered_ns, committed_ns, started_ns;
    int place; /* where it is buffered or further, or OD_NOWHERE */
} life;

typedef struct json {
    od_sink *sink;
    od_trace_run run;
    bool any;        /* a line has been written */
    bool incomplete; /* out of memory for something */
    uint64_t flows;  /* from loads to tasks so far */
    unsigned ready;  /* tasks */
    life *spare;
    process process[]; /* the devices', then the host's */
} json;

/* --- lines ---------------------------------------------------------------- */

static process *process_of(json *t, int place)
{
    return &t->process[place >= 0 && place < (int)t->run.ndevices ? (unsigned)place : t->run.ndevices];
}

static unsigned pid_of(const json *t, int place)
{
    return place >= 0 && place < (int)t->run.ndevices ? FIRST_DEVICE_PID + (unsigned)place : HOST_PID;
}

/* {"ph":"X","pid":2 */
static char *begin(json *t, const char *phase, int place)
{
    char *at = od_put(od_sink_reserve(t->sink), t->any ? ",\n{\"ph\":\"" : "[\n{\"ph\":\"");
    t->any = true;
    at = od_put(at, phase);
    at = od_put(at, "\",\"pid\":");
    return od_put_u64(at, pid_of(t, place));
}

static void end(json *t, char *at)
{
    *at++ = '}';
    od_sink_commit(t->sink, at);
}

static char *time_at(const json *t, char *at, const char *name, uint64_t ns)
{
    return od_put_us(od_json_member(at, name), od_trace_time(&t->run, ns));
}

/* A time that may not have come. */
static char *time_if(const json *t, char *at, const char *name, uint64_t ns)
{
    return ns == NEVER ? at : time_at(t, at, name, ns);
}

/* --- names ------------------------------------------------------------------ */

/* Devices of one rank beside each other. */
static unsigned sort_index(const json *t, int place)
{
    unsigned pid = pid_of(t, place), before = 0;
    if (!t->run.rank || pid == HOST_PID)
        return pid;
    for (unsigned k = 0; k < t->run.ndevices; k++) {
        unsigned rank = t->run.rank[k], own = t->run.rank[place];
        before += rank < own || (rank == own && (int)k < place);
    }
    return FIRST_DEVICE_PID + before;
}

static void name_process(json *t, int place, const char *name)
{
    char *at = od_put(begin(t, "M", place), ",\"name\":\"process_name\"");
    end(t, od_put(od_put_string(od_json_args(at, "name"), name, OD_JSON_MOST_NAME), "}"));
    at = od_put(begin(t, "M", place), ",\"name\":\"process_sort_index\"");
    end(t, od_put(od_put_u64(od_json_args(at, "sort_index"), sort_index(t, place)), "}"));
    if (!t->run.rank || place == OD_HOST)
        return;
    at = od_put(begin(t, "M", place), ",\"name\":\"process_labels\"");
    end(t, od_put(od_json_rank(at, t->run.rank[place], t->run.rank_host[place]), "}"));
}

static unsigned thread_number(od_track track, unsigned lane)
{
    return (unsigned)track * OD_LANES + lane + 1;
}

static void name_lane(json *t, int place, od_track track, unsigned lane)
{
    unsigned thread = thread_number(track, lane);
    char *at = od_json_number(begin(t, "M", place), "tid", thread);
    at = od_put(at, ",\"name\":\"thread_name\"");
    end(t, od_put(od_put_string(od_json_args(at, "name"), od_track_name(track), OD_JSON_MOST_NAME), "}"));
    at = od_json_number(begin(t, "M", place), "tid", thread);
    at = od_put(at, ",\"name\":\"thread_sort_index\"");
    end(t, od_put(od_put_u64(od_json_args(at, "sort_index"), thread), "}"));
}

static unsigned take_lane(json *t, int place, od_track track, uint64_t *from_ns, uint64_t *to_ns)
{
    process *p = process_of(t, place);
    unsigned lane = od_lane_take(&p->lanes[track], from_ns, to_ns);
    for (; p->named[track] <= lane; p->named[track]++)
        name_lane(t, place, track, p->named[track]);
    return lane;
}

static char *begin_span(json *t, int place, od_track track, unsigned lane, uint64_t from_ns, uint64_t to_ns)
{
    char *at = od_json_number(begin(t, "X", place), "tid", thread_number(track, lane));
    at = time_at(t, at, "ts", from_ns);
    return od_put_us(od_json_member(at, "dur"), od_trace_time(&t->run, to_ns) - od_trace_time(&t->run, from_ns));
}

static char *begin_instant(json *t, int place, od_track track, uint64_t ns, const char *name)
{
    process *p = process_of(t, place);
    if (!p->named[track])
        name_lane(t, place, track, p->named[track]++);
    char *at = od_json_number(begin(t, "i", place), "tid", thread_number(track, 0));
    at = od_put(time_at(t, at, "ts", ns), ",\"s\":\"t\"");
    return od_json_string(at, "name", name);
}

/* --- counters ----------------------------------------------------------------- */

static void write_memory(json *t, const od_event *event)
{
    char *at = od_put(time_at(t, begin(t, "C", event->place), "ts", event->ns), ",\"name\":\"memory\"");
    end(t, od_put(od_put_u64(od_json_args(at, "bytes"), event->bytes), "}"));
}

static void write_queues(json *t, int place, uint64_t ns)
{
    const process *p = process_of(t, place);
    char *at = od_put(time_at(t, begin(t, "C", place), "ts", ns), ",\"name\":\"tasks\"");
    at = od_put_u64(od_json_args(at, "buffered"), p->buffered);
    at = od_json_number(at, "committed", p->committed);
    end(t, od_put(od_json_number(at, "running", p->running), "}"));
}

static void write_ready(json *t, uint64_t ns)
{
    char *at = od_put(time_at(t, begin(t, "C", OD_HOST), "ts", ns), ",\"name\":\"ready tasks\"");
    end(t, od_put(od_put_u64(od_json_args(at, "ready"), t->ready), "}"));
}

static void write_waiting(json *t, const od_event *event)
{
    char *at = od_put(time_at(t, begin(t, "C", OD_HOST), "ts", event->ns), ",\"name\":\"waiting tasks\"");
    end(t, od_put(od_put_u64(od_json_args(at, "waiting"), event->tasks), "}"));
}

/* --- loads and who needs them --------------------------------------------------- */

static void remember_arrival(json *t, const od_transfer *x, arrival what)
{
    process *p = process_of(t, x->to);
    uint32_t id = x->datum->id;
    if (!od_array_reserve(&p->arrivals, &p->narrivals, (uint64_t)id + 1, sizeof *p->arrivals)) {
        t->incomplete = true;
        return;
    }
    p->arrivals[id] = what;
}

/* An arrow from each load to the first task that uses what it brought. */
static void write_flows(json *t, const od_task *task, unsigned lane, uint64_t start_ns)
{
    process *p = process_of(t, task->place);
    for (uint32_t i = 0; task->place != OD_HOST && i < task->naccess; i++) {
        const od_datum *d = task->access[i].datum;
        arrival *a = d->id < p->narrivals ? &p->arrivals[d->id] : NULL;
        if (!a || a->base != d->base)
            continue;
        t->flows++;
        for (int head = 0; head < 2; head++) {
            unsigned thread = head ? thread_number(OD_TASKS, lane) : thread_number(a->track, a->lane);
            char *at = od_json_number(begin(t, head ? "f" : "s", task->place), "tid", thread);
            at = time_at(t, at, "ts", head ? start_ns : a->from_ns);
            at = od_json_number(at, "id", t->flows);
            end(t, od_put(at, head ? ",\"bp\":\"e\",\"name\":\"load\",\"cat\":\"flow\""
                                   : ",\"name\":\"load\",\"cat\":\"flow\""));
        }
        a->base = 0;
    }
}

/* --- tasks ------------------------------------------------------------------------ */

static life new_life(uint64_t created_ns, uint64_t ready_ns)
{
    return (life){.created_ns = created_ns,
                  .ready_ns = ready_ns,
                  .planned_ns = NEVER,
                  .buffered_ns = NEVER,
                  .committed_ns = NEVER,
                  .started_ns = NEVER,
                  .place = OD_NOWHERE};
}

static life *life_of(json *t, od_task *task)
{
    life *l = task->note;
    if (l)
        return l;
    l = t->spare;
    if (l)
        t->spare = l->next;
    else
        l = od_malloc(sizeof *l);
    if (l)
        *l = new_life(NEVER, NEVER);
    else
        t->incomplete = true;
    task->note = l;
    return l;
}

static od_trace_task about_task(const json *t, const od_task *task)
{
    od_trace_task about = {.number = task->id, .name = "task"};
    t->run.describe(t->run.arg, task, &about);
    return about;
}

static void write_task(json *t, const od_event *event, const life *l)
{
    const od_task *task = event->task;
    od_trace_task about = about_task(t, task);
    uint64_t from = task->from_ns ? task->from_ns : l->started_ns, to = task->to_ns ? task->to_ns : event->ns;
    unsigned lane = take_lane(t, event->place, OD_TASKS, &from, &to);
    char *at = begin_span(t, event->place, OD_TASKS, lane, from, to);
    at = od_json_string(at, "name", about.name);
    at = od_put(at, ",\"cat\":\"task\"");
    at = od_put_u64(od_json_args(at, "task"), about.number);
    at = od_put_number(od_json_member(at, "priority"), task->priority);
    at = time_if(t, at, "created_us", l->created_ns);
    at = time_if(t, at, "ready_us", l->ready_ns);
    at = time_if(t, at, "planned_us", l->planned_ns);
    at = time_if(t, at, "buffered_us", l->buffered_ns);
    at = time_if(t, at, "committed_us", l->committed_ns);
    if (task->from_ns)
        at = time_at(t, at, "started_us", l->started_ns);
    if (task->to_ns)
        at = time_at(t, at, "ended_us", event->ns);
    if (about.synchronous)
        at = od_put(at, ",\"synchronous\":true");
    if (about.source)
        at = od_json_string(at, "source", about.source);
    if (task->failed)
        at = od_put(at, ",\"failed\":true");
    at = od_json_depends(at, &t->run, task);
    end(t, od_put(od_json_uses(at, &t->run, task), "}"));
    write_flows(t, task, lane, from);
}

static void finish_task(json *t, const od_event *event)
{
    od_task *task = event->task;
    life *l = task->note;
    process_of(t, event->place)->running--;
    if (!l)
        return;
    write_task(t, event, l);
    if (task->failed) {
        *l = new_life(l->created_ns, event->ns);
        t->ready++;
        return;
    }
    l->next = t->spare;
    t->spare = l;
    task->note = NULL;
}

/* It leaves the queue that it is in. */
static void leave_queue(json *t, life *l)
{
    process *p = process_of(t, l->place);
    if (l->committed_ns != NEVER)
        p->committed--;
    else if (l->buffered_ns != NEVER)
        p->buffered--;
    else
        t->ready--;
}

static void note_task(json *t, const od_event *event)
{
    bool begins = event->kind == OD_EVENT_TASK_READY;
    life *l = life_of(t, event->task);
    if (!l)
        return;
    if (!begins || l->ready_ns != NEVER)
        leave_queue(t, l);
    process *p = process_of(t, event->place);
    l->place = event->place;
    switch (event->kind) {
    case OD_EVENT_TASK_READY:
        *l = new_life(l->created_ns, event->ns);
        t->ready++;
        write_ready(t, event->ns);
        return;
    case OD_EVENT_TASK_PLANNED:
        l->planned_ns = event->ns;
        t->ready++;
        return;
    case OD_EVENT_TASK_BUFFERED:
        l->buffered_ns = event->ns;
        p->buffered++;
        write_ready(t, event->ns);
        break;
    case OD_EVENT_TASK_COMMITTED:
        l->committed_ns = event->ns;
        p->committed++;
        return; /* mostly a moment before its start */
    default:
        l->started_ns = event->ns;
        p->running++;
    }
    write_queues(t, event->place, event->ns);
}

static void note_creation(json *t, const od_event *event)
{
    life *l = life_of(t, event->task);
    if (l)
        l->created_ns = event->ns;
}

static void task_event(json *t, const od_event *event)
{
    if (event->kind != OD_EVENT_TASK_FINISHED) {
        note_task(t, event);
        return;
    }
    finish_task(t, event);
    write_queues(t, event->place, event->ns);
}

/* --- transfers ------------------------------------------------------------------- */

static void write_transfer(json *t, const od_event *event)
{
    const od_transfer *x = event->transfer;
    int place = od_track_place(x);
    uint64_t from = x->start_ns, to = x->end_ns;
    od_track track = od_track_of(x);
    unsigned lane = take_lane(t, place, track, &from, &to);
    char *at = begin_span(t, place, track, lane, from, to);
    at = od_json_string(at, "name", od_transfer_name(x));
    at = od_put(at, ",\"cat\":\"transfer\"");
    at = od_put_address(od_json_args(at, "datum"), x->datum->base);
    at = od_json_number(at, "size", x->datum->size);
    at = od_json_number(at, "offset", x->offset);
    at = od_json_number(at, "bytes", x->bytes);
    at = od_json_place(at, "from", x->from);
    at = od_json_place(at, "to", x->to);
    at = time_at(t, at, "queued_us", x->queued_ns);
    at = od_put(at, x->demanded ? ",\"demanded\":true" : ",\"demanded\":false");
    if (x->kind == OD_LOAD)
        at = od_put(at, x->datum->replica[x->to].loads > 1 ? ",\"reload\":true" : ",\"reload\":false");
    if (event->failed)
        at = od_put(at, ",\"failed\":true");
    end(t, od_put(at, "}"));
    if (x->kind == OD_LOAD && !event->failed)
        remember_arrival(t, x, (arrival){x->datum->base, from, to, lane, track});
}

/* --- decisions, stalls --------------------------------------------------------------- */

static void write_eviction(json *t, const od_event *event)
{
    const char *name = od_event_name(event->kind);
    char *at = begin_instant(t, event->place, OD_EVICTIONS, event->ns, name);
    at = od_json_datum(od_json_string(at, "cat", name), event->datum);
    if (event->kind == OD_EVENT_EVICT)
        at = od_json_string(at, "reason", od_evict_reason_name((od_evict_reason)event->reason));
    end(t, od_put(od_json_scores(at, event, 0), "}"));
}

static void write_decision(json *t, const od_event *event)
{
    const char *name = od_decision_name((od_decision_kind)event->reason);
    char *at = begin_instant(t, event->place, OD_DECISIONS, event->ns, name);
    at = od_put(at, ",\"cat\":\"decision\"");
    if (event->datum)
        at = od_json_datum(at, event->datum);
    else if (event->task)
        at = od_put_u64(od_json_args(at, "task"), about_task(t, event->task).number);
    else
        at = od_put_number(od_json_args(at, event->scores[0].name), event->scores[0].value);
    end(t, od_put(od_json_scores(at, event, !event->datum && !event->task), "}"));
}

/* Settings that were tried; and once half of their tasks are done, how long that took. */
static void write_settings(json *t, const od_event *event)
{
    const char *name = event->choice->half_taken > 0 ? "settings, halfway" : "settings";
    char *at = begin_instant(t, OD_HOST, OD_DECISIONS, event->ns, name);
    end(t, od_put(od_json_choice(od_put(at, ",\"cat\":\"settings\""), event->choice), "}"));
}

/* A stall, or a page fault: a device, or one of its kernels, waited. */
static void write_wait(json *t, const od_event *event, od_track track, const char *name)
{
    uint64_t from = event->since_ns, to = event->ns;
    unsigned lane = take_lane(t, event->place, track, &from, &to);
    char *at = begin_span(t, event->place, track, lane, from, to);
    at = od_json_string(at, "name", name);
    at = od_json_string(at, "cat", od_event_name(event->kind));
    end(t, event->datum ? od_put(od_json_datum(at, event->datum), "}") : at);
}

static void json_event(void *state, const od_event *event)
{
    json *t = state;
    switch (event->kind) {
    case OD_EVENT_TASK_CREATED:
        note_creation(t, event);
        break;
    case OD_EVENT_TRANSFER_QUEUED: /* od_transfer.queued_ns */
    case OD_EVENT_TRANSFER_STARTED:
    case OD_EVENT_LOAD: /* its transfer says it all */
        break;
    case OD_EVENT_TRANSFER_FINISHED:
        write_transfer(t, event);
        break;
    case OD_EVENT_EVICT:
    case OD_EVENT_DROP:
        write_eviction(t, event);
        break;
    case OD_EVENT_DECISION:
        write_decision(t, event);
        break;
    case OD_EVENT_SETTINGS:
        write_settings(t, event);
        break;
    case OD_EVENT_WAITING:
        write_waiting(t, event);
        break;
    case OD_EVENT_MEMORY:
        write_memory(t, event);
        break;
    case OD_EVENT_STALL:
        write_wait(t, event, OD_STALLS, od_stall_cause_name((od_stall_cause)event->reason));
        break;
    case OD_EVENT_FAULT:
        write_wait(t, event, OD_FAULTS, od_event_name(event->kind));
        break;
    default:
        task_event(t, event);
    }
}

/* --- data constructs, kernels ------------------------------------------------------------ */

static void write_construct(void *state, const od_trace_construct *construct)
{
    json *t = state;
    uint64_t from = construct->from_ns, to = construct->to_ns;
    unsigned lane = take_lane(t, OD_HOST, OD_CONSTRUCTS, &from, &to);
    char *at = begin_span(t, OD_HOST, OD_CONSTRUCTS, lane, from, to);
    at = od_json_string(at, "name", construct->name);
    end(t, od_put(od_json_construct(od_put(at, ",\"cat\":\"construct\""), construct), "}"));
}

static void write_about(void *state, const char *name, od_trace_put *put, const void *what)
{
    json *t = state;
    end(t, od_put(put(od_json_string(begin(t, "M", OD_HOST), "name", name), what), "}"));
}

/* --- a file ------------------------------------------------------------------------ */

static void write_head(json *t, const od_trace_run *run)
{
    char *at = od_put(begin(t, "M", OD_HOST), ",\"name\":\"ompdarts\"");
    at = od_put_u64(od_json_args(at, "schema"), OD_TRACE_SCHEMA);
    at = od_json_string(at, "version", OMPDARTS_VERSION);
    at = od_json_string(at, "program", run->program);
    if (run->command)
        at = od_put_string(od_json_member(at, "command"), run->command, MOST_COMMAND);
    if (run->host)
        at = od_json_string(at, "host", run->host);
    if (run->date)
        at = od_json_number(at, "date", (uint64_t)run->date);
    if (run->processors)
        at = od_json_number(at, "processors", run->processors);
    if (run->active)
        at = od_json_number(at, "active", run->active);
    at = od_json_string(at, "policy", run->policy);
    at = od_json_string(at, "eviction", run->evict);
    at = od_json_number(at, "seed", run->seed);
    at = od_json_number(at, "devices", run->ndevices);
    end(t, od_put(od_json_number(at, "memory_bytes", run->memory), "}"));
    name_process(t, OD_HOST, "host");
    for (unsigned k = 0; k < run->ndevices; k++)
        name_process(t, (int)k, run->device[k]);
    t->run.device = t->run.rank_host = NULL; /* not kept, nor are ranks */
    t->run.rank = NULL;
}

static void *json_open(const char *path, const od_trace_run *run)
{
    json *t = od_calloc(1, sizeof *t + (run->ndevices + 1) * sizeof t->process[0]);
    if (!t)
        return NULL;
    t->run = *run;
    t->sink = od_sink_open(path, run->threaded);
    if (!t->sink) {
        free(t);
        return NULL;
    }
    write_head(t, run);
    return t;
}

static void free_trace(json *t)
{
    for (life *l; (l = t->spare);) {
        t->spare = l->next;
        free(l);
    }
    for (unsigned i = 0; i <= t->run.ndevices; i++)
        free(t->process[i].arrivals);
    free(t);
}

static od_status json_close(void *state)
{
    json *t = state;
    od_sink_commit(t->sink, od_put(od_sink_reserve(t->sink), "\n]\n"));
    od_status status = od_sink_close(t->sink);
    if (!status && t->incomplete) {
        od_log(OD_LOG_WARNING, "trace", "out of host memory for some tasks: the trace lacks them");
        status = OD_EIO;
    }
    free_trace(t);
    return status;
}

static void json_abandon(void *state)
{
    json *t = state;
    od_sink_abandon(t->sink);
    free_trace(t);
}

const od_trace_format od_trace_json = {json_open,   json_event, write_construct,
                                       write_about, json_close, json_abandon};
