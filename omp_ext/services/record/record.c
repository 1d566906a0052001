/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recorded runs. See record.h; the format is that of docs/graph-format.md. */
#define _GNU_SOURCE
#include "omp_ext/services/record/record.h"

#include "omp_ext/libomp/images.h"
#include "omp_ext/services/record/internal.h"
#include "util/file/code.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_VERSION = 4 };

static struct {
    od_lock lock;  /* protects the recording */
    pid_t process; /* that records; not its children */
    uint64_t start_ns;
    uint64_t tasks;
    od_recording_table data, kernels;
} recorder = {.lock = OD_LOCK_OF(OD_LOCK_RECORDING)};

static _Thread_local uint64_t owner;

static double now(void)
{
    return (double)(od_clock_ns() - recorder.start_ns) * 1e-9;
}

/* True, with the lock taken: this process is being recorded. */
static bool begin(void)
{
    if (!od_recording_is_on() || getpid() != recorder.process)
        return false;
    od_lock_take(&recorder.lock);
    if (od_recording_is_on())
        return true;
    od_lock_give(&recorder.lock);
    return false;
}

static void end(void)
{
    od_lock_give(&recorder.lock);
}

/* --- tasks --------------------------------------------------------------------- */

static uint64_t create(double seconds, const od_depend *depends, int32_t ndepends)
{
    uint64_t number = od_recording_add_task();
    if (!number)
        return 0;
    od_recording_put("create %" PRIu64 " %.9f %.17g %d", number, now(), seconds, ndepends);
    for (int32_t j = 0; j < ndepends; j++) {
        od_recording_order(number, &depends[j]);
        od_recording_put(" %#" PRIxPTR ":%s", depends[j].base, depends[j].flags == OD_DEPEND_IN ? "r" : "rw");
    }
    od_recording_end_line();
    return number;
}

uint64_t od_recorder_create(double seconds, const od_depend *depends, int32_t ndepends)
{
    if (!begin())
        return 0;
    uint64_t number = create(seconds, depends, ndepends);
    end();
    return number;
}

/* Words are separated by blanks. */
static void put_word(const char *text)
{
    char word[512];
    snprintf(word, sizeof word, "%s", *text ? text : "?");
    for (char *c = word; *c; c++)
        if ((unsigned char)*c <= ' ')
            *c = '_';
    od_recording_put("%s", word);
}

static void put_kernel_name(const void *code)
{
    od_code_place where;
    const char *name = od_images_kernel_name(code);
    if (name) {
        put_word(name);
        return;
    }
    if (!od_code_find(code, &where)) {
        od_recording_put("%p", code);
        return;
    }
    const char *base = strrchr(where.file, '/');
    put_word(base ? base + 1 : where.file);
    od_recording_put("+%#" PRIxPTR, (uintptr_t)code - where.base);
}

static uint32_t kernel_index(const void *code, bool shows)
{
    bool is_new;
    uint32_t index = od_recording_index(&recorder.kernels, (uintptr_t)code, 0, &is_new);
    if (!is_new)
        return index;
    od_recording_put("kernel %u ", index);
    if (shows) /* the construct, no code */
        od_recording_put("use_device_ptr");
    else
        put_kernel_name(code);
    od_recording_end_line();
    return index;
}

static uint32_t datum_index(const od_datum *d)
{
    bool is_new;
    uint32_t index = od_recording_index(&recorder.data, d->base, d->size, &is_new);
    if (!is_new)
        return index;
    od_recording_put("datum %u %#" PRIxPTR " %zu", index, d->base, d->size);
    od_recording_end_line();
    return index;
}

static const char *mode_name(od_mode mode)
{
    return mode == OD_READ ? "r" : mode == OD_WRITE ? "w" : "rw";
}

void od_recorder_ready(od_job *job, const void *code)
{
    if (!begin())
        return;
    const od_task *task = &job->task;
    if (!job->number)
        job->number = create(0, NULL, 0);
    uint32_t kernel = kernel_index(code, task->shows);
    for (uint32_t i = 0; i < task->naccess; i++)
        datum_index(task->access[i].datum);
    if (job->number) {
        od_recording_put("task %" PRIu64 " %.9f %u %d %.17g %u", job->number, now(), kernel, task->priority,
                         task->duration, task->naccess);
        for (uint32_t i = 0; i < task->naccess; i++) {
            const od_datum *d = task->access[i].datum;
            od_recording_put(" %u:%s%s", datum_index(d), mode_name(task->access[i].mode), d->keep ? "" : ":home");
        }
        od_recording_put_before(job->number);
        od_recording_end_line();
        recorder.tasks++;
    }
    end();
}

static double since_start(uint64_t ns)
{
    return (double)(int64_t)(ns - recorder.start_ns) * 1e-9;
}

static void put_place(int place)
{
    if (place == OD_HOST)
        od_recording_put(" host");
    else if (place == OD_SPILL)
        od_recording_put(" spill");
    else
        od_recording_put(" %d", place);
}

static void put_ran(const od_job *job, uint64_t end_ns)
{
    const od_task *task = &job->task;
    if (!job->number)
        return;
    od_recording_put("ran %" PRIu64, job->number);
    put_place(task->place);
    od_recording_put(" %.9f %.9f %.9f", since_start(task->start_ns), (double)(end_ns - task->start_ns) * 1e-9, now());
    od_recording_end_line();
    od_recording_complete(job->number);
}

void od_recorder_ran(const od_job *job)
{
    if (!begin())
        return;
    put_ran(job, job->task.end_ns);
    end();
}

void od_recorder_done(uint64_t number)
{
    if (!number || !begin())
        return;
    od_recording_put("done %" PRIu64 " %.9f", number, now());
    od_recording_put_before(number);
    od_recording_end_line();
    od_recording_complete(number);
    end();
}

