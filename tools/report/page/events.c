/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See events.h. Times are whole tenths of microseconds since the first task was ready. Tasks and transfers come by
 * their device and begin, so that differences are small; where there are too many, neighbours of one kind become one
 * span that begins with the first, lasts as long as all of them together, and says how many they are.
 */
#include "tools/report/page/events.h"

#include "tools/report/page/column.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct shown {
    size_t index; /* of the first */
    uint32_t count;
    int track; /* only spans of one track are joined */
    double from_us, time_us;
} shown;

typedef struct shown_spans {
    shown *at;
    size_t n;
    double resolution_us; /* what has been joined lay within; 0: nothing has been */
} shown_spans;

typedef struct events {
    FILE *out;
    const report_run *run;
    shown_spans tasks, transfers, stalls;
    bool detailed;
} events;

/* --- what is shown ---------------------------------------------------------------- */

static int by_track(const void *a, const void *b)
{
    const shown *first = a, *second = b;
    if (first->track != second->track)
        return first->track < second->track ? -1 : 1;
    if (first->from_us != second->from_us)
        return first->from_us < second->from_us ? -1 : 1;
    return (first->index > second->index) - (first->index < second->index);
}

typedef int kind_of(const trace_file *trace, size_t index);

static bool joins(const events *e, const shown *last, const shown *next, kind_of *kind, double resolution_us)
{
    const trace_file *t = &e->run->trace;
    return last->track == next->track && next->from_us + next->time_us - last->from_us <= resolution_us &&
           kind(t, last->index) == kind(t, next->index);
}

static void join(const events *e, shown_spans *s, kind_of *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        shown *last = n ? &s->at[n - 1] : NULL;
        if (!last || !joins(e, last, &s->at[i], kind, s->resolution_us)) {
            s->at[n++] = s->at[i];
            continue;
        }
        last->time_us += s->at[i].time_us;
        last->count += s->at[i].count;
    }
    s->n = n;
}

static void settle(const events *e, shown_spans *s, size_t most, kind_of *kind)
{
    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, by_track);
    for (double share = 0x1p-20; s->n > most && share < 1; share *= 2) {
        s->resolution_us = share * e->run->figures.makespan_us;
        join(e, s, kind);
    }
}

static int task_kind(const trace_file *trace, size_t task)
{
    return (int)trace->tasks[task].name;
}

static int transfer_kind(const trace_file *trace, size_t transfer)
{
    return (int)trace->transfers[transfer].kind;
}

/* Those between the host and a spill area are on no device. */
static int transfer_track(const trace_transfer *x)
{
    enum { IN, OUT, PEER, WAYS };
    int device = x->to >= 0 ? x->to : x->from;
    return device < 0 ? -1 : device * WAYS + (x->to < 0 ? OUT : x->from < 0 ? IN : PEER);
}

static int stall_kind(const trace_file *trace, size_t stall)
{
    return (int)trace->stalls[stall].cause;
}

static void collect(events *e)
{
    const trace_file *t = &e->run->trace;
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        e->tasks.at[e->tasks.n++] = (shown){i, 1, task->place, task->from_us, task->to_us - task->from_us};
    }
    for (size_t i = 0; i < t->ntransfers; i++) {
        const trace_transfer *x = &t->transfers[i];
        if (transfer_track(x) >= 0)
            e->transfers.at[e->transfers.n++] = (shown){i, 1, transfer_track(x), x->from_us, x->to_us - x->from_us};
    }
    for (size_t i = 0; i < t->nstalls; i++) {
        const trace_stall *x = &t->stalls[i];
        e->stalls.at[e->stalls.n++] = (shown){i, 1, x->place, x->from_us, x->to_us - x->from_us};
    }
}

