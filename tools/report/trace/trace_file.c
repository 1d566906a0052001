/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads a trace line by line: each line but the first and the last is one event. See trace_file.h.
 */
#define _GNU_SOURCE /* getline */
#include "tools/report/trace/trace_file.h"

#include "tools/report/trace/recognise.h"
#include "tools/report/trace/trace_store.h"
#include "trace/trace.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_DEVICE_PID = 2, MOST_DEVICES = 1024 };

typedef struct reader {
    trace_file *file;
    trace_store store;
    size_t line;
    bool headed; /* the first event has been seen */
    const char *wrong;
} reader;

/* --- members -------------------------------------------------------------------- */

static double number(const cJSON *object, const char *name, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static const char *text(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return value ? value : "";
}

static bool is_true(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Beyond the range of int: its end. */
static int integer(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valueint : 0;
}

static uint64_t natural(double value)
{
    return value > 0 && value < 1.8e19 ? (uint64_t)value : 0;
}

static uint64_t count(const cJSON *object, const char *name)
{
    return natural(number(object, name, 0));
}

static uintptr_t address_of(const char *hexadecimal)
{
    return (uintptr_t)strtoull(hexadecimal, NULL, 16);
}

static int place_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsNumber(item))
        return item->valueint;
    return strcmp(text(object, name), "spill") == 0 ? TRACE_SPILL : TRACE_HOST;
}

/* Of the event's process. */
static int event_place(const reader *r, const cJSON *event)
{
    int pid = integer(event, "pid"), end = FIRST_DEVICE_PID + (int)r->file->ndevices;
    return pid >= FIRST_DEVICE_PID && pid < end ? pid - FIRST_DEVICE_PID : TRACE_HOST;
}

static bool event_datum(reader *r, const cJSON *args, uint32_t *datum)
{
    return trace_find_datum(&r->store, address_of(text(args, "datum")), count(args, "size"), datum);
}

/* --- events ----------------------------------------------------------------------- */

static bool read_head(reader *r, const cJSON *args)
{
    trace_file *f = r->file;
    int schema = integer(args, "schema"), devices = integer(args, "devices");
    if (schema != OD_TRACE_SCHEMA) {
        r->wrong = schema > 0 ? "a trace of another version" : "not a trace of ompdarts";
        return true;
    }
    if (devices < 1 || devices > MOST_DEVICES) {
        r->wrong = "a trace without devices";
        return true;
    }
    snprintf(f->version, sizeof f->version, "%s", text(args, "version"));
    snprintf(f->program, sizeof f->program, "%s", text(args, "program"));
    snprintf(f->policy, sizeof f->policy, "%s", text(args, "policy"));
    snprintf(f->eviction, sizeof f->eviction, "%s", text(args, "eviction"));
    snprintf(f->command, sizeof f->command, "%s", text(args, "command"));
    snprintf(f->host, sizeof f->host, "%s", text(args, "host"));
    f->date = count(args, "date");
    f->processors = (unsigned)integer(args, "processors");
    f->active = (unsigned)integer(args, "active");
    f->seed = count(args, "seed");
    f->memory = count(args, "memory_bytes");
    f->ndevices = (unsigned)devices;
    f->device = calloc(f->ndevices, sizeof *f->device);
    for (unsigned k = 0; f->device && k < f->ndevices; k++)
        snprintf(f->device[k], sizeof f->device[k], "device %u", k);
    r->headed = f->device != NULL;
    return f->device != NULL;
}

/* ["0x12",4096,"rw","x[:N]"], the last only where it is known. False: it is not such a thing. */
static bool read_range(const cJSON *range, uintptr_t *address, uint64_t *size, const char **word, const char **variable)
{
    const cJSON *first = cJSON_GetArrayItem(range, 0), *second = cJSON_GetArrayItem(range, 1);
    *word = cJSON_GetStringValue(cJSON_GetArrayItem(range, 2));
    *variable = cJSON_GetStringValue(cJSON_GetArrayItem(range, 3));
    if (!cJSON_IsString(first) || !cJSON_IsNumber(second) || !*word)
        return false;
    *address = address_of(first->valuestring);
    *size = natural(second->valuedouble);
    return true;
}

