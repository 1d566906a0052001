/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See tracing.h. */
#define _GNU_SOURCE
#include "omp_ext/services/tracing.h"

#include "omp_ext/libomp/thread.h"
#include "omp_ext/runtime/work.h"
#include "omp_ext/services/figures/footprints.h"
#include "omp_ext/services/figures/slicing.h"
#include "omp_ext/services/source.h"
#include "sched/report/ranks.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static od_trace *trace, *profile;
static bool timed, on; /* a file is wanted, or anything; set when the run starts */

static void describe(void *arg, const od_task *task, od_trace_task *about)
{
    const od_job *job = task->user;
    const od_source *source = job->cost ? od_source_of(job->cost) : NULL;
    (void)arg;
    about->name = "data construct";
    about->synchronous = job->kind == OD_JOB_SYNC;
    if (source) {
        about->name = source->name;
        about->source = source->source[0] ? source->source : NULL;
    }
    if (job->name)
        about->name = job->name;
}

static const char *variable(void *arg, const od_task *task, uint32_t access, size_t *length)
{
    const od_launch *launch = &((const od_job *)task->user)->launch;
    const od_kernel_args *args = &launch->call.args;
    (void)arg;
    for (uint32_t i = 0; launch->access_of && args->names && i < args->count; i++)
        if (launch->access_of[i] == (int32_t)access)
            return od_source_variable(args->names[i], length);
    return NULL;
}

static const char *depend_type(uint8_t flags)
{
    switch (flags) {
    case OD_DEPEND_IN:
        return "in";
    case OD_DEPEND_OUT:
        return "out";
    case OD_DEPEND_MUTEXINOUTSET:
        return "mutexinoutset";
    case OD_DEPEND_INOUTSET:
        return "inoutset";
    default:
        return flags & OD_DEPEND_ALL_MEMORY ? "all_memory" : "inout";
    }
}

static bool depend(void *arg, const od_task *task, uint32_t i, od_trace_depend *item)
{
    const od_job *job = task->user;
    (void)arg;
    if (i >= (uint32_t)job->ndepends)
        return false;
    *item = (od_trace_depend){job->depends[i].base, depend_type(job->depends[i].flags)};
    return true;
}

bool od_tracing_wanted(const char *path)
{
    return path[0] || od_trace_is_profiled();
}

bool od_tracing_is_on(void)
{
    return on;
}

uint64_t od_tracing_creation(void)
{
    return timed ? od_clock_ns() : 0;
}

od_depend *od_tracing_depends(const od_depend *depends, int32_t n)
{
    od_depend *copy = timed && n > 0 ? od_malloc((size_t)n * sizeof *copy) : NULL;
    if (copy)
        memcpy(copy, depends, (size_t)n * sizeof *copy);
    return copy;
}

/* Names only join, so readers need no lock, and a fork finds no lock taken. */
typedef struct name {
    struct name *next;
    char text[];
} name;

static _Atomic(name *) names;

const char *od_tracing_name(const char *text)
{
    name *first = atomic_load(&names);
    for (const name *n = first; n; n = n->next)
        if (strcmp(n->text, text) == 0)
            return n->text;
    size_t size = strlen(text) + 1;
    name *added = od_malloc(sizeof *added + size);
    if (!added)
        return NULL;
    memcpy(added->text, text, size);
    added->next = first;
    while (!atomic_compare_exchange_weak(&names, &added->next, added))
        ; /* two threads may add the same one */
    return added->text;
}

const char *od_tracing_take_name(void)
{
    const char *taken = od_self.task_name;
    od_self.task_name = NULL;
    return taken;
}

void od_tracing_event(void *driver, const od_event *event)
{
    (void)driver;
    if (trace)
        od_trace_event(trace, event);
    if (profile)
        od_trace_event(profile, event);
}

static const char *map_type(const char *construct, int64_t type)
{
    bool leaves = strcmp(construct, "exit data") == 0;
    if ((type & OD_MAP_TO) && (type & OD_MAP_FROM))
        return "tofrom";
    return (type & OD_MAP_TO)       ? "to"
           : (type & OD_MAP_FROM)   ? "from"
           : (type & OD_MAP_DELETE) ? "delete"
           : leaves                 ? "release"
                                    : "alloc";
}