static bool choose(events *e, size_t most)
{
    const trace_file *t = &e->run->trace;
    e->tasks.at = malloc((t->ntasks + 1) * sizeof *e->tasks.at);
    e->transfers.at = malloc((t->ntransfers + 1) * sizeof *e->transfers.at);
    e->stalls.at = malloc((t->nstalls + 1) * sizeof *e->stalls.at);
    if (!e->tasks.at || !e->transfers.at || !e->stalls.at)
        return false;
    collect(e);
    settle(e, &e->tasks, most, task_kind);
    settle(e, &e->transfers, most, transfer_kind);
    settle(e, &e->stalls, most, stall_kind);
    e->detailed = t->ntasks <= most / 4;
    return true;
}

/* --- columns ---------------------------------------------------------------------- */

static int64_t tenths(double us)
{
    return llround(us * 10);
}

typedef int64_t value_of(const events *e, const shown *s);

typedef struct column_kind {
    const char *name;
    bool differences;
    value_of *value;
} column_kind;

static void put_columns(const events *e, const shown_spans *s, const column_kind *kinds, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        column c;
        fprintf(e->out, "%s\"%s\":", k ? ",\n" : "", kinds[k].name);
        column_begin(&c, e->out, kinds[k].differences);
        for (size_t i = 0; i < s->n; i++)
            column_put(&c, kinds[k].value(e, &s->at[i]));
        column_end(&c);
    }
}

#define PUT_COLUMNS(e, spans, kinds) put_columns(e, spans, kinds, sizeof(kinds) / sizeof *(kinds))

static int64_t from(const events *e, const shown *s)
{
    return tenths(s->from_us - e->run->figures.begin_us);
}

/* Rounded so that what does not overlap does not overlap here. */
static int64_t lasts(const events *e, const shown *s)
{
    return tenths(s->from_us + s->time_us - e->run->figures.begin_us) - from(e, s);
}

static int64_t count(const events *e, const shown *s)
{
    (void)e;
    return s->count;
}

static const trace_task *task_of(const events *e, const shown *s)
{
    return &e->run->trace.tasks[s->index];
}

static int64_t task_place(const events *e, const shown *s)
{
    return task_of(e, s)->place;
}

static int64_t task_name(const events *e, const shown *s)
{
    return task_of(e, s)->name;
}

static int64_t task_number(const events *e, const shown *s)
{
    return (int64_t)task_of(e, s)->number;
}

static int64_t task_uses(const events *e, const shown *s)
{
    return task_of(e, s)->nuses;
}

static int64_t waited(const events *e, const shown *s, task_wait which)
{
    double wait_us[TASK_WAITS];
    run_waits(task_of(e, s), &e->run->flow[s->index], wait_us);
    return tenths(wait_us[which]);
}

static int64_t waits_dependences(const events *e, const shown *s)
{
    return waited(e, s, WAIT_DEPENDENCES);
}

static int64_t waits_queue(const events *e, const shown *s)
{
    return waited(e, s, WAIT_QUEUE);
}

static int64_t waits_data(const events *e, const shown *s)
{
    return waited(e, s, WAIT_DATA);
}

static int64_t waits_slot(const events *e, const shown *s)
{
    return waited(e, s, WAIT_SLOT);
}

/* The data of all tasks, one after the other. */
static void put_uses(const events *e)
{
    const trace_file *t = &e->run->trace;
    for (int variables = 0; variables < 2; variables++) {
        column c;
        fputs(variables ? ",\n\"variables\":" : ",\n\"data\":", e->out);
        column_begin(&c, e->out, true);
        for (size_t i = 0; i < e->tasks.n; i++) {
            const trace_task *task = task_of(e, &e->tasks.at[i]);
            for (uint32_t u = 0; u < task->nuses; u++) {
                const trace_use *use = &t->uses[task->first_use + u];
                int64_t variable = use->variable == TRACE_NO_NAME ? -1 : (int64_t)use->variable;
                column_put(&c, variables ? variable : (int64_t)use->datum * 4 + use->mode);
            }
        }
        column_end(&c);
    }
}