static bool read_uses(reader *r, const cJSON *args, trace_task *task)
{
    static const char *const modes[] = {"", "r", "w", "rw"};
    const cJSON *use;
    task->first_use = (uint32_t)r->file->nuses;
    cJSON_ArrayForEach(use, cJSON_GetObjectItemCaseSensitive(args, "data"))
    {
        uintptr_t address;
        uint64_t bytes;
        const char *mode, *variable;
        trace_use u = {.mode = OD_READ};
        if (!read_range(use, &address, &bytes, &mode, &variable))
            continue;
        for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
            if (strcmp(mode, modes[m]) == 0)
                u.mode = (od_mode)m;
        if (!trace_find_datum(&r->store, address, bytes, &u.datum) ||
            !trace_find_variable(r->file, variable, &u.variable) || !TRACE_APPEND(r->file, uses, nuses, u))
            return false;
        task->nuses++;
    }
    return true;
}

static bool read_depends(reader *r, const cJSON *args, trace_task *task)
{
    static const char *const types[] = {"in", "out", "inout", "mutexinoutset", "inoutset", "all_memory"};
    const cJSON *item;
    task->first_depend = (uint32_t)r->file->ndepends;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(args, "depends"))
    {
        const char *address = cJSON_GetStringValue(cJSON_GetArrayItem(item, 0));
        const char *type = cJSON_GetStringValue(cJSON_GetArrayItem(item, 1));
        trace_depend depend = {.type = TRACE_INOUT};
        if (!address || !type)
            continue;
        depend.address = address_of(address);
        for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
            if (strcmp(type, types[i]) == 0)
                depend.type = (trace_depend_type)i;
        if (!TRACE_APPEND(r->file, depends, ndepends, depend))
            return false;
        task->ndepends++;
    }
    return true;
}

/* The first that a task of this name has. */
static bool note_source(trace_file *f, uint32_t name, const char *source)
{
    while (f->nsources < f->nnames)
        if (!TRACE_APPEND(f, sources, nsources, NULL))
            return false;
    if (*source && !f->sources[name])
        f->sources[name] = strdup(source);
    return !*source || f->sources[name];
}

static bool read_task(reader *r, const cJSON *event, const cJSON *args)
{
    double from = number(event, "ts", 0), to = from + number(event, "dur", 0);
    trace_task task = {.number = count(args, "task"),
                       .place = event_place(r, event),
                       .priority = integer(args, "priority"),
                       .failed = is_true(args, "failed"),
                       .synchronous = is_true(args, "synchronous"),
                       .from_us = from,
                       .to_us = to,
                       .started_us = number(args, "started_us", from),
                       .ended_us = number(args, "ended_us", to),
                       .created_us = number(args, "created_us", -1),
                       .ready_us = number(args, "ready_us", -1),
                       .planned_us = number(args, "planned_us", -1),
                       .buffered_us = number(args, "buffered_us", -1),
                       .committed_us = number(args, "committed_us", -1)};
    return trace_find_name(&r->store, text(event, "name"), &task.name) &&
           note_source(r->file, task.name, text(args, "source")) && read_uses(r, args, &task) &&
           read_depends(r, args, &task) && TRACE_APPEND(r->file, tasks, ntasks, task);
}

static bool read_construct(reader *r, const cJSON *event, const cJSON *args)
{
    trace_file *f = r->file;
    const cJSON *range;
    double from = number(event, "ts", 0);
    trace_construct construct = {
        .from_us = from, .to_us = from + number(event, "dur", 0), .first_map = (uint32_t)f->nmaps};
    snprintf(construct.name, sizeof construct.name, "%s", text(event, "name"));
    cJSON_ArrayForEach(range, cJSON_GetObjectItemCaseSensitive(args, "data"))
    {
        trace_map map = {0};
        const char *type, *variable;
        if (!read_range(range, &map.address, &map.size, &type, &variable))
            continue;
        snprintf(map.type, sizeof map.type, "%s", type);
        if (!trace_find_variable(f, variable, &map.variable) || !TRACE_APPEND(f, maps, nmaps, map))
            return false;
        construct.nmaps++;
    }
    return trace_find_variable(f, text(args, "source"), &construct.source) &&
           TRACE_APPEND(f, constructs, nconstructs, construct);
}

