/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * From events to NVTX, for a profiler (Nsight Systems): a range per running task, a range per transfer, a
 * mark per eviction, in the domain "ompdarts". Compiled where NVIDIA's header was found; the profiler names itself in
 * NVTX_INJECTION64_PATH.
 *
 * NVTX takes no times: a range begins and ends when the engine emits it. A kernel that is queued behind another
 * begins when it is queued, and so does a transfer, whose start is emitted together with its end.
 *
 * Ranges end in any order, on any thread. The open ones are kept in a table by task or transfer, so that all can be
 * ended wherever the run ends.
 */
#include "trace/format.h"

#include "memmgr/data/transfer.h"
#include "util/memory.h"

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

enum { TABLE_BITS = 10, MOST_NAME = 160 };

typedef struct range {
    struct range *next;
    const void *of; /* a task or a transfer */
    nvtxRangeId_t id;
} range;

typedef struct nvtx {
    od_trace_run run;
    nvtxDomainHandle_t domain;
    range *open[1 << TABLE_BITS];
    range *spare;
} nvtx;

/* 0 is no category. */
static const struct {
    const char *name;
    uint32_t colour;
} categories[] = {
    [1 + OD_TASKS] = {"task", 0xff3f9c4b},      [1 + OD_LOADS] = {"in", 0xff3b76c4},
    [1 + OD_STORES] = {"out", 0xffd98a2b},      [1 + OD_PEER] = {"peer in", 0xff8a5bb5},
    [1 + OD_EVICTIONS] = {"evict", 0xffc43b3b},
};

static nvtxEventAttributes_t attributes_of(od_track track, const char *name)
{
    nvtxEventAttributes_t what = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    what.category = 1 + (uint32_t)track;
    what.colorType = NVTX_COLOR_ARGB;
    what.color = categories[what.category].colour;
    what.messageType = NVTX_MESSAGE_TYPE_ASCII;
    what.message.ascii = name;
    return what;
}

static void set_bytes(nvtxEventAttributes_t *what, size_t bytes)
{
    what->payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    what->payload.ullValue = bytes;
}

/* --- ranges --------------------------------------------------------------- */

static range **slot_of(nvtx *t, const void *of)
{
    return &t->open[(uintptr_t)of * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS)];
}

static void begin(nvtx *t, const void *of, const nvtxEventAttributes_t *what)
{
    range *r = t->spare, **slot = slot_of(t, of);
    if (r)
        t->spare = r->next;
    else
        r = od_malloc(sizeof *r);
    if (!r) /* what could not be ended does not begin */
        return;
    *r = (range){.next = *slot, .of = of, .id = nvtxDomainRangeStartEx(t->domain, what)};
    *slot = r;
}

static void end_first(nvtx *t, range **at)
{
    range *r = *at;
    nvtxDomainRangeEnd(t->domain, r->id);
    *at = r->next;
    r->next = t->spare;
    t->spare = r;
}

static void end(nvtx *t, const void *of)
{
    range **at = slot_of(t, of);
    while (*at && (*at)->of != of)
        at = &(*at)->next;
    if (*at)
        end_first(t, at);
}

static void begin_task(nvtx *t, const od_event *event)
{
    od_trace_task about = {.name = "task"};
    t->run.describe(t->run.arg, event->task, &about);
    nvtxEventAttributes_t what = attributes_of(OD_TASKS, about.name);
    what.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    what.payload.llValue = event->place < OD_SPILL ? event->place : -1;
    begin(t, event->task, &what);
}

static void begin_transfer(nvtx *t, const od_transfer *x)
{
    char name[MOST_NAME];
    int place = od_track_place(x);
    snprintf(name, sizeof name, place < OD_SPILL ? "%s, device %d" : "%s", od_transfer_name(x), place);
    nvtxEventAttributes_t what = attributes_of(od_track_of(x), name);
    set_bytes(&what, x->bytes);
    begin(t, x, &what);
}

static void mark_eviction(nvtx *t, const od_event *event)
{
    char name[MOST_NAME];
    snprintf(name, sizeof name, "evict for %s, device %d", od_evict_reason_name((od_evict_reason)event->reason),
             event->place);
    nvtxEventAttributes_t what = attributes_of(OD_EVICTIONS, name);
    set_bytes(&what, event->datum->size);
    nvtxDomainMarkEx(t->domain, &what);
}

static void nvtx_event(void *state, const od_event *event)
{
    nvtx *t = state;
    switch (event->kind) {
    case OD_EVENT_TASK_STARTED:
        begin_task(t, event);
        break;
    case OD_EVENT_TASK_FINISHED:
        end(t, event->task);
        break;
    case OD_EVENT_TRANSFER_QUEUED:
        begin_transfer(t, event->transfer);
        break;
    case OD_EVENT_TRANSFER_FINISHED:
        end(t, event->transfer);
        break;
    case OD_EVENT_EVICT:
        mark_eviction(t, event);
        break;
    default:
        break;
    }
}

/* --- a run ----------------------------------------------------------------- */

static void *nvtx_open(const char *path, const od_trace_run *run)
{
    (void)path;
    nvtx *t = od_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->run = *run;
    t->domain = nvtxDomainCreateA("ompdarts");
    if (!t->domain) { /* the tool could not be loaded, or takes no domains */
        free(t);
        return NULL;
    }
    for (uint32_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (categories[i].name)
            nvtxDomainNameCategoryA(t->domain, i, categories[i].name);
    return t;
}

static void free_ranges(range *r)
{
    while (r) {
        range *next = r->next;
        free(r);
        r = next;
    }
}

/* The open ranges are the parent's, and so is the tool. */
static void nvtx_abandon(void *state)
{
    nvtx *t = state;
    for (unsigned i = 0; i < 1u << TABLE_BITS; i++)
        free_ranges(t->open[i]);
    free_ranges(t->spare);
    free(t);
}

static od_status nvtx_close(void *state)
{
    nvtx *t = state;
    for (unsigned i = 0; i < 1u << TABLE_BITS; i++)
        while (t->open[i])
            end_first(t, &t->open[i]);
    nvtxDomainDestroy(t->domain);
    nvtx_abandon(t);
    return OD_OK;
}

const od_trace_format od_trace_nvtx = {nvtx_open, nvtx_event, NULL, NULL, nvtx_close, nvtx_abandon};
