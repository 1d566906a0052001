/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See shares.h. Each name is a set of moments; a device's sets are joined one after the other, and what one adds is its
 * share.
 */
#include "tools/report/shares.h"

#include "tools/report/spans.h"

#include <stdlib.h>

/* What holds for all devices. */
typedef struct snapshot {
    const trace_file *trace;
    run_time time;
    spans host;                      /* host versions run */
    spans kept, handed_late, waiting; /* of some task */
} snapshot;

/* The part within the time that is looked at. */
static void add(const snapshot *s, spans *into, double from, double to)
{
    spans_add(into, from > s->time.from_us ? from : s->time.from_us, to < s->time.to_us ? to : s->time.to_us);
}

/* --- when tasks could have been ready ----------------------------------------------- */

typedef struct order {
    double created_us;
    uint64_t number;
    size_t task;
} order;

static int by_creation(const void *a, const void *b)
{
    const order *x = a, *y = b;
    if (x->created_us != y->created_us)
        return x->created_us < y->created_us ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

typedef struct last_use {
    double written_us, used_us; /* the last writer has ended, the last user */
} last_use;

/* The end of the last of those that must come before the task, by the data that they use; negative: it follows none. */
static double follows_us(const trace_file *t, const trace_task *task, last_use *last)
{
    double after = -1;
    for (uint32_t u = 0; u < task->nuses; u++) {
        const trace_use *use = &t->uses[task->first_use + u];
        last_use *l = &last[use->datum];
        double before = use->mode & OD_WRITE ? l->used_us : l->written_us;
        after = before > after ? before : after;
    }
    for (uint32_t u = 0; u < task->nuses; u++) {
        const trace_use *use = &t->uses[task->first_use + u];
        last_use *l = &last[use->datum];
        l->used_us = task->ended_us > l->used_us ? task->ended_us : l->used_us;
        if (use->mode & OD_WRITE)
            l->written_us = task->ended_us;
    }
    return after;
}

static void look_before_ready(snapshot *s, const trace_task *task, double after)
{
    double from = task->created_us, could = after > from ? after : from;
    bool emitted_late = s->trace->processors && s->trace->ndevices >= s->trace->processors && after >= 0;
    if (from < 0)
        return;
    if (could > task->ready_us || !emitted_late)
        could = task->ready_us;
    add(s, &s->waiting, from, could);
    add(s, &s->handed_late, could, task->ready_us);
}

static bool look_at_creation(snapshot *s)
{
    const trace_file *t = s->trace;
    order *tasks = malloc((t->ntasks + 1) * sizeof *tasks);
    last_use *last = malloc((t->ndata + 1) * sizeof *last);
    size_t n = 0;
    for (size_t i = 0; tasks && last && i < t->ntasks; i++)
        if (!t->tasks[i].failed)
            tasks[n++] = (order){t->tasks[i].created_us, t->tasks[i].number, i};
    for (size_t d = 0; last && d < t->ndata; d++)
        last[d] = (last_use){-1, -1};
    if (n)
        qsort(tasks, n, sizeof *tasks, by_creation);
    for (size_t i = 0; i < n; i++) {
        const trace_task *task = &t->tasks[tasks[i].task];
        look_before_ready(s, task, follows_us(t, task, last));
    }
    bool ok = tasks && last;
    free(tasks);
    free(last);
    return ok;
}

static void look_at_tasks(snapshot *s)
{
    for (size_t i = 0; i < s->trace->ntasks; i++) {
        const trace_task *task = &s->trace->tasks[i];
        double taken = task->buffered_us >= 0 ? task->buffered_us : task->started_us;
        if (task->place == TRACE_HOST)
            add(s, &s->host, task->started_us, task->ended_us);
        else if (task->ready_us >= 0)
            add(s, &s->kept, task->ready_us, taken);
    }
}

/* --- one device ------------------------------------------------------------------------ */

static void add_rest(const snapshot *s, int k, spans *into)
{
    const trace_file *t = s->trace;
    double from = t->active && k >= (int)t->active ? 0 : -1; /* negative: it works */
    for (size_t i = 0; i < t->nidles; i++) {
        uint64_t devices = t->idles[i].devices;
        bool idle = devices ? !(devices >> k & 1) : k >= (int)t->idles[i].active;
        if (!idle && from >= 0)
            add(s, into, from, t->idles[i].at_us);
        from = !idle ? -1 : from < 0 ? t->idles[i].at_us : from;
    }
    if (from >= 0)
        add(s, into, from, s->time.to_us);
}

static void fill(const snapshot *s, int k, spans *sets)
{
    static const run_share of_cause[OD_STALL_CAUSES] = {
        [OD_STALL_LOADS] = SHARE_LOADS, [OD_STALL_MEMORY] = SHARE_MEMORY, [OD_STALL_RIGHTS] = SHARE_RIGHTS};
    for (size_t i = 0; i < s->trace->ntasks; i++) {
        const trace_task *task = &s->trace->tasks[i];
        if (task->place != k)
            continue;
        add(s, &sets[SHARE_BUSY], task->from_us, task->to_us);
        add(s, &sets[SHARE_START], task->started_us, task->ended_us);
    }
    for (size_t i = 0; i < s->trace->nstalls; i++) {
        const trace_stall *stall = &s->trace->stalls[i];
        if (stall->place == k && of_cause[stall->cause])
            add(s, &sets[of_cause[stall->cause]], stall->from_us, stall->to_us);
    }
    add_rest(s, k, &sets[SHARE_IDLE]);
}

static bool measure(const snapshot *s, int k, double shares[SHARES])
{
    spans sets[SHARES] = {0}, all = {0};
    double before = 0, whole = s->time.to_us - s->time.from_us;
    bool ok = true;
    fill(s, k, sets);
    for (unsigned i = 0; i < SHARE_NOT_CREATED; i++) {
        const spans *shared = i == SHARE_HOST          ? &s->host
                              : i == SHARE_KEPT        ? &s->kept
                              : i == SHARE_HANDED_LATE ? &s->handed_late
                              : i == SHARE_DEPENDENCES ? &s->waiting
                                                       : NULL;
        if (!shared)
            spans_settle(&sets[i]);
        spans_join(&all, shared ? shared : &sets[i]);
        double now = spans_length(&all);
        shares[i] = now - before;
        before = now;
        ok &= !sets[i].failed;
        spans_free(&sets[i]);
    }
    shares[SHARE_NOT_CREATED] = whole > before ? whole - before : 0;
    ok &= !all.failed;
    spans_free(&all);
    return ok;
}

od_status run_shares(const trace_file *trace, run_time time, double (*shares)[SHARES], double *host_busy_us)
{
    snapshot s = {.trace = trace, .time = time};
    bool ok = look_at_creation(&s);
    look_at_tasks(&s);
    spans *const settled[] = {&s.host, &s.kept, &s.handed_late, &s.waiting};
    for (unsigned i = 0; i < sizeof settled / sizeof *settled; i++)
        spans_settle(settled[i]);
    for (unsigned k = 0; ok && k < trace->ndevices; k++)
        ok = measure(&s, (int)k, shares[k]);
    *host_busy_us = spans_length(&s.host);
    for (unsigned i = 0; i < sizeof settled / sizeof *settled; i++) {
        ok &= !settled[i]->failed;
        spans_free(settled[i]);
    }
    return ok ? OD_OK : OD_ENOMEM;
}