static bool read_transfer(reader *r, const cJSON *event, const cJSON *args)
{
    static const char *const kinds[] = {"load", "write back", "evict", "update"};
    const char *name = text(event, "name");
    double from = number(event, "ts", 0);
    trace_transfer x = {.kind = TRACE_UPDATE,
                        .from = place_of(args, "from"),
                        .to = place_of(args, "to"),
                        .bytes = count(args, "bytes"),
                        .demanded = is_true(args, "demanded"),
                        .reload = is_true(args, "reload"),
                        .failed = is_true(args, "failed"),
                        .queued_us = number(args, "queued_us", from),
                        .from_us = from,
                        .to_us = from + number(event, "dur", 0)};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]) == 0)
            x.kind = (trace_transfer_kind)i;
    int n = (int)r->file->ndevices;
    if (x.from >= n || x.to >= n)
        r->wrong = "a transfer of a device that there is not";
    return event_datum(r, args, &x.datum) && TRACE_APPEND(r->file, transfers, ntransfers, x);
}

static bool read_stall(reader *r, const cJSON *event)
{
    double from = number(event, "ts", 0);
    trace_stall stall = {.place = event_place(r, event), .from_us = from, .to_us = from + number(event, "dur", 0)};
    for (unsigned cause = 0; cause < OD_STALL_CAUSES; cause++)
        if (strcmp(text(event, "name"), od_stall_cause_name((od_stall_cause)cause)) == 0)
            stall.cause = (od_stall_cause)cause;
    return stall.place == TRACE_HOST || TRACE_APPEND(r->file, stalls, nstalls, stall);
}

static bool read_fault(reader *r, const cJSON *event, const cJSON *args)
{
    trace_fault fault = {.us = number(event, "dur", 0)};
    return event_datum(r, args, &fault.datum) && TRACE_APPEND(r->file, faults, nfaults, fault);
}

/* A choice, or the last one again, with how long half of its tasks have taken. */
static bool read_settings(reader *r, const cJSON *event, const cJSON *args)
{
    bool at_least = cJSON_HasObjectItem(args, "second_at_least_s"),
         is_new = strcmp(text(event, "name"), "settings") == 0;
    trace_settings *s = &r->file->settings;
    *s = (trace_settings){.best_s = number(args, "best_s", 0),
                          .present_s = number(args, "present_s", 0),
                          .second_s = number(args, at_least ? "second_at_least_s" : "second_s", 0),
                          .half_predicted_s = number(args, "half_predicted_s", 0),
                          .half_taken_s = number(args, "half_taken_s", 0),
                          .at_us = is_new ? number(event, "ts", 0) : s->at_us,
                          .choices = s->choices + is_new,
                          .adopted = integer(args, "adopted"),
                          .second_at_least = at_least,
                          .tasks = count(args, "tasks"),
                          .tried = count(args, "tried")};
    snprintf(s->best, sizeof s->best, "%s", text(args, "best"));
    snprintf(s->second, sizeof s->second, "%s", text(args, "second"));
    return true;
}

