/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which format a trace has, and what all formats need. See trace.h. */
#include "trace/trace.h"

#include "memmgr/transfer.h"
#include "trace/format.h"
#include "util/options.h"

#include <stdlib.h>
#include <string.h>

struct od_trace {
    const od_trace_format *format;
    void *state;
};

bool od_trace_is_paje(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (strcmp(ending, ".paje") == 0 || strcmp(ending, ".trace") == 0);
}

static od_trace *open_as(const od_trace_format *format, const char *path, const od_trace_run *run)
{
    od_trace *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    t->format = format;
    t->state = format->open(path, run);
    if (t->state)
        return t;
    free(t);
    return NULL;
}

od_trace *od_trace_open(const char *path, const od_trace_run *run)
{
    return open_as(od_trace_is_paje(path) ? &od_trace_paje : &od_trace_json, path, run);
}

#ifdef OMPDARTS_NVTX
static const od_trace_format *const profiled = &od_trace_nvtx;
#else
static const od_trace_format *const profiled = NULL;
#endif

bool od_trace_is_profiled(void)
{
    const char *profiler = profiled ? od_environment("NVTX_INJECTION64_PATH") : NULL;
    return profiler && *profiler;
}

od_trace *od_trace_profile(const od_trace_run *run)
{
    return od_trace_is_profiled() ? open_as(profiled, NULL, run) : NULL;
}

void od_trace_event(od_trace *t, const od_event *event)
{
    t->format->event(t->state, event);
}

od_status od_trace_close(od_trace *t)
{
    od_status status = t->format->close(t->state);
    free(t);
    return status;
}

void od_trace_abandon(od_trace *t)
{
    t->format->abandon(t->state);
    free(t);
}

uint64_t od_trace_time(const od_trace_run *run, uint64_t ns)
{
    return ns > run->start_ns ? ns - run->start_ns : 0;
}

/* --- tracks ---------------------------------------------------------------- */

const char *od_track_name(od_track track)
{
    static const char *const names[OD_TRACKS] = {"tasks", "in", "out", "peer in", "stalls", "evictions", "decisions"};
    return names[track];
}

od_track od_track_of(const od_transfer *x)
{
    return x->to >= OD_SPILL ? OD_STORES : x->from >= OD_SPILL ? OD_LOADS : OD_PEER;
}

int od_track_place(const od_transfer *x)
{
    return x->to < OD_SPILL ? x->to : x->from;
}

const char *od_transfer_name(const od_transfer *x)
{
    static const char *const kinds[] = {"load", "write back", "evict", "update"};
    return kinds[x->kind];
}

unsigned od_lane_take(od_lanes *lanes, uint64_t *from_ns, uint64_t *to_ns)
{
    unsigned lane = 0;
    if (*to_ns < *from_ns)
        *to_ns = *from_ns;
    while (lane < OD_LANES - 1 && lanes->end[lane] > *from_ns)
        lane++;
    if (lanes->end[lane] > *from_ns)
        *from_ns = lanes->end[lane] < *to_ns ? lanes->end[lane] : *to_ns;
    if (*to_ns > lanes->end[lane])
        lanes->end[lane] = *to_ns;
    return lane;
}
