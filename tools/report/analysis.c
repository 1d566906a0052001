/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See analysis.h. */
#include "tools/report/analysis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- spans --------------------------------------------------------------------- */

typedef struct span {
    double from, to;
} span;

static int by_begin(const void *a, const void *b)
{
    const span *first = a, *second = b;
    return (first->from > second->from) - (first->from < second->from);
}

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The time that at least one span covers. */
static double covered(span *spans, size_t n)
{
    double sum = 0, end = -1;
    qsort(spans, n, sizeof *spans, by_begin);
    for (size_t i = 0; i < n; i++) {
        double from = spans[i].from > end ? spans[i].from : end;
        if (spans[i].to > from)
            sum += spans[i].to - from;
        end = spans[i].to > end ? spans[i].to : end;
    }
    return sum;
}

static bool is_device(int place)
{
    return place >= 0;
}

/* The device whose link a copy takes. */
static int device_of(const trace_transfer *x)
{
    return is_device(x->to) ? x->to : x->from;
}

static void measure_times(const trace_file *t, run_figures *f, span *spans)
{
    for (int k = 0; k < (int)t->ndevices; k++) {
        size_t n = 0;
        for (size_t i = 0; i < t->ntasks; i++)
            if (t->tasks[i].place == k)
                spans[n++] = (span){t->tasks[i].from_us, t->tasks[i].to_us};
        f->device[k].busy_us = covered(spans, n);
        n = 0;
        for (size_t i = 0; i < t->ntransfers; i++)
            if (device_of(&t->transfers[i]) == k)
                spans[n++] = (span){t->transfers[i].from_us, t->transfers[i].to_us};
        f->device[k].transfer_us = covered(spans, n);
    }
}

/* --- counts ----------------------------------------------------------------------- */

static void count_transfer(run_figures *f, const trace_transfer *x)
{
    if (x->failed) {
        f->failed_transfers++;
        return;
    }
    if (!is_device(x->from) && !is_device(x->to))
        return;
    run_device *d = &f->device[device_of(x)];
    f->moved_bytes += x->bytes;
    if (!is_device(x->to))
        d->out_bytes += x->bytes;
    else
        *(is_device(x->from) ? &d->peer_bytes : &d->in_bytes) += x->bytes;
    if (x->kind != TRACE_LOAD)
        return;
    d->loads++;
    d->reloads += x->reload;
    d->reload_bytes += x->reload ? x->bytes : 0;
}

static void find_begin(const trace_file *t, run_figures *f)
{
    f->begin_us = t->ntasks ? t->end_us : 0;
    for (size_t i = 0; i < t->ntasks; i++)
        if (t->tasks[i].ready_us >= 0 && t->tasks[i].ready_us < f->begin_us)
            f->begin_us = t->tasks[i].ready_us;
    f->makespan_us = t->end_us - f->begin_us;
}

static void count_tasks(const trace_file *t, run_figures *f)
{
    for (size_t i = 0; i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        f->failed_tasks += task->failed;
        f->tasks += !task->failed;
        f->host_tasks += !task->failed && !is_device(task->place);
        if (!task->failed && is_device(task->place))
            f->device[task->place].tasks++;
    }
}

static void count_rest(const trace_file *t, run_figures *f)
{
    for (size_t i = 0; i < t->ntransfers; i++)
        count_transfer(f, &t->transfers[i]);
    for (size_t i = 0; i < t->nevictions; i++)
        if (is_device(t->evictions[i].place))
            f->device[t->evictions[i].place].evictions++;
    for (size_t i = 0; i < t->nstalls; i++) {
        const trace_stall *s = &t->stalls[i];
        double from = s->from_us > f->begin_us ? s->from_us : f->begin_us;
        f->device[s->place].stall_us[s->cause] += s->to_us > from ? s->to_us - from : 0;
    }
    for (size_t i = 0; i < t->nlevels; i++) {
        run_device *d = &f->device[t->levels[i].place];
        d->peak_bytes = t->levels[i].bytes > d->peak_bytes ? t->levels[i].bytes : d->peak_bytes;
    }
}