static bool read_choice(reader *r, const cJSON *event, const cJSON *args)
{
    trace_choice choice = {.place = event_place(r, event), .at_us = number(event, "ts", 0), .datum = TRACE_NO_DATUM};
    bool evicts = strcmp(text(event, "cat"), "evict") == 0;
    if ((evicts || cJSON_HasObjectItem(args, "datum")) && !event_datum(r, args, &choice.datum))
        return false;
    for (unsigned reason = 0; reason < OD_EVICT_REASONS; reason++)
        if (strcmp(text(args, "reason"), od_evict_reason_name((od_evict_reason)reason)) == 0)
            choice.reason = (od_evict_reason)reason;
    if (strcmp(text(event, "name"), "idle") == 0) {
        trace_idle idle = {choice.at_us, number(args, "finish_s", 0), count(args, "devices"),
                           (unsigned)integer(args, "active_devices")};
        return TRACE_APPEND(r->file, idles, nidles, idle);
    }
    if (evicts)
        return TRACE_APPEND(r->file, evictions, nevictions, choice);
    if (strcmp(text(event, "cat"), "drop") == 0)
        return choice.datum == TRACE_NO_DATUM || TRACE_APPEND(r->file, drops, ndrops, choice);
    return TRACE_APPEND(r->file, decisions, ndecisions, choice);
}

static bool read_counter(reader *r, const cJSON *event, const cJSON *args)
{
    double at_us = number(event, "ts", 0);
    trace_level level = {.place = event_place(r, event), .at_us = at_us, .bytes = count(args, "bytes")};
    trace_waiting waiting = {.at_us = at_us, .tasks = count(args, "waiting")};
    if (strcmp(text(event, "name"), "waiting tasks") == 0)
        return TRACE_APPEND(r->file, waiting, nwaiting, waiting);
    return level.place == TRACE_HOST || strcmp(text(event, "name"), "memory") != 0 ||
           TRACE_APPEND(r->file, levels, nlevels, level);
}

static bool read_kernel(reader *r, const cJSON *args)
{
    trace_kernel kernel = {.sliced = count(args, "sliced"),
                           .whole = count(args, "whole"),
                           .early = count(args, "early"),
                           .slices = (unsigned)integer(args, "slices")};
    snprintf(kernel.name, sizeof kernel.name, "%s", text(args, "kernel"));
    snprintf(kernel.reason, sizeof kernel.reason, "%s", text(args, "reason"));
    return TRACE_APPEND(r->file, kernels, nkernels, kernel);
}

static bool read_footprint(reader *r, const cJSON *args)
{
    const char *state = text(args, "state");
    trace_footprint footprint = {.argument = (unsigned)integer(args, "argument"),
                                 .is_all = strcmp(state, od_footprint_state_name(OD_FOOTPRINT_ALL)) == 0};
    snprintf(footprint.name, sizeof footprint.name, "%s", text(args, "kernel"));
    return strcmp(state, od_footprint_state_name(OD_FOOTPRINT_LEARNT)) == 0 ||
           TRACE_APPEND(r->file, footprints, nfootprints, footprint);
}

static bool read_name(reader *r, const cJSON *event, const cJSON *args)
{
    int k = event_place(r, event);
    if (k >= 0 && strcmp(text(event, "name"), "process_name") == 0)
        snprintf(r->file->device[k], sizeof r->file->device[k], "%s", text(args, "name"));
    return true;
}

static bool read_rank(reader *r, const cJSON *event, const cJSON *args)
{
    trace_file *f = r->file;
    int k = event_place(r, event);
    if (k < 0)
        return true;
    if (!f->rank)
        f->rank = calloc(f->ndevices, sizeof *f->rank);
    if (!f->rank)
        return false;
    f->rank[k].number = (unsigned)integer(args, "rank");
    snprintf(f->rank[k].host, sizeof f->rank[k].host, "%s", text(args, "host"));
    return true;
}

/* False: out of memory. Events of other kinds are left out. */
static bool read_event(reader *r, const cJSON *event)
{
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
    const char *phase = text(event, "ph"), *cat = text(event, "cat");
    double end = number(event, "ts", 0) + number(event, "dur", 0);
    if (!r->headed)
        return read_head(r, strcmp(text(event, "name"), "ompdarts") == 0 ? args : NULL);
    if (end > r->file->end_us)
        r->file->end_us = end;
    switch (*phase) {
    case 'M':
        if (strcmp(text(event, "name"), "kernel") == 0)
            return read_kernel(r, args);
        if (strcmp(text(event, "name"), "footprint") == 0)
            return read_footprint(r, args);
        if (strcmp(text(event, "name"), "process_labels") == 0)
            return read_rank(r, event, args);
        return read_name(r, event, args);
    case 'C':
        return read_counter(r, event, args);
    case 'i':
        return strcmp(cat, "settings") == 0 ? read_settings(r, event, args) : read_choice(r, event, args);
    case 'X':
        if (strcmp(cat, "task") == 0)
            return read_task(r, event, args);
        if (strcmp(cat, "construct") == 0)
            return read_construct(r, event, args);
        if (strcmp(cat, "fault") == 0)
            return read_fault(r, event, args);
        return strcmp(cat, "transfer") == 0 ? read_transfer(r, event, args) : read_stall(r, event);
    default:
        return true;
    }
}

