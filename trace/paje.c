/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From events to a trace in the format of Paje, which ViTE and other tools read (Schnorr, de Kergommeaux: "Paje trace
 * file format"). Lines must be in the order of time, and spans are known when they end: everything is kept, 24 bytes
 * for each line, and sorted at the end.
 *
 * Containers: the run, in it the host and the devices, in these the lanes of each kind of work, whose states are what
 * runs there. Where devices are of several ranks, places are in ranks, and these in the run; the host is in rank 0.
 * Memory in use is a variable of a device, waiting tasks one of the host; evictions are events of a device.
 */
#include "memmgr/data/transfer.h"
#include "trace/format.h"
#include "trace/sink.h"
#include "trace/text.h"
#include "util/container/array.h"
#include "util/log.h"
#include "util/memory.h"

#include <errno.h>
#include <stdlib.h>

enum { NOTHING, MOST_NAMES = 1024, MOST_NAME = 120 };

/* A line. Of those at one time the ends of states come first. */
typedef enum line_kind { STATE_END, STATE, LEVEL, WAITING, EVICTION } line_kind;

typedef struct line {
    uint64_t ns;
    uint64_t value; /* of a state: its name; of a level: bytes; of waiting: tasks; of an eviction: the reason */
    uint32_t kind : 3, track : 3, lane : 5, place : 21; /* the host's place is the number of devices */
    uint32_t order;                                     /* of lines of one time and kind */
} line;

typedef struct paje {
    od_sink *sink;
    od_trace_run run;
    char (*device)[MOST_NAME];    /* names, the host's last */
    char (*rank)[MOST_NAME];      /* of each of these, if there are several: "rank 1 on node07"; else NULL */
    od_lanes (*lanes)[OD_TRACKS]; /* by place */
    unsigned (*used)[OD_TRACKS];  /* lanes */
    line *lines;
    size_t nlines;
    uint32_t room;
    char *name[MOST_NAMES]; /* of states; the first one stands for none */
    unsigned nnames;
    bool incomplete;
} paje;

/* --- what is kept ----------------------------------------------------------- */

static unsigned place_of(const paje *p, int place)
{
    return place >= 0 && place < (int)p->run.ndevices ? (unsigned)place : p->run.ndevices;
}

static void keep(paje *p, line what)
{
    if (!od_array_reserve(&p->lines, &p->room, p->nlines + 1, sizeof *p->lines)) {
        p->incomplete = true;
        return;
    }
    what.order = (uint32_t)p->nlines;
    p->lines[p->nlines++] = what;
}

/* Beyond the most names, or out of memory: the last one. */
static unsigned name_of(paje *p, const char *name)
{
    for (unsigned i = 0; i < p->nnames; i++)
        if (strcmp(p->name[i], name) == 0)
            return i;
    if (p->nnames == MOST_NAMES || !(p->name[p->nnames] = strdup(name)))
        return p->nnames - 1;
    return p->nnames++;
}

static void keep_span(paje *p, int at, od_track track, uint64_t from, uint64_t to, const char *name)
{
    unsigned place = place_of(p, at), lane = od_lane_take(&p->lanes[place][track], &from, &to);
    uint64_t begin = od_trace_time(&p->run, from), end = od_trace_time(&p->run, to);
    line what = {.ns = begin,
                 .value = name_of(p, name),
                 .kind = STATE,
                 .track = track & 7,
                 .lane = lane & 31,
                 .place = place & 0x1fffff};
    if (lane >= p->used[place][track])
        p->used[place][track] = lane + 1;
    if (end <= begin) /* nothing to be seen, and its end must not come before its begin */
        return;
    keep(p, what);
    what.ns = end;
    what.kind = STATE_END;
    what.value = NOTHING;
    keep(p, what);
}

static void keep_task(paje *p, const od_event *event)
{
    const od_task *task = event->task;
    od_trace_task about = {.name = "task"};
    p->run.describe(p->run.arg, task, &about);
    keep_span(p, event->place, OD_TASKS, task->from_ns ? task->from_ns : task->start_ns,
              task->to_ns ? task->to_ns : event->ns, about.name);
}

static void paje_event(void *state, const od_event *event)
{
    paje *p = state;
    const od_transfer *x = event->transfer;
    line what = {.ns = od_trace_time(&p->run, event->ns), .place = place_of(p, event->place) & 0x1fffff};
    switch (event->kind) {
    case OD_EVENT_TASK_FINISHED:
        keep_task(p, event);
        break;
    case OD_EVENT_TRANSFER_FINISHED:
        keep_span(p, od_track_place(x), od_track_of(x), x->start_ns, x->end_ns, od_transfer_name(x));
        break;
    case OD_EVENT_STALL:
        keep_span(p, event->place, OD_STALLS, event->since_ns, event->ns,
                  od_stall_cause_name((od_stall_cause)event->reason));
        break;
    case OD_EVENT_FAULT:
        keep_span(p, event->place, OD_FAULTS, event->since_ns, event->ns, od_event_name(event->kind));
        break;
    case OD_EVENT_MEMORY:
        what.kind = LEVEL;
        what.value = event->bytes;
        keep(p, what);
        break;
    case OD_EVENT_WAITING:
        what.kind = WAITING;
        what.value = event->tasks;
        keep(p, what);
        break;
    case OD_EVENT_EVICT:
        what.kind = EVICTION;
        what.value = event->reason;
        keep(p, what);
        break;
    default:
        break;
    }
}

/* --- lines -------------------------------------------------------------------- */

static const char header[] =
    "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineVariableType 2\n% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef\n"
    "%EventDef PajeDefineEventType 3\n% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 4\n% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 5\n% Time date\n% Alias string\n% Type string\n% Container string\n% Name "
    "string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 6\n% Time date\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeSetState 7\n% Time date\n% Type string\n% Container string\n% Value string\n%EndEventDef\n"
    "%EventDef PajeSetVariable 8\n% Time date\n% Type string\n% Container string\n% Value double\n%EndEventDef\n"
    "%EventDef PajeNewEvent 9\n% Time date\n% Type string\n% Container string\n% Value string\n%EndEventDef\n"
    "0 Run 0 \"Run\"\n";
static const char place_in_run[] = "0 Place Run \"Place\"\n";
static const char place_in_rank[] = "0 Rank Run \"Rank\"\n0 Place Rank \"Place\"\n";
static const char rest_of_types[] =
    "0 Lane Place \"Lane\"\n1 Work Lane \"Work\"\n"
    "2 Memory Place \"Memory (bytes)\" \"0.2 0.5 0.8\"\n2 Waiting Place \"Waiting tasks\" \"0.5 0.4 0.7\"\n"
    "3 Eviction Place \"Eviction\" \"0.8 0.3 0.2\"\n";

static char *put_seconds(char *at, uint64_t ns)
{
    unsigned digits[9], rest = (unsigned)(ns % 1000000000);
    for (unsigned i = 9; i-- > 0; rest /= 10)
        digits[i] = rest % 10;
    at = od_put_u64(at, ns / 1000000000);
    *at++ = '.';
    for (unsigned i = 0; i < 9; i++)
        *at++ = (char)('0' + digits[i]);
    *at++ = ' ';
    return at;
}

/* "P2" for a place, "L2_0_1" for a lane of it. */
static char *put_place(char *at, unsigned place)
{
    *at++ = 'P';
    return od_put_u64(at, place);
}

static char *put_lane(char *at, unsigned place, unsigned track, unsigned lane)
{
    *at++ = 'L';
    at = od_put_u64(at, place);
    *at++ = '_';
    at = od_put_u64(at, track);
    *at++ = '_';
    return od_put_u64(at, lane);
}

static void write_text(paje *p, const char *text)
{
    od_sink_commit(p->sink, od_put(od_sink_reserve(p->sink), text));
}

/* In quotes, which Paje does not let occur inside. */
static char *put_quoted(char *at, const char *text)
{
    *at++ = '"';
    for (size_t n = 0; *text && n < MOST_NAME; n++, text++)
        *at++ = *text == '"' || (unsigned char)*text < 0x20 ? '\'' : *text;
    *at++ = '"';
    return at;
}

static void write_value(paje *p, unsigned name)
{
    static const char *const colours[] = {"0.23 0.49 0.85", "0.88 0.54 0.12", "0.07 0.63 0.71", "0.76 0.33 0.62",
                                          "0.49 0.56 0.14", "0.60 0.44 0.31", "0.35 0.37 0.75", "0.42 0.48 0.55"};
    char *at = od_put(od_sink_reserve(p->sink), "4 S");
    at = od_put_u64(at, name);
    at = put_quoted(od_put(at, " Work "), p->name[name]);
    at = od_put(at, " \"");
    at = od_put(at, name == NOTHING ? "0.95 0.95 0.95" : colours[name % (sizeof colours / sizeof *colours)]);
    od_sink_commit(p->sink, od_put(at, "\"\n"));
}

enum { NO_RANK = -1 };

/* The first place of the same rank, which stands for it. */
static int rank_of(const paje *p, unsigned place)
{
    unsigned first = 0;
    if (!p->rank)
        return NO_RANK;
    while (strcmp(p->rank[first], p->rank[place]) != 0)
        first++;
    return (int)first;
}

/* "R" for the run, "R2" for a rank. */
static char *put_rank(char *at, int rank)
{
    *at++ = 'R';
    return rank == NO_RANK ? at : od_put_u64(at, (uint64_t)rank);
}

static void write_rank(paje *p, int rank)
{
    char *at = put_rank(od_put(od_sink_reserve(p->sink), "5 0.0 "), rank);
    at = put_quoted(od_put(at, " Rank R "), p->rank[rank]);
    od_sink_commit(p->sink, od_put(at, "\n"));
}

static void write_containers(paje *p)
{
    write_text(p, "5 0.0 R Run 0 \"run\"\n");
    for (unsigned place = 0; place <= p->run.ndevices; place++) {
        int rank = rank_of(p, place);
        if (rank == (int)place)
            write_rank(p, rank);
        char *at = put_place(od_put(od_sink_reserve(p->sink), "5 0.0 "), place);
        at = put_rank(od_put(at, " Place "), rank);
        *at++ = ' ';
        at = put_quoted(at, p->device[place]);
        od_sink_commit(p->sink, od_put(at, "\n"));
        for (unsigned track = 0; track < OD_TRACKS; track++)
            for (unsigned lane = 0; lane < p->used[place][track]; lane++) {
                at = put_lane(od_put(od_sink_reserve(p->sink), "5 0.0 "), place, track, lane);
                at = put_place(od_put(at, " Lane "), place);
                *at++ = ' ';
                at = put_quoted(at, od_track_name((od_track)track));
                od_sink_commit(p->sink, od_put(at, "\n"));
            }
    }
}

static void write_line(paje *p, const line *what)
{
    static const struct {
        const char *event, *type;
    } words[] = {[STATE_END] = {"7 ", "Work "},
                 [STATE] = {"7 ", "Work "},
                 [LEVEL] = {"8 ", "Memory "},
                 [WAITING] = {"8 ", "Waiting "},
                 [EVICTION] = {"9 ", "Eviction "}};
    bool state = what->kind <= STATE;
    char *at = od_put(od_sink_reserve(p->sink), words[what->kind].event);
    at = od_put(put_seconds(at, what->ns), words[what->kind].type);
    at = state ? put_lane(at, what->place, what->track, what->lane) : put_place(at, what->place);
    *at++ = ' ';
    if (state)
        *at++ = 'S';
    if (what->kind == EVICTION)
        at = put_quoted(at, od_evict_reason_name((od_evict_reason)what->value));
    else
        at = od_put_u64(at, what->value);
    *at++ = '\n';
    od_sink_commit(p->sink, at);
}

static int by_time(const void *a, const void *b)
{
    const line *first = a, *second = b;
    if (first->ns != second->ns)
        return first->ns < second->ns ? -1 : 1;
    if ((first->kind == STATE_END) != (second->kind == STATE_END))
        return first->kind == STATE_END ? -1 : 1;
    return (first->order > second->order) - (first->order < second->order);
}

static void write_all(paje *p)
{
    uint64_t end = 0;
    qsort(p->lines, p->nlines, sizeof *p->lines, by_time);
    write_text(p, header);
    write_text(p, p->rank ? place_in_rank : place_in_run);
    write_text(p, rest_of_types);
    for (unsigned i = 0; i < p->nnames; i++)
        write_value(p, i);
    write_containers(p);
    for (size_t i = 0; i < p->nlines; i++) {
        write_line(p, &p->lines[i]);
        end = p->lines[i].ns;
    }
    char *at = put_seconds(od_put(od_sink_reserve(p->sink), "6 "), end);
    od_sink_commit(p->sink, od_put(at, "Run R\n"));
}

/* --- a file --------------------------------------------------------------------- */

static void free_paje(paje *p)
{
    for (unsigned i = 0; i < p->nnames; i++)
        free(p->name[i]);
    free(p->device);
    free(p->rank);
    free(p->lanes);
    free(p->used);
    free(p->lines);
    free(p);
}

/* False: out of memory. */
static bool name_ranks(paje *p, const od_trace_run *run)
{
    if (!run->rank)
        return true;
    p->rank = od_calloc(run->ndevices + 1, sizeof *p->rank);
    for (unsigned k = 0; p->rank && k < run->ndevices; k++)
        snprintf(p->rank[k], sizeof p->rank[k], "rank %u on %s", run->rank[k], run->rank_host[k]);
    if (p->rank)
        snprintf(p->rank[run->ndevices], sizeof p->rank[0], "rank 0%s%s", run->host ? " on " : "",
                 run->host ? run->host : "");
    return p->rank;
}

static void *paje_open(const char *path, const od_trace_run *run)
{
    unsigned places = run->ndevices + 1;
    paje *p = od_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->run = *run;
    p->device = od_calloc(places, sizeof *p->device);
    p->lanes = od_calloc(places, sizeof *p->lanes);
    p->used = od_calloc(places, sizeof *p->used);
    bool made = p->device && p->lanes && p->used && name_ranks(p, run) && (p->name[0] = strdup("nothing"));
    p->nnames = made;
    for (unsigned k = 0; made && k < places; k++)
        snprintf(p->device[k], sizeof p->device[k], "%s", k < run->ndevices ? run->device[k] : "host");
    p->sink = made ? od_sink_open(path, false) : NULL;
    if (p->sink)
        return p;
    int error = made ? errno : ENOMEM;
    free_paje(p);
    errno = error;
    return NULL;
}

static od_status paje_close(void *state)
{
    paje *p = state;
    write_all(p);
    od_status status = od_sink_close(p->sink);
    if (!status && p->incomplete) {
        od_log(OD_LOG_WARNING, "trace", "out of host memory: the end of the trace is missing");
        status = OD_EIO;
    }
    free_paje(p);
    return status;
}

static void paje_abandon(void *state)
{
    paje *p = state;
    od_sink_abandon(p->sink);
    free_paje(p);
}

const od_trace_format od_trace_paje = {paje_open, paje_event, NULL, NULL, paje_close, paje_abandon};
