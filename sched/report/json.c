/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Writes the figures of a run as JSON.
 *
 * Byte counts go into the file as raw integers: cJSON keeps numbers as doubles, which are not exact above 2^53. A
 * failed allocation inside cJSON clears `ok` of the object being built, which is asked once, at its end.
 */
#include "sched/report/report.h"

#include "util/log.h"
#include "util/memory.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef OMPDARTS_VERSION
#define OMPDARTS_VERSION "0.1.0"
#endif

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* --- objects ---------------------------------------------------------------- */

/* An object being built; `ok` turns false with the first addition that fails. */
typedef struct builder {
    cJSON *object;
    bool ok;
} builder;

static void add_integer(builder *b, const char *name, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRIu64, value);
    b->ok = b->ok && cJSON_AddRawToObject(b->object, name, digits);
}

static void add_number(builder *b, const char *name, double value)
{
    b->ok = b->ok && cJSON_AddNumberToObject(b->object, name, value);
}

static void add_string(builder *b, const char *name, const char *value)
{
    b->ok = b->ok && cJSON_AddStringToObject(b->object, name, value);
}

static void add_stats(builder *b, const od_device_stats *stats)
{
    add_integer(b, "tasks", stats->tasks);
    add_integer(b, "host_tasks", stats->host_tasks);
    add_integer(b, "h2d_bytes", stats->h2d_bytes);
    add_integer(b, "d2h_bytes", stats->d2h_bytes);
    add_integer(b, "d2d_bytes", stats->d2d_bytes);
    add_integer(b, "spilled_bytes", stats->spilled_bytes);
    add_integer(b, "loads", stats->loads);
    add_integer(b, "reloads", stats->reloads);
    add_integer(b, "evictions", stats->evictions);
    add_integer(b, "dropped_bytes", stats->dropped_bytes);
    add_integer(b, "reruns", stats->reruns);
    add_integer(b, "faults", stats->faults);
    add_integer(b, "fault_bytes", stats->fault_bytes);
    add_number(b, "fault_s", seconds(stats->fault_ns));
    add_integer(b, "peak_bytes", stats->peak_bytes);
    add_integer(b, "limit_bytes", stats->limit_bytes);
    add_number(b, "busy_s", seconds(stats->busy_ns));
    add_number(b, "start_s", seconds(od_report_start_ns(stats)));
    add_number(b, "stall_s", seconds(stats->stall_ns));
    add_number(b, "transfer_s", seconds(stats->transfer_ns));
    add_number(b, "overlapped_s", seconds(stats->overlapped_ns));
}

/* A new object, the last of the array. */
static builder append(const builder *b, cJSON *array)
{
    builder one = {.object = b->ok ? cJSON_CreateObject() : NULL};

    one.ok = one.object && cJSON_AddItemToArray(array, one.object);
    return one;
}

static void add_rank(builder *b, unsigned rank, const char *host, uint64_t remote_bytes)
{
    add_integer(b, "rank", rank);
    add_string(b, "host", host);
    add_integer(b, "remote_bytes", remote_bytes);
}

static void add_device(builder *b, cJSON *array, const od_report_device *device, bool ranked)
{
    const od_device_stats *stats = &device->stats;
    builder one = append(b, array);

    add_string(&one, "name", device->name);
    if (ranked)
        add_rank(&one, stats->rank, device->host, stats->remote_bytes);
    if (stats->lost)
        one.ok = one.ok && cJSON_AddTrueToObject(one.object, "lost");
    add_stats(&one, stats);
    b->ok = one.ok;
}

static void add_devices(builder *b, const od_report *report, bool ranked)
{
    cJSON *array = b->ok ? cJSON_AddArrayToObject(b->object, "devices") : NULL;

    b->ok = array != NULL;
    for (unsigned k = 0; b->ok && k < report->ndevices; k++)
        add_device(b, array, &report->devices[k], ranked);
}