void od_tracing_construct(const char *what, const od_ident *ident, const od_map_args *args, uint64_t from_ns)
{
    od_trace_map maps[OD_TRACE_MOST_MAPS];
    char source[256];
    unsigned n = 0;
    for (int32_t i = 0; trace && i < args->count && n < OD_TRACE_MOST_MAPS; i++) {
        if ((args->types[i] & OD_MAP_NO_RANGE) || args->sizes[i] <= 0)
            continue;
        od_trace_map *map = &maps[n++];
        *map = (od_trace_map){.address = (uintptr_t)args->begins[i],
                              .size = (uint64_t)args->sizes[i],
                              .type = map_type(what, args->types[i])};
        map->variable = args->names ? od_source_variable(args->names[i], &map->variable_length) : NULL;
    }
    if (trace && n)
        od_trace_add_construct(
            trace, &(od_trace_construct){.name = what,
                                         .source = od_source_place(ident, source, sizeof source) ? source : NULL,
                                         .from_ns = from_ns,
                                         .to_ns = od_clock_ns(),
                                         .nmaps = n,
                                         .maps = maps});
}

/* What was typed, as far as it fits. */
static const char *command_line(char *text, size_t size)
{
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    while (length > 0 && !text[length - 1]) /* each argument ends with one */
        length--;
    if (length <= 0)
        return NULL;
    for (ssize_t i = 0; i < length; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[length] = '\0';
    return text;
}

/* Of devices of several ranks; else nothing is said of ranks. */
static void describe_ranks(const od_devices *devices, od_trace_run *about, const char **hosts)
{
    od_ranks ranks;
    od_ranks_find(&ranks, devices->rank, devices->count);
    if (ranks.count < 2)
        return;
    for (unsigned k = 0; k < devices->count; k++)
        hosts[k] = devices->host[k];
    about->rank = devices->rank;
    about->rank_host = hosts;
}

static void start(const od_run *run)
{
    char text[OD_MAX_DEVICES][OD_DEVICE_NAME];
    char command[1024], host[256] = "";
    const char *shown[OD_MAX_DEVICES], *hosts[OD_MAX_DEVICES], *path = run->options->trace;
    od_trace_run about = {.policy = run->options->sched.sched.text,
                          .evict = run->options->sched.evict,
                          .seed = run->options->sched.seed,
                          .ndevices = run->backend->ndevices,
                          .memory = run->backend->pool_bytes[0],
                          .device = shown,
                          .start_ns = run->start_ns,
                          .program = program_invocation_short_name,
                          .command = command_line(command, sizeof command),
                          .host = gethostname(host, sizeof host - 1) ? NULL : host,
                          .date = time(NULL),
                          .active = run->options->devices.active > 0 ? (unsigned)run->options->devices.active : 0,
                          .processors = run->processors,
                          .describe = describe,
                          .variable = variable,
                          .depend = depend,
                          .threaded = true};
    for (unsigned k = 0; k < about.ndevices; k++)
        shown[k] = od_devices_name(run->devices, k, text[k]);
    describe_ranks(run->devices, &about, hosts);
    profile = od_trace_profile(&about);
    on = profile || path[0];
    if (!path[0])
        return;
    timed = true;
    trace = od_trace_open(path, &about);
    if (!trace)
        od_log(OD_LOG_WARNING, "trace", "%s: %s; no trace is written", path, strerror(errno));
}

static void add_kernels(void)
{
    od_report_slicing kernels[OD_SLICING_MOST];
    unsigned count = od_slicing_figures(kernels);
    for (unsigned i = 0; i < count; i++)
        od_trace_add_kernel(trace, &kernels[i]);
}

static void add_footprints(void)
{
    od_report_footprint footprints[OD_FOOTPRINTS_MOST];
    unsigned count = od_footprints_find(footprints);
    for (unsigned i = 0; i < count; i++)
        od_trace_add_footprint(trace, &footprints[i]);
}

static void stop(const od_run *run)
{
    (void)run;
    if (trace) {
        add_kernels();
        add_footprints();
        od_trace_close(trace);
    }
    if (profile)
        od_trace_close(profile);
    trace = profile = NULL;
}

/* The file is the parent's, so is the profiler. */
static void revive(const od_run *run)
{
    (void)run;
    if (trace)
        od_trace_abandon(trace);
    if (profile)
        od_trace_abandon(profile);
    trace = profile = NULL;
}

const od_service od_tracing_service = {.start = start, .stop = stop, .interrupt = stop, .revive = revive};
