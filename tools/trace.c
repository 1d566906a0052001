/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `ompdarts trace convert`: from Perfetto's format to that of Paje, by emitting its events to the library's writer.
 */
#include "trace/trace.h"
#include "memmgr/data/transfer.h"
#include "tools/report/trace/trace_file.h"
#include "tools/tools.h"
#include "util/file/name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: ompdarts trace convert TRACE.json TRACE.paje\n"
    "\n"
    "Converts a Perfetto trace of `ompdarts run --trace` or `ompdarts sim --trace` to the Paje format, for ViTE.\n"
    "Of a truncated trace, what can be read is converted.\n"
    "\n"
    "Exit status: 0 success; 1 the file could not be written; 2 the command line or the trace was refused.\n";

typedef struct telling {
    const trace_file *file;
    const trace_task *task; /* the one that is being emitted */
} telling;

static uint64_t ns(double us)
{
    return us > 0 ? (uint64_t)(us * 1000 + 0.5) : 0;
}

static int place(int of)
{
    return of >= 0 ? of : of == TRACE_SPILL ? OD_SPILL : OD_HOST;
}

static void describe(void *arg, const od_task *task, od_trace_task *about)
{
    const telling *t = arg;
    (void)task;
    about->name = t->file->names[t->task->name];
}

static void emit_tasks(od_trace *out, telling *t)
{
    for (size_t i = 0; i < t->file->ntasks; i++) {
        t->task = &t->file->tasks[i];
        od_task task = {.id = t->task->number, .start_ns = ns(t->task->from_us)};
        od_trace_event(out, &(od_event){.kind = OD_EVENT_TASK_FINISHED,
                                        .ns = ns(t->task->to_us),
                                        .place = place(t->task->place),
                                        .task = &task});
    }
}

static void emit_transfers(od_trace *out, const trace_file *file)
{
    static const od_transfer_kind kinds[] = {OD_LOAD, OD_WRITE_BACK, OD_EVICT, OD_UPDATE};
    for (size_t i = 0; i < file->ntransfers; i++) {
        const trace_transfer *x = &file->transfers[i];
        od_transfer transfer = {.kind = kinds[x->kind],
                                .from = place(x->from),
                                .to = place(x->to),
                                .start_ns = ns(x->from_us),
                                .end_ns = ns(x->to_us)};
        od_trace_event(out,
                       &(od_event){.kind = OD_EVENT_TRANSFER_FINISHED, .place = transfer.to, .transfer = &transfer});
    }
}

static void emit_idle(od_trace *out, const trace_file *file)
{
    for (size_t i = 0; i < file->nstalls; i++)
        od_trace_event(out, &(od_event){.kind = OD_EVENT_STALL,
                                        .place = place(file->stalls[i].place),
                                        .reason = file->stalls[i].cause,
                                        .since_ns = ns(file->stalls[i].from_us),
                                        .ns = ns(file->stalls[i].to_us)});
    for (size_t i = 0; i < file->nlevels; i++)
        od_trace_event(out, &(od_event){.kind = OD_EVENT_MEMORY,
                                        .place = place(file->levels[i].place),
                                        .bytes = file->levels[i].bytes,
                                        .ns = ns(file->levels[i].at_us)});
    for (size_t i = 0; i < file->nwaiting; i++)
        od_trace_event(out, &(od_event){.kind = OD_EVENT_WAITING,
                                        .place = OD_HOST,
                                        .tasks = file->waiting[i].tasks,
                                        .ns = ns(file->waiting[i].at_us)});
    for (size_t i = 0; i < file->nevictions; i++)
        od_trace_event(out, &(od_event){.kind = OD_EVENT_EVICT,
                                        .place = place(file->evictions[i].place),
                                        .reason = file->evictions[i].reason,
                                        .ns = ns(file->evictions[i].at_us)});
}

/* NULL, with errno set. */
static od_trace *open_copy(telling *t, const char *to)
{
    const trace_file *file = t->file;
    unsigned n = file->ndevices, *rank = calloc(n, sizeof *rank);
    const char **name = calloc(n, sizeof *name), **host = calloc(n, sizeof *host);
    od_trace_run run = {.host = *file->host ? file->host : NULL,
                        .ndevices = n,
                        .memory = file->memory,
                        .device = name,
                        .describe = describe,
                        .arg = t};
    bool made = rank && name && host;
    for (unsigned k = 0; made && k < n; k++) {
        name[k] = file->device[k];
        rank[k] = file->rank ? file->rank[k].number : 0;
        host[k] = file->rank ? file->rank[k].host : NULL;
    }
    if (file->rank) {
        run.rank = rank;
        run.rank_host = host;
    }
    errno = ENOMEM;
    od_trace *out = made ? od_trace_open(to, &run) : NULL;
    int error = errno;
    free(rank);
    free(name);
    free(host);
    errno = error;
    return out;
}

static int convert(const char *from, const char *to)
{
    char error[1200];
    trace_file file;
    telling t = {.file = &file};
    if (!od_trace_is_paje(to)) {
        od_tool_error("trace: '%s' is not of a known format; allowed: a file that ends in .paje or .trace", to);
        return OD_EXIT_REFUSED;
    }
    if (od_file_is_same(from, to)) {
        od_tool_error("trace: %s would be replaced; allowed: another file", from);
        return OD_EXIT_REFUSED;
    }
    if (trace_file_read(from, &file, error, sizeof error)) {
        od_tool_error("trace: %s", error);
        return OD_EXIT_REFUSED;
    }
    if (file.cut)
        od_tool_error("trace: %s: the end is missing; what could be read is converted", from);
    od_trace *out = open_copy(&t, to);
    int status = OD_EXIT_FAILURE;
    if (out) {
        emit_tasks(out, &t);
        emit_transfers(out, &file);
        emit_idle(out, &file);
        status = od_trace_close(out) ? OD_EXIT_FAILURE : 0;
    } else {
        od_tool_error("trace: %s: %s", to, strerror(errno));
    }
    trace_file_free(&file);
    return status;
}

int od_tool_trace(int argc, char **argv)
{
    static const char *const known[] = {"convert", "--help", NULL};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "convert") != 0) {
        od_tool_unknown("argument", argv[1], known);
        return OD_EXIT_REFUSED;
    }
    if (argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc != 4) {
        od_tool_error("trace: two files are needed, to convert from and to; `ompdarts trace --help` explains");
        return OD_EXIT_REFUSED;
    }
    return convert(argv[2], argv[3]);
}