/* Tasks come in the order of their ends, so a datum's writer comes before its readers. */
static od_status count_data(const trace_file *t, run_figures *f)
{
    unsigned char *met = calloc(t->ndata + 1, 1), *used = calloc(t->ndata + 1, t->ndevices);
    for (size_t i = 0; met && used && i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        for (uint32_t u = 0; u < task->nuses; u++) {
            const trace_use *use = &t->uses[task->first_use + u];
            uint64_t bytes = t->data[use->datum].size;
            if (is_device(task->place) && !met[use->datum] && (use->mode & OD_READ))
                f->least_in_bytes += bytes;
            met[use->datum] = 1;
            if (!is_device(task->place))
                continue;
            unsigned char *here = &used[use->datum * t->ndevices + (unsigned)task->place];
            f->device[task->place].data_bytes += *here ? 0 : bytes;
            *here = 1;
        }
    }
    bool ok = met && used;
    free(met);
    free(used);
    return ok ? OD_OK : OD_ENOMEM;
}

static void count_work(const trace_file *t, run_figures *f, double *durations)
{
    double work = 0;
    unsigned workers = 0;
    size_t n = 0;
    for (unsigned k = 0; k < t->ndevices; k++) {
        work += f->device[k].busy_us;
        workers += f->device[k].tasks > 0;
    }
    for (size_t i = 0; i < t->ntasks; i++)
        if (is_device(t->tasks[i].place))
            durations[n++] = t->tasks[i].to_us - t->tasks[i].from_us;
    qsort(durations, n, sizeof *durations, by_value);
    f->median_task_us = n ? durations[n / 2] : 0;
    f->least_us = workers ? work / workers : 0;
}

od_status run_analyse(const trace_file *trace, run_figures *figures)
{
    size_t most = trace->ntasks > trace->ntransfers ? trace->ntasks : trace->ntransfers;
    span *spans = malloc((most + 1) * sizeof *spans);
    *figures = (run_figures){.device = calloc(trace->ndevices, sizeof(run_device))};
    od_status status = spans && figures->device ? count_data(trace, figures) : OD_ENOMEM;
    if (!status) {
        find_begin(trace, figures);
        count_tasks(trace, figures);
        count_rest(trace, figures);
        measure_times(trace, figures, spans);
        count_work(trace, figures, (double *)spans);
    }
    free(spans);
    if (status)
        run_figures_free(figures);
    return status;
}

void run_figures_free(run_figures *figures)
{
    free(figures->device);
    *figures = (run_figures){0};
}

/* --- findings ----------------------------------------------------------------------- */

static const double worth_telling = 0.1; /* share of the makespan, or of the loads */
static const double short_task_us = 20;

typedef struct finding {
    double weight; /* the worst first */
    char text[400];
} finding;

typedef struct finder {
    const trace_file *trace;
    const run_figures *figures;
    finding *found;
    size_t count, room;
} finder;

__attribute__((format(printf, 3, 4))) static void tell(finder *f, double weight, const char *format, ...)
{
    va_list arguments;
    if (f->count == f->room)
        return;
    finding *new = &f->found[f->count++];
    new->weight = weight;
    va_start(arguments, format);
    vsnprintf(new->text, sizeof new->text, format, arguments);
    va_end(arguments);
}

