/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the formats of traces share. Nothing outside trace/ includes this. */
#ifndef OD_TRACE_FORMAT_H
#define OD_TRACE_FORMAT_H

#include "trace/trace.h"

/* Appends members of an event to a line. Returns its end. */
typedef char *od_trace_put(char *at, const void *what);

typedef struct od_trace_format {
    void *(*open)(const char *path, const od_trace_run *run); /* NULL, with errno set */
    void (*event)(void *state, const od_event *event);
    void (*construct)(void *state, const od_trace_construct *construct); /* may be NULL */
    /* What is known of kernels at the end: `put` appends it. May be NULL. */
    void (*about)(void *state, const char *name, od_trace_put *put, const void *what);
    od_status (*close)(void *state);
    void (*abandon)(void *state);
} od_trace_format;

extern const od_trace_format od_trace_json, od_trace_paje;
extern const od_trace_format od_trace_nvtx; /* where OMPDARTS_NVTX is defined; without a path */

/* Nanoseconds since the start of the run; what came before it is at its start. */
uint64_t od_trace_time(const od_trace_run *run, uint64_t ns);

/* The kinds of work of a device, each shown by itself. */
typedef enum od_track {
    OD_TASKS,
    OD_LOADS,
    OD_STORES,
    OD_PEER,
    OD_STALLS,
    OD_FAULTS,
    OD_EVICTIONS,
    OD_DECISIONS,
    OD_CONSTRUCTS,
    OD_TRACKS
} od_track;

const char *od_track_name(od_track track);
/* Of a copy, and the device that it is shown with. */
od_track od_track_of(const od_transfer *transfer);
int od_track_place(const od_transfer *transfer);
const char *od_transfer_name(const od_transfer *transfer);

/* Spans that are shown in one place must not overlap: those that do are spread over lanes. */
enum { OD_LANES = 16 };
typedef struct od_lanes {
    uint64_t end[OD_LANES]; /* of the last span */
} od_lanes;

/* The first lane that is free at the beginning of the span. Where none is, the span is made to begin later. */
unsigned od_lane_take(od_lanes *lanes, uint64_t *from_ns, uint64_t *to_ns);

#endif