void od_recorder_copied(const od_transfer *x)
{
    if (!begin())
        return;
    uint32_t datum = datum_index(x->datum);
    od_recording_put("copy %u", datum);
    put_place(x->from);
    put_place(x->to);
    od_recording_put(" %zu %.9f %.9f", x->bytes, since_start(x->start_ns), now());
    od_recording_end_line();
    end();
}

void od_recorder_planned(double seconds)
{
    if (!begin())
        return;
    od_recording_put("plan %.9f %.9f", now(), seconds);
    od_recording_end_line();
    end();
}

/* --- what the program asks and awaits --------------------------------------------- */

uint64_t od_recorder_own(uint64_t number)
{
    uint64_t before = owner;
    owner = number;
    return before;
}

static void put_moment(const char *what)
{
    if (!begin())
        return;
    od_recording_put("%s %.9f", what, now());
    od_recording_end_line();
    end();
}

void od_recorder_await(void)
{
    put_moment("await");
}

void od_recorder_sync(void)
{
    put_moment("sync");
}

void od_recorder_open(uintptr_t base, size_t size, bool undefined, bool hold)
{
    if (!begin())
        return;
    od_recording_put("open %.9f %" PRIu64 " %#" PRIxPTR " %zu %s%s", now(), owner, base, size,
                     undefined ? "undefined" : "defined", hold ? " hold" : "");
    od_recording_end_line();
    end();
}

void od_recorder_close(uintptr_t base, size_t size, bool copy_out, bool all, bool hold)
{
    if (!begin())
        return;
    od_recording_put("close %.9f %" PRIu64 " %#" PRIxPTR " %zu %s%s%s", now(), owner, base, size,
                     copy_out ? "from" : "release", all ? " delete" : "", hold ? " hold" : "");
    od_recording_end_line();
    end();
}

void od_recorder_range(uintptr_t base, size_t size, od_request_kind kind)
{
    static const char *const names[] = {
        [OD_REQUEST_READ] = "read",     [OD_REQUEST_WRITE] = "write",     [OD_REQUEST_DISCARD] = "discard",
        [OD_REQUEST_PULL] = "pull",     [OD_REQUEST_PUSH] = "push",       [OD_REQUEST_SNAPSHOT] = "snapshot",
        [OD_REQUEST_SETTLE] = "settle", [OD_REQUEST_OUTSIDE] = "outside", [OD_REQUEST_READ_OUTSIDE] = "read-outside",
    };
    if (!begin())
        return;
    od_recording_put("range %.9f %" PRIu64 " %#" PRIxPTR " %zu %s", now(), owner, base, size, names[kind]);
    od_recording_end_line();
    end();
}

void od_recorder_resume(void)
{
    if (!begin())
        return;
    od_recording_put("resume %.9f", now());
    od_recording_end_line();
    end();
}

void od_recorder_waited(uint64_t number)
{
    if (!number || !begin())
        return;
    od_recording_put("wait %.9f %" PRIu64, now(), number);
    od_recording_end_line();
    end();
}

/* --- start and end ------------------------------------------------------------- */

/* Begins the file. Nothing is recorded before, and nothing if that fails. */
static void start(const od_run *run)
{
    const od_options *options = run->options;
    const char *path = options->record;
    od_link host, peer;
    if (!path[0])
        return;
    recorder.process = getpid();
    recorder.start_ns = od_clock_ns();
    if (!od_recording_open(path)) {
        od_log(OD_LOG_WARNING, "record", "%s: %s; the run is not recorded", path, strerror(errno));
        return;
    }
    od_lock_take(&recorder.lock);
    od_recording_put("ompdarts-graph %d", FORMAT_VERSION);
    od_recording_end_line();
    od_recording_put("run devices=%u memory=%zu buffer=%u seed=%" PRIu64 " spill=%d active=%d",
                     run->backend->ndevices, run->backend->pool_bytes[0], options->sched.buffer,
                     options->sched.seed, options->memory.spill,
                     options->devices.active);
    od_recording_end_line();
    od_recording_put("policy %s", options->sched.sched.text);
    od_recording_end_line();
    od_recording_put("eviction %s", options->sched.evict);
    od_recording_end_line();
    od_engine_links(run->engine, &host, &peer);
    od_recording_put("links %.0f %.9f %.0f %.9f", host.bandwidth, host.latency, peer.bandwidth, peer.latency);
    od_recording_end_line();
    od_lock_give(&recorder.lock);
}

/* Writes what each device has moved, and the end. */
static void stop(const od_run *run)
{
    if (!begin())
        return;
    for (unsigned k = 0; k < run->backend->ndevices; k++) {
        od_device_stats stats;
        od_engine_device_stats(run->engine, k, &stats);
        od_recording_put("moved %u %" PRIu64 " %" PRIu64 " %" PRIu64, k, stats.h2d_bytes, stats.d2h_bytes,
                         stats.d2d_bytes);
        od_recording_end_line();
    }
    od_recording_put("end %" PRIu64 " %u %" PRIu64, recorder.tasks, recorder.data.count, od_recording_lines() + 1);
    od_recording_end_line();
    od_recording_close();
    end();
}

/* What is known so far, without an end. */
static void interrupt(const od_run *run)
{
    (void)run;
    if (!begin())
        return;
    od_recording_flush();
    if (od_recording_is_on())
        od_recording_give_up("the run was interrupted");
    end();
}

static void before_fork(void)
{
    od_lock_take(&recorder.lock);
}

/* The child records nothing. */
static void after_fork(bool child)
{
    (void)child;
    od_lock_give(&recorder.lock);
}

const od_service od_recorder_service = {
    .start = start, .stop = stop, .interrupt = interrupt, .before_fork = before_fork, .after_fork = after_fork};