static void add_ranks(builder *b, const od_report_rank *ranks, unsigned nranks)
{
    cJSON *array = b->ok && nranks ? cJSON_AddArrayToObject(b->object, "ranks") : NULL;

    b->ok = b->ok && (array || !nranks);
    for (unsigned i = 0; b->ok && i < nranks; i++) {
        builder one = append(b, array);
        add_rank(&one, ranks[i].rank, ranks[i].host, ranks[i].sum.remote_bytes);
        add_integer(&one, "devices", ranks[i].ndevices);
        add_stats(&one, &ranks[i].sum);
        b->ok = one.ok;
    }
}

static void add_cpus(builder *b, const od_report *report)
{
    cJSON *array = b->ok && report->engine.cpus ? cJSON_AddArrayToObject(b->object, "cpus") : NULL;

    for (unsigned i = 0; array && b->ok && i < report->engine.cpus; i++) {
        builder one = append(b, array);
        add_integer(&one, "tasks", report->engine.cpu[i].tasks);
        add_number(&one, "busy_s", seconds(report->engine.cpu[i].busy_ns));
        b->ok = one.ok;
    }
    b->ok = b->ok && (array || !report->engine.cpus);
}

static void add_totals(builder *b, const od_report *report, bool ranked)
{
    od_device_stats totals = od_report_totals(report);
    cJSON *object = b->ok ? cJSON_AddObjectToObject(b->object, "totals") : NULL;
    builder inner = {.object = object, .ok = object != NULL};

    if (ranked)
        add_integer(&inner, "remote_bytes", totals.remote_bytes);
    add_stats(&inner, &totals);
    b->ok = inner.ok;
}

static void add_figures(builder *b, const od_report *report)
{
    od_report_rank ranks[OD_MAX_DEVICES];
    unsigned nranks = od_report_ranks(report, ranks);

    add_totals(b, report, nranks > 0);
    add_ranks(b, ranks, nranks);
    add_devices(b, report, nranks > 0);
}

static void add_slicing(builder *b, cJSON *array, const od_report_slicing *k)
{
    builder one = append(b, array);

    add_string(&one, "name", k->name);
    add_integer(&one, "sliced", k->sliced);
    if (k->early)
        add_integer(&one, "early", k->early);
    add_integer(&one, "whole", k->whole);
    add_integer(&one, "slices", k->slices);
    if (k->reason)
        add_string(&one, "reason", k->reason);
    b->ok = one.ok;
}

static void add_footprint(builder *b, cJSON *array, const od_report_footprint *f)
{
    builder one = append(b, array);

    add_string(&one, "name", f->name);
    add_integer(&one, "argument", f->argument);
    add_string(&one, "state", od_footprint_state_name(f->state));
    b->ok = one.ok;
}

static void add_footprints(builder *b, const od_report *report)
{
    cJSON *array = b->ok && report->nfootprints ? cJSON_AddArrayToObject(b->object, "footprints") : NULL;

    b->ok = b->ok && (array || !report->nfootprints);
    for (unsigned i = 0; b->ok && i < report->nfootprints; i++)
        add_footprint(b, array, &report->footprints[i]);
}

static void add_kernels(builder *b, const od_report *report)
{
    cJSON *array = b->ok && report->nkernels ? cJSON_AddArrayToObject(b->object, "kernels") : NULL;

    b->ok = b->ok && (array || !report->nkernels);
    for (unsigned i = 0; b->ok && i < report->nkernels; i++)
        add_slicing(b, array, &report->kernels[i]);
}

static void add_outlook(builder *b, const char *role, const od_outlook *outlook)
{
    cJSON *object = b->ok && outlook->name[0] ? cJSON_AddObjectToObject(b->object, role) : NULL;
    builder inner = {.object = object, .ok = object != NULL};

    if (!outlook->name[0])
        return;
    add_string(&inner, "settings", outlook->name);
    add_number(&inner, outlook->at_least ? "at_least_s" : "predicted_s", outlook->seconds);
    b->ok = inner.ok;
}