static const char *in_units(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    snprintf(text, 32, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* What may help against loads: another rule, or memory for what the device's tasks use. */
static const char *advice_for_loads(const finder *f, const run_device *d, char *text, size_t size)
{
    bool looks_ahead = strcmp(f->trace->eviction, "lru") != 0;
    char bytes[32];
    text[0] = '\0';
    if (!looks_ahead && d->reloads > d->loads / 10)
        snprintf(text, size, ": try --evict luf, or --sched darts, which brings that rule");
    else if (d->data_bytes > f->trace->memory && d->reloads > d->loads / 10)
        snprintf(text, size, ": its tasks use %s of data and it has memory for less; try larger --mem, or more devices",
                 in_units(d->data_bytes, bytes));
    else if (d->reloads <= d->loads / 10)
        snprintf(text, size,
                 ": hardly any was a reload, so the link is too slow for so little work per byte; larger tiles help");
    return text;
}

static void look_at_device(finder *f, unsigned k)
{
    const run_device *d = &f->figures->device[k];
    const char *name = f->trace->device[k];
    double makespan = f->figures->makespan_us > 0 ? f->figures->makespan_us : 1;
    double loads = d->stall_us[OD_STALL_LOADS] / makespan, memory = d->stall_us[OD_STALL_MEMORY] / makespan;
    double rights = d->stall_us[OD_STALL_RIGHTS] / makespan, idle = d->stall_us[OD_STALL_IDLE] / makespan;
    double reloads = d->loads ? (double)d->reloads / (double)d->loads : 0;
    char advice[220], limit[32];
    if (loads >= worth_telling)
        tell(f, loads, "%s waited %.0f%% of the time for tile loads; %.0f%% of its loads were reloads%s", name,
             100 * loads, 100 * reloads, advice_for_loads(f, d, advice, sizeof advice));
    if (memory >= worth_telling)
        tell(f, memory,
             "%s waited %.0f%% of the time for memory that evictions had to free first; it has %s: try larger --mem",
             name, 100 * memory, in_units(f->trace->memory, limit));
    if (rights >= worth_telling)
        tell(f, rights, "%s waited %.0f%% of the time for data that tasks elsewhere, or the host, were using", name,
             100 * rights);
    if (idle >= 2 * worth_telling)
        tell(f, idle / 2, "%s had no task for %.0f%% of the time: there were too few ready tasks for %u devices", name,
             100 * idle, f->trace->ndevices);
}

static void look_at_run(finder *f)
{
    const run_figures *r = f->figures;
    char moved[32], least[32];
    uint64_t in = 0;
    for (unsigned k = 0; k < f->trace->ndevices; k++)
        in += r->device[k].in_bytes + r->device[k].peer_bytes;
    double ratio = r->least_in_bytes ? (double)in / (double)r->least_in_bytes : 0;
    if (ratio >= 1.5)
        tell(f, 0.05 * (ratio - 1), "%s came to the devices, %.1f times the %s that must come at least once",
             in_units(in, moved), ratio, in_units(r->least_in_bytes, least));
    if (r->host_tasks)
        tell(f, (double)r->host_tasks / (double)r->tasks,
             "%" PRIu64 " of %" PRIu64 " tasks ran on the host: no device had room for their data, or could run them",
             r->host_tasks, r->tasks);
    if (r->median_task_us > 0 && r->median_task_us < short_task_us)
        tell(f, 0.2,
             "half of the tasks took less than %.1f us, hardly more than it takes to start them: larger tiles help",
             r->median_task_us);
    if (r->failed_tasks + r->failed_transfers)
        tell(f, 1, "%" PRIu64 " runs of tasks and %" PRIu64 " transfers failed and were made again", r->failed_tasks,
             r->failed_transfers);
    if (f->trace->cut)
        tell(f, 2, "the end of the trace is missing: what follows is about the first %.3f s", f->trace->end_us * 1e-6);
}

static int worst_first(const void *a, const void *b)
{
    const finding *first = a, *second = b;
    return (first->weight < second->weight) - (first->weight > second->weight);
}

od_status run_find(const trace_file *trace, const run_figures *figures, run_findings *findings)
{
    enum { PER_DEVICE = 4, PER_RUN = 6 };
    finder f = {.trace = trace, .figures = figures, .room = PER_DEVICE * trace->ndevices + PER_RUN};
    f.found = malloc(f.room * sizeof *f.found);
    findings->text = malloc(f.room * sizeof *findings->text);
    findings->count = 0;
    if (!f.found || !findings->text) {
        free(f.found);
        run_findings_free(findings);
        return OD_ENOMEM;
    }
    look_at_run(&f);
    for (unsigned k = 0; k < trace->ndevices; k++)
        look_at_device(&f, k);
    if (!f.count)
        tell(&f, 0, "nothing to improve was found: no device waited for more than %.0f%% of the time",
             100 * worth_telling);
    qsort(f.found, f.count, sizeof *f.found, worst_first);
    for (size_t i = 0; i < f.count; i++)
        memcpy(findings->text[findings->count++], f.found[i].text, sizeof f.found[i].text);
    free(f.found);
    return OD_OK;
}

void run_findings_free(run_findings *findings)
{
    free(findings->text);
    *findings = (run_findings){0};
}
