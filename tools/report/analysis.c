/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See analysis.h. */
#include "tools/report/analysis.h"

#include "tools/report/spans.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
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

static bool measure_transfers(const trace_file *t, run_figures *f)
{
    bool ok = true;
    for (int k = 0; k < (int)t->ndevices; k++) {
        spans s = {0};
        for (size_t i = 0; i < t->ntransfers; i++)
            if (device_of(&t->transfers[i]) == k)
                spans_add(&s, t->transfers[i].from_us, t->transfers[i].to_us);
        spans_settle(&s);
        f->device[k].transfer_us = spans_length(&s);
        ok &= !s.failed;
        spans_free(&s);
    }
    return ok;
}

static od_status measure_times(const trace_file *t, run_figures *f)
{
    double(*shares)[SHARES] = calloc(t->ndevices, sizeof *shares);
    run_time time = {f->begin_us, f->begin_us + f->makespan_us};
    od_status status = shares && measure_transfers(t, f) ? OD_OK : OD_ENOMEM;
    if (!status)
        status = run_shares(t, time, shares, &f->host_busy_us);
    for (unsigned k = 0; !status && k < t->ndevices; k++)
        memcpy(f->device[k].share_us, shares[k], sizeof shares[k]);
    free(shares);
    return status;
}

/* --- counts ----------------------------------------------------------------------- */

static bool is_remote(const trace_file *t, const trace_transfer *x)
{
    return t->rank && is_device(x->from) && is_device(x->to) && t->rank[x->from].number != t->rank[x->to].number;
}

static void count_transfer(const trace_file *t, run_figures *f, const trace_transfer *x)
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
    d->remote_bytes += is_remote(t, x) ? x->bytes : 0;
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
        f->synchronous_tasks += !task->failed && task->synchronous;
        f->host_tasks += !task->failed && !is_device(task->place);
        if (!task->failed && is_device(task->place))
            f->device[task->place].tasks++;
    }
}

static void count_rest(const trace_file *t, run_figures *f)
{
    for (size_t i = 0; i < t->ntransfers; i++)
        count_transfer(t, f, &t->transfers[i]);
    for (size_t i = 0; i < t->nevictions; i++)
        if (is_device(t->evictions[i].place))
            f->device[t->evictions[i].place].evictions++;
    for (size_t i = 0; i < t->nlevels; i++) {
        run_device *d = &f->device[t->levels[i].place];
        d->peak_bytes = t->levels[i].bytes > d->peak_bytes ? t->levels[i].bytes : d->peak_bytes;
    }
}

/* Tasks come in the order of their ends, so a datum's writer comes before its readers. */
static od_status count_data(const trace_file *t, run_figures *f)
{
    unsigned char *met = calloc(t->ndata + 1, 1), *used = calloc(t->ndata + 1, t->ndevices);
    bool all_listed = true;
    for (size_t i = 0; met && used && i < t->ntasks; i++) {
        const trace_task *task = &t->tasks[i];
        all_listed &= task->nuses < OD_TRACE_MOST_MAPS;
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
    if (!all_listed)
        f->least_in_bytes = 0;
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
        work += f->device[k].share_us[SHARE_BUSY];
        workers += f->device[k].tasks > 0;
    }
    for (size_t i = 0; i < t->ntasks; i++)
        if (is_device(t->tasks[i].place) && !t->tasks[i].failed)
            durations[n++] = t->tasks[i].to_us - t->tasks[i].from_us;
    qsort(durations, n, sizeof *durations, by_value);
    f->median_task_us = n ? durations[n / 2] : 0;
    f->least_us = workers ? work / workers : 0;
}

od_status run_analyse(const trace_file *trace, run_figures *figures)
{
    double *durations = malloc((trace->ntasks + 1) * sizeof *durations);
    *figures = (run_figures){.device = calloc(trace->ndevices, sizeof(run_device))};
    od_status status = durations && figures->device ? count_data(trace, figures) : OD_ENOMEM;
    if (!status) {
        find_begin(trace, figures);
        count_tasks(trace, figures);
        count_rest(trace, figures);
        status = measure_times(trace, figures);
    }
    if (!status)
        count_work(trace, figures, durations);
    free(durations);
    if (status)
        run_figures_free(figures);
    return status;
}

void run_figures_free(run_figures *figures)
{
    free(figures->device);
    *figures = (run_figures){0};
}
