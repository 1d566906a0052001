/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A run as a file to look at: what the engine tells (sched/event.h), in the JSON format of Chrome's trace viewer, which
 * Perfetto reads, or where the name of the file ends in .paje or .trace in that of Paje, which ViTE reads. docs/trace-format.md
 * has the tracks and the members of each event.
 *
 * In JSON one event is one line, so that a file that was cut off can be read up to there, and a thread writes it. Paje wants
 * the events in order, so they are kept until the end. The caller holds the lock under which the engine tells.
 */
#ifndef OD_TRACE_TRACE_H
#define OD_TRACE_TRACE_H

#include "sched/event.h"
#include "util/status.h"

#include <time.h>

enum { OD_TRACE_SCHEMA = 1 };

/* What the driver knows of a task that has run. Strings are valid until the next event. */
typedef struct od_trace_task {
    uint64_t number;         /* tells tasks apart */
    const char *name;        /* of its code */
    const char *source;      /* "file:line", or NULL */
    bool synchronous;        /* a thread of the program waits for it */
} od_trace_task;

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
    uint64_t start_ns;
    void (*describe)(void *arg, const od_task *task, od_trace_task *description);
    void *arg;
    bool threaded; /* the file is written by a thread of its own */
} od_trace_run;

typedef struct od_trace od_trace;

bool od_trace_is_paje(const char *path);

/* NULL, with errno set. Keeps nothing that `run` points to but `describe` and `arg`. */
od_trace *od_trace_open(const char *path, const od_trace_run *run);
/* Whether a profiler listens to NVTX, and the library was built with it. */
bool od_trace_is_profiled(void);
/* The run as ranges for that profiler, instead of a file. NULL: nobody listens. */
od_trace *od_trace_profile(const od_trace_run *run);
void od_trace_event(od_trace *trace, const od_event *event);
/* OD_EIO: something is missing in the file; a warning has said so. */
od_status od_trace_close(od_trace *trace);
/* In the child of a fork. */
void od_trace_abandon(od_trace *trace);

#endif