static void put_tasks(const events *e)
{
    static const column_kind kinds[] = {{"place", true, task_place},
                                        {"from", true, from},
                                        {"time", false, lasts},
                                        {"name", true, task_name},
                                        {"number", true, task_number}};
    static const column_kind details[] = {{"dependences", false, waits_dependences},
                                          {"queue", false, waits_queue},
                                          {"arrival", false, waits_data},
                                          {"slot", false, waits_slot},
                                          {"uses", true, task_uses}};
    static const column_kind joined[] = {{"count", false, count}};
    fprintf(e->out, "\"tasks\":{\"n\":%zu,\"resolution\":%.1f,\"detailed\":%s,\n", e->tasks.n, e->tasks.resolution_us,
            e->detailed ? "true" : "false");
    PUT_COLUMNS(e, &e->tasks, kinds);
    fputs(e->tasks.resolution_us > 0 || e->detailed ? ",\n" : "", e->out);
    if (e->tasks.resolution_us > 0)
        PUT_COLUMNS(e, &e->tasks, joined);
    else if (e->detailed) {
        PUT_COLUMNS(e, &e->tasks, details);
        put_uses(e);
    }
    fputs("},\n", e->out);
}

static const trace_transfer *transfer_of(const events *e, const shown *s)
{
    return &e->run->trace.transfers[s->index];
}

static int64_t transfer_what(const events *e, const shown *s)
{
    const trace_transfer *x = transfer_of(e, s);
    return (int64_t)x->kind + 4 * x->reload + 8 * x->demanded;
}

static int64_t transfer_from(const events *e, const shown *s)
{
    return transfer_of(e, s)->from;
}

static int64_t transfer_to(const events *e, const shown *s)
{
    return transfer_of(e, s)->to;
}

static int64_t transfer_datum(const events *e, const shown *s)
{
    return transfer_of(e, s)->datum;
}

static int64_t transfer_bytes(const events *e, const shown *s)
{
    const trace_transfer *x = transfer_of(e, s);
    return (int64_t)(x->bytes - e->run->trace.data[x->datum].size);
}

static int64_t transfer_queued(const events *e, const shown *s)
{
    const trace_transfer *x = transfer_of(e, s);
    return tenths(x->from_us - x->queued_us);
}

static void put_transfers(const events *e)
{
    static const column_kind kinds[] = {{"what", true, transfer_what}, {"source", true, transfer_from},
                                        {"target", true, transfer_to}, {"datum", false, transfer_datum},
                                        {"from", true, from},          {"time", false, lasts}};
    static const column_kind details[] = {{"rest", false, transfer_bytes}, {"queued", false, transfer_queued}};
    static const column_kind joined[] = {{"count", false, count}};
    fprintf(e->out, "\"transfers\":{\"n\":%zu,\"resolution\":%.1f,\n", e->transfers.n, e->transfers.resolution_us);
    PUT_COLUMNS(e, &e->transfers, kinds);
    fputs(",\n", e->out);
    if (e->transfers.resolution_us > 0)
        PUT_COLUMNS(e, &e->transfers, joined);
    else
        PUT_COLUMNS(e, &e->transfers, details);
    fputs("},\n", e->out);
}

static int64_t stall_place(const events *e, const shown *s)
{
    return e->run->trace.stalls[s->index].place;
}

static int64_t stall_cause(const events *e, const shown *s)
{
    return (int64_t)e->run->trace.stalls[s->index].cause;
}

static void put_stalls(const events *e)
{
    static const column_kind kinds[] = {
        {"place", true, stall_place}, {"cause", false, stall_cause}, {"from", true, from}, {"time", false, lasts}};
    fprintf(e->out, "\"stalls\":{\"n\":%zu,\n", e->stalls.n);
    PUT_COLUMNS(e, &e->stalls, kinds);
    fputs("},\n", e->out);
}

/* --- data, memory, the critical path --------------------------------------------------- */

typedef enum about_datum { ADDRESS, SIZE, LOADS, ABOUT_DATUM } about_datum;

static void put_data_column(const events *e, about_datum what, const uint32_t *loads)
{
    const trace_datum *data = e->run->trace.data;
    column c;
    column_begin(&c, e->out, what != LOADS);
    for (size_t i = 0; i < e->run->trace.ndata; i++)
        column_put(&c, (int64_t)(what == ADDRESS ? data[i].address : what == SIZE ? data[i].size : loads[i]));
    column_end(&c);
}

