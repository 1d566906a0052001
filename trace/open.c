/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which format a trace has. See trace.h. */
#include "trace/trace.h"

#include "trace/format.h"
#include "trace/json_args.h"
#include "util/memory.h"
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
    od_trace *t = od_malloc(sizeof *t);
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
    const char *profiler = profiled ? od_environment_trusted("NVTX_INJECTION64_PATH") : NULL;
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

void od_trace_add_construct(od_trace *t, const od_trace_construct *construct)
{
    if (t->format->construct)
        t->format->construct(t->state, construct);
}

static char *put_kernel(char *at, const void *kernel)
{
    return od_json_kernel(at, kernel);
}

static char *put_footprint(char *at, const void *footprint)
{
    return od_json_footprint(at, footprint);
}

void od_trace_add_kernel(od_trace *t, const od_report_slicing *kernel)
{
    if (t->format->about)
        t->format->about(t->state, "kernel", put_kernel, kernel);
}

void od_trace_add_footprint(od_trace *t, const od_report_footprint *footprint)
{
    if (t->format->about)
        t->format->about(t->state, "footprint", put_footprint, footprint);
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
