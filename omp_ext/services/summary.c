/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See summary.h. */
#define _GNU_SOURCE
#include "omp_ext/services/summary.h"

#include "omp_ext/services/figures/footprints.h"
#include "omp_ext/services/figures/slicing.h"
#include "omp_ext/slices/slices.h"
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

static void report(const od_run *run)
{
    od_report_slicing kernels[OD_SLICING_MOST];
    od_report_footprint footprints[OD_FOOTPRINTS_MOST];
    char names[OD_MAX_DEVICES][OD_DEVICE_NAME];
    od_report_device devices[OD_MAX_DEVICES];
    const od_options *options = run->options;
    od_report r = {.program = program_invocation_short_name,
                   .policy = options->sched.sched.text,
                   .evict = options->sched.evict,
                   .seed = options->sched.seed,
                   .choices = od_engine_choices(run->engine),
                   .habits = run->habits,
                   .not_sliced = od_slices_not_tried(),
                   .processors = run->processors,
                   .ndevices = run->devices->count, /* not one that is there for the engine alone */
                   .devices = devices};
    if (run->inherited)
        return;
    od_engine_stats_get(run->engine, &r.engine);
    for (unsigned k = 0; k < r.ndevices; k++) {
        devices[k].name = od_devices_name(run->devices, k, names[k]);
        devices[k].host = run->devices->host[k];
        od_engine_device_stats(run->engine, k, &devices[k].stats);
    }
    r.wall_s = (double)(od_clock_ns() - run->start_ns) * 1e-9; /* not before what devices have done until now */
    r.kernels = kernels;
    r.nkernels = od_slicing_figures(kernels);
    r.footprints = footprints;
    r.nfootprints = od_footprints_find(footprints);
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