static bool put_data(const events *e)
{
    static const char *const names[ABOUT_DATUM] = {"address", "size", "loads"};
    const trace_file *t = &e->run->trace;
    uint32_t *loads = calloc(t->ndata + 1, sizeof *loads);
    for (size_t i = 0; loads && i < t->ntransfers; i++)
        loads[t->transfers[i].datum] += t->transfers[i].kind == TRACE_LOAD && !t->transfers[i].failed;
    fprintf(e->out, "\"data\":{\"n\":%zu", t->ndata);
    for (unsigned what = 0; loads && what < ABOUT_DATUM; what++) {
        fprintf(e->out, ",\n\"%s\":", names[what]);
        put_data_column(e, what, loads);
    }
    fputs("},\n", e->out);
    free(loads);
    return loads;
}

/* The most that a device had in use in each of so many equal parts of the run. */
enum { LEVELS = 600 };

static void put_level(const events *e, int device)
{
    const trace_file *t = &e->run->trace;
    const run_figures *f = &e->run->figures;
    uint64_t most[LEVELS] = {0}, now = 0;
    size_t part = 0;
    for (size_t i = 0; i < t->nlevels; i++) {
        const trace_level *level = &t->levels[i];
        double share = f->makespan_us > 0 ? (level->at_us - f->begin_us) / f->makespan_us : 0;
        size_t at = share <= 0 ? 0 : share * LEVELS < LEVELS - 1 ? (size_t)(share * LEVELS) : LEVELS - 1;
        if (level->place != device)
            continue;
        for (; part < at; part++)
            most[part + 1] = now;
        now = level->bytes;
        most[at] = now > most[at] ? now : most[at];
    }
    for (; part + 1 < LEVELS; part++)
        most[part + 1] = now;
    column c;
    column_begin(&c, e->out, true);
    for (size_t i = 0; i < LEVELS; i++)
        column_put(&c, (int64_t)most[i]);
    column_end(&c);
}

static void put_levels(const events *e)
{
    fprintf(e->out, "\"levels\":{\"n\":%u,\"device\":[", LEVELS);
    for (unsigned k = 0; k < e->run->trace.ndevices; k++) {
        fputs(k ? ",\n" : "", e->out);
        put_level(e, (int)k);
    }
    fputs("]},\n", e->out);
}

typedef enum about_step { PLACE, FROM, TIME, NAME, NUMBER, ABOUT_STEP } about_step;

static int64_t about(const events *e, const trace_task *task, about_step what)
{
    const int64_t values[ABOUT_STEP] = {[PLACE] = task->place,
                                        [FROM] = tenths(task->from_us - e->run->figures.begin_us),
                                        [TIME] = tenths(task->to_us - task->from_us),
                                        [NAME] = task->name,
                                        [NUMBER] = (int64_t)task->number};
    return values[what];
}

static void put_path(const events *e)
{
    static const char *const names[ABOUT_STEP] = {"place", "from", "time", "name", "number"};
    const run_path *path = &e->run->path;
    fprintf(e->out, "\"path\":{\"n\":%zu,\"work\":%.1f", path->n, path->work_us);
    for (unsigned what = 0; what < ABOUT_STEP; what++) {
        column c;
        fprintf(e->out, ",\n\"%s\":", names[what]);
        column_begin(&c, e->out, true);
        for (size_t i = 0; i < path->n; i++)
            column_put(&c, about(e, &e->run->trace.tasks[path->tasks[i]], what));
        column_end(&c);
    }
    fputs("},\n", e->out);
}

od_status page_put_events(FILE *out, const report_run *run, size_t most)
{
    events e = {.out = out, .run = run};
    bool ok = choose(&e, most);
    if (ok) {
        put_tasks(&e);
        put_transfers(&e);
        put_stalls(&e);
        put_levels(&e);
        put_path(&e);
        ok = put_data(&e);
    }
    free(e.tasks.at);
    free(e.transfers.at);
    free(e.stalls.at);
    return ok ? OD_OK : OD_ENOMEM;
}
