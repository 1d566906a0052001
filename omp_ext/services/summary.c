/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See summary.h. */
#define _GNU_SOURCE
#include "omp_ext/services/summary.h"

#include "omp_ext/services/source.h"
#include "omp_ext/slices/kernels.h"
#include "sched/report/report.h"
#include "util/clock.h"
#include "util/file/plain_numbers.h"
#include "util/log.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nobody may read any more what is printed: that does not end the program before all is done. */
static void print(const od_report *r)
{
    sigset_t pipe, pending, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    od_report_print(r, stderr);
    if (!sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

enum { MOST_KERNELS = 256 };

typedef struct kernels {
    od_report_slicing all[MOST_KERNELS];
    unsigned count;
} kernels;

static void add_kernel(const od_entry *entry, void *arg)
{
    kernels *k = arg;
    const od_slicing *s = entry->slicing;
    if (!s || entry->closed || k->count == MOST_KERNELS || !(s->whole_launches + s->sliced_launches))
        return;
    const od_source *source = od_source_of((od_entry *)(uintptr_t)entry); /* which it remembers */
    k->all[k->count++] = (od_report_slicing){.name = source ? source->name : "?",
                                             .sliced = s->sliced_launches,
                                             .whole = s->whole_launches,
                                             .slices = s->slices,
                                             .reason = s->reason ? od_whole_text(s->reason) : NULL};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const od_report_slicing *)a)->name, ((const od_report_slicing *)b)->name);
}

static void report(const od_run *run)
{
    kernels sliced = {.count = 0};
    char names[OD_MAX_DEVICES][OD_DEVICE_NAME];
    od_report_device devices[OD_MAX_DEVICES];
    const od_options *options = run->options;
    od_report r = {.program = program_invocation_short_name,
                   .policy = options->sched.sched.text,
                   .evict = options->sched.evict,
                   .seed = options->sched.seed,
                   .wall_s = (double)(od_clock_ns() - run->start_ns) * 1e-9,
                   .choices = od_engine_choices(run->engine),
                   .habits = run->habits,
                   .processors = run->processors,
                   .ndevices = run->devices->count, /* not one that is there for the engine alone */
                   .devices = devices};
    if (run->inherited)
        return;
    od_engine_stats_get(run->engine, &r.engine);
    for (unsigned k = 0; k < r.ndevices; k++) {
        devices[k].name = od_devices_name(run->devices, k, names[k]);
        od_engine_device_stats(run->engine, k, &devices[k].stats);
    }
    od_entry_visit(add_kernel, &sliced);
    qsort(sliced.all, sliced.count, sizeof sliced.all[0], by_name);
    r.kernels = sliced.all;
    r.nkernels = sliced.count;
    locale_t programs = od_plain_numbers_begin();
    if (options->stats.file[0])
        od_report_write_json(&r, options->stats.file); /* which says what went wrong */
    if (options->stats.summary)
        print(&r);
    od_plain_numbers_end(programs);
}

static void stop(const od_run *run)
{
    report(run);
    if (run->backend->ops->report)
        run->backend->ops->report(run->backend->state);
}

const od_service od_summary_service = {.stop = stop, .interrupt = report};
