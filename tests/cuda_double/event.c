/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Events. One that was never recorded counts as ready; one that was destroyed may still be pending in a stream.
 */
#include "double.h"

#include <stdlib.h>

enum { EVENT_MAGIC = 0xc0de0003, EVENT_FLAGS = 7 };

od_cu_result cd_event_check(cd_event *event)
{
    if (!event)
        return OD_CU_INVALID_HANDLE;
    if ((uintptr_t)event < CD_PAGE || event->magic != EVENT_MAGIC)
        return cd_misuse(OD_CU_INVALID_HANDLE, "%p is no event", (void *)event);
    if (!event->alive)
        return cd_misuse(OD_CU_INVALID_HANDLE, "the event %p was destroyed", (void *)event);
    return OD_CU_SUCCESS;
}

static od_cu_result enter_with(cd_call call, cd_needs needs, cd_event *event)
{
    od_cu_result result = cd_enter(call, needs);
    if (result)
        return result;
    result = cd_event_check(event);
    return result ? cd_leave(result) : OD_CU_SUCCESS;
}

od_cu_result cuEventCreate(od_cu_event *event, unsigned flags)
{
    od_cu_result result = cd_enter(CD_cuEventCreate, CD_CONTEXT);
    if (result)
        return result;
    if (!event || flags > EVENT_FLAGS)
        return cd_leave(OD_CU_INVALID_VALUE);
    cd_event *created = calloc(1, sizeof *created);
    if (!created)
        return cd_leave(OD_CU_OUT_OF_MEMORY);
    *created = (cd_event){.magic = EVENT_MAGIC, .context = cd_current(), .alive = true, .next = cd.events};
    *event = cd.events = created;
    return cd_leave(OD_CU_SUCCESS);
}

od_cu_result cuEventDestroy_v2(od_cu_event event)
{
    od_cu_result result = enter_with(CD_cuEventDestroy_v2, CD_INITIALIZED, event);
    if (result)
        return result;
    event->alive = false;
    return cd_leave(cd_context_health(event->context));
}

od_cu_result cuEventRecord(od_cu_event event, od_cu_stream handle)
{
    od_cu_result result = enter_with(CD_cuEventRecord, CD_STREAMS_CONTEXT, event);
    if (result)
        return result;
    cd_stream *stream;
    result = cd_stream_find(handle, &stream);
    if (!result && stream->context != event->context)
        result = OD_CU_INVALID_HANDLE;
    if (!result)
        result = cd_context_health(stream->context);
    if (result)
        return cd_leave(result);
    result = cd_stream_submit(stream, &(cd_op){.kind = CD_OP_RECORD, .event = event, .record = event->recorded + 1});
    event->recorded += !result;
    return cd_leave(result);
}

od_cu_result cuEventQuery(od_cu_event event)
{
    od_cu_result result = enter_with(CD_cuEventQuery, CD_INITIALIZED, event);
    if (result)
        return result;
    result = cd_context_health(event->context);
    if (!result && event->completed < event->recorded)
        result = OD_CU_NOT_READY;
    return cd_leave(result);
}

od_cu_result cuEventSynchronize(od_cu_event event)
{
    od_cu_result result = enter_with(CD_cuEventSynchronize, CD_STREAMS_CONTEXT, event);
    if (result)
        return result;
    uint64_t recorded = event->recorded;
    while (event->completed < recorded && !cd_context_health(event->context))
        pthread_cond_wait(&cd.progress, &cd.lock);
    return cd_leave(cd_context_health(event->context));
}

void cd_events_drop(const cd_context *context)
{
    for (cd_event *event = cd.events; event; event = event->next) {
        if (event->context != context || !event->alive)
            continue;
        event->alive = false;
        cd.stats.leaked_events++;
    }
}
