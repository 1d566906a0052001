/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A run as a file to look at: the engine's events (sched/event.h), in the JSON format of Chrome's trace viewer, which
 * Perfetto reads, or where the name of the file ends in .paje or .trace in that of Paje, which ViTE reads.
 * docs/trace-format.md has the tracks and the members of each event.
 *
 * In JSON one event is one line, so that a file that was cut off can be read up to there, and a thread writes it. Paje
 * wants the events in order, so they are kept until the end. The caller holds the lock under which the engine emits.
 */
#ifndef OD_TRACE_TRACE_H
#define OD_TRACE_TRACE_H

#include "sched/event.h"
#include "sched/report/report.h"
#include "util/status.h"

#include <time.h>

enum { OD_TRACE_SCHEMA = 1 };

/* What the driver knows of a task that has run. Strings are valid until the next event. */
typedef struct od_trace_task {
    uint64_t number;         /* distinguishes tasks */
    const char *name;        /* of its code */
    const char *source;      /* "file:line", or NULL */
    bool synchronous;        /* a thread of the program waits for it */
} od_trace_task;

/* An item of a task's depend clauses. */
typedef struct od_trace_depend {
    uintptr_t address;
    const char *type; /* "in", "out", "inout", "mutexinoutset", "inoutset" or "all_memory" */
} od_trace_depend;

/* A data construct of the program's. Strings need not be terminated. */
typedef struct od_trace_map {
    uintptr_t address;
    uint64_t size;
    const char *type;     /* "to", "from", "tofrom", "alloc", "release" or "delete" */
    const char *variable; /* as the program wrote it; NULL: not known */
    size_t variable_length;
} od_trace_map;

typedef struct od_trace_construct {
    const char *name;   /* "enter data", "exit data" or "update" */
    const char *source; /* "file:line", or NULL */
    uint64_t from_ns, to_ns;
    unsigned nmaps;
    const od_trace_map *maps;
} od_trace_construct;

enum { OD_TRACE_MOST_MAPS = 40 };

typedef struct od_trace_run {
    const char *program; /* its name */
    const char *command; /* with its arguments, or NULL */
    const char *host;    /* the machine's name, or NULL */
    time_t date;         /* of the start; 0: of no meaning */
    unsigned active;     /* devices, because the user says so; 0: all, or it is chosen */
    unsigned processors; /* that the devices share with the program; 0: they compute by themselves */
    const char *policy, *evict;
    uint64_t seed;
    unsigned ndevices;
    size_t memory;             /* bytes of each device */
    const char *const *device; /* names */
    /* By device: the rank of the job whose device it is, and the name of that one's host. NULL: all are of one rank. */
    const unsigned *rank;
    const char *const *rank_host;
    uint64_t start_ns;
    void (*describe)(void *arg, const od_task *task, od_trace_task *description);
    /* What the program calls one of the task's data, `*length` bytes; NULL: not known. May be NULL itself. */
    const char *(*variable)(void *arg, const od_task *task, uint32_t access, size_t *length);
    /* Item `i` of its depend clauses; false: it has no more. May be NULL itself. */
    bool (*depend)(void *arg, const od_task *task, uint32_t i, od_trace_depend *item);
    void *arg;
    bool threaded; /* another thread writes the file */
} od_trace_run;

typedef struct od_trace od_trace;

bool od_trace_is_paje(const char *path);

/* NULL, with errno set. Keeps nothing that `run` points to but `arg` and the functions. */
od_trace *od_trace_open(const char *path, const od_trace_run *run);
/* Whether a profiler receives NVTX ranges, and the library was built with it. */
bool od_trace_is_profiled(void);
/* The run as ranges for that profiler, instead of a file. NULL: no profiler. */
od_trace *od_trace_profile(const od_trace_run *run);
void od_trace_event(od_trace *trace, const od_event *event);
/* Formats that have no place for it leave it out. */
void od_trace_add_construct(od_trace *trace, const od_trace_construct *construct);
/* Likewise. When the run ends. */
void od_trace_add_kernel(od_trace *trace, const od_report_slicing *kernel);
void od_trace_add_footprint(od_trace *trace, const od_report_footprint *footprint);
/* OD_EIO: something is missing in the file; a warning has said so. */
od_status od_trace_close(od_trace *trace);
/* In the child of a fork. */
void od_trace_abandon(od_trace *trace);

#endif