/* --- a file -------------------------------------------------------------------------- */

/* One line without its end. Sets `cut` at a line that is not whole. */
static bool read_line(reader *r, char *line, size_t length)
{
    while (length && strchr(",\r\n", line[length - 1]))
        line[--length] = '\0';
    if (!length || strcmp(line, "[") == 0)
        return true;
    if (strcmp(line, "]") == 0) {
        r->file->cut = false;
        return true;
    }
    cJSON *event = cJSON_ParseWithLength(line, length);
    if (!event && !r->headed) {
        r->wrong = "not a trace of ompdarts";
        return true;
    }
    bool ok = !event || read_event(r, event);
    if (!event)
        r->wrong = "";
    cJSON_Delete(event);
    return ok;
}

static od_status read_lines(reader *r, FILE *input)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool ok = true;
    while (ok && !r->wrong && (length = getline(&line, &size, input)) >= 0) {
        r->line++;
        ok = read_line(r, line, (size_t)length);
    }
    free(line);
    if (!ok)
        return OD_ENOMEM;
    if (ferror(input))
        return OD_EIO;
    return OD_OK;
}

static void compose(const reader *r, od_status status, const char *path, FILE *input, char *error, size_t size)
{
    const char *known = status ? NULL : report_recognise(input), *wrong = r->wrong ? r->wrong : "";
    if (status == OD_ENOMEM)
        snprintf(error, size, "%s: out of memory at line %zu", path, r->line);
    else if (status == OD_EIO)
        snprintf(error, size, "%s: %s", path, strerror(errno));
    else if (!r->line)
        snprintf(error, size, "%s: empty", path);
    else if (known)
        snprintf(error, size, "%s: %s", path, known);
    else
        snprintf(error, size, "%s: %s (line %zu)", path, *wrong ? wrong : "not a trace of ompdarts", r->line);
}

od_status trace_file_read(const char *path, trace_file *file, char *error, size_t size)
{
    reader r = {.file = file, .store = {.file = file}};
    *file = (trace_file){.cut = true};
    snprintf(file->path, sizeof file->path, "%s", path);
    FILE *input = fopen(path, "re");
    od_status status = input ? read_lines(&r, input) : OD_EIO;
    bool accepted = !status && r.headed && !(r.wrong && *r.wrong);
    if (!accepted) {
        compose(&r, status, path, input, error, size);
        status = status ? status : OD_EINVAL;
        trace_file_free(file);
    }
    if (input)
        fclose(input);
    trace_store_free(&r.store);
    return status;
}

void trace_file_free(trace_file *file)
{
    for (size_t i = 0; i < file->nnames; i++)
        free(file->names[i]);
    for (size_t i = 0; i < file->nsources; i++)
        free(file->sources[i]);
    for (size_t i = 0; i < file->nvariables; i++)
        free(file->variables[i]);
    free(file->variables);
    free(file->constructs);
    free(file->maps);
    free(file->names);
    free(file->sources);
    free(file->device);
    free(file->rank);
    free(file->data);
    free(file->uses);
    free(file->depends);
    free(file->tasks);
    free(file->transfers);
    free(file->stalls);
    free(file->evictions);
    free(file->drops);
    free(file->decisions);
    free(file->levels);
    free(file->waiting);
    free(file->idles);
    free(file->kernels);
    free(file->faults);
    free(file->footprints);
    *file = (trace_file){0};
}