static void add_choice(builder *b, cJSON *array, const od_choice *c)
{
    builder one = append(b, array);

    add_integer(&one, "tasks", c->tasks);
    add_integer(&one, "tried", c->tried);
    one.ok = one.ok && cJSON_AddBoolToObject(one.object, "adopted", c->adopted);
    add_outlook(&one, "best", &c->best);
    add_outlook(&one, "present", &c->present);
    add_outlook(&one, "second", &c->second);
    if (c->half_taken > 0) {
        add_number(&one, "half_predicted_s", c->half_predicted);
        add_number(&one, "half_taken_s", c->half_taken);
    }
    b->ok = one.ok;
}

static void add_choices(builder *b, const od_report *report)
{
    const od_choices *all = report->choices;

    if (!all)
        return;
    add_integer(b, "choices_made", all->count);
    add_number(b, "choices_s", seconds(all->processor_ns));
    cJSON *array = b->ok ? cJSON_AddArrayToObject(b->object, "choices") : NULL;
    b->ok = array != NULL;
    for (unsigned i = 0; b->ok && i < od_choices_kept(all); i++)
        add_choice(b, array, &all->kept[i]);
}

/* The file's text, to be freed with cJSON_free(); NULL: out of memory. */
static char *json_text(const od_report *report)
{
    builder b = {.object = cJSON_CreateObject()};

    b.ok = b.object != NULL;
    add_integer(&b, "schema_version", OD_REPORT_SCHEMA_VERSION);
    add_string(&b, "ompdarts_version", OMPDARTS_VERSION);
    add_string(&b, "program", report->program);
    add_string(&b, "policy", report->policy);
    add_string(&b, "eviction", report->evict);
    add_integer(&b, "seed", report->seed);
    add_number(&b, "wall_s", report->wall_s);
    add_integer(&b, "tasks", report->engine.tasks);
    add_integer(&b, "host_tasks", report->engine.host_tasks);
    add_number(&b, "host_busy_s", seconds(report->engine.host_busy_ns));
    add_number(&b, "sched_ns_per_task", od_report_sched_ns_per_task(report));
    add_integer(&b, "spill_peak_bytes", report->engine.spill_peak_bytes);
    add_choices(&b, report);
    add_kernels(&b, report);
    add_footprints(&b, report);
    add_figures(&b, report);
    add_cpus(&b, report);
    char *text = b.ok ? cJSON_Print(b.object) : NULL;
    cJSON_Delete(b.object);
    return text;
}

/* --- the file ----------------------------------------------------------------- */

static od_status write_text(int descriptor, const char *text)
{
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    if (!file) {
        if (descriptor >= 0)
            close(descriptor);
        return OD_EIO;
    }
    bool written = fputs(text, file) >= 0 && fputc('\n', file) != EOF;
    bool closed = fclose(file) == 0;
    return written && closed ? OD_OK : OD_EIO;
}

static od_status replace_file(const char *path, const char *text)
{
    size_t size = strlen(path) + 32;
    char *temporary = od_malloc(size);

    if (!temporary)
        return OD_ENOMEM;
    snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    unlink(temporary); /* left by a run that was killed */
    od_status status = write_text(open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), text);
    if (!status && rename(temporary, path) != 0)
        status = OD_EIO;
    if (status) {
        int cause = errno;
        unlink(temporary);
        errno = cause;
    }
    free(temporary);
    return status;
}

od_status od_report_write_json(const od_report *report, const char *path)
{
    struct stat info;
    od_status status = OD_ENOMEM;
    char *text = json_text(report);

    if (text) {
        bool in_place = lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
        status = in_place ? write_text(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), text) : replace_file(path, text);
    }
    cJSON_free(text);
    if (status)
        od_log(OD_LOG_ERROR, "statistics", "%s was not written: %s", path,
               status == OD_EIO ? strerror(errno) : od_status_text(status));
    return status;
}
