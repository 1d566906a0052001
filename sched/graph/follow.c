/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known follows what the engine reports of tasks; see known.h. */
#include "sched/graph/known.h"

void od_known_follow_new(od_known *known, const od_known_task *task)
{
    od_pattern_met *met = &known->met;
    if (known->pattern.batch != known->batches) {
        known->pattern = (od_pattern){.batch = known->batches};
        met->nkinds = met->ndata = 0;
    }
    for (uint32_t i = 0; i < task->nnamed; i++)
        od_pattern_use(&known->pattern, met, task->named[i].item->base, task->named[i].mode);
    od_pattern_add(&known->pattern, met, task->kind);
}

od_status od_known_follow_ready(od_known *known, od_task *task)
{
    if (!known)
        return OD_OK;
    od_known_task *ready = od_known_ready(known, task->known, task);
    if (!ready)
        return OD_ENOMEM;
    if (!task->known)
        od_known_follow_new(known, ready);
    od_durations_note(&known->durations, task->kind, task->duration);
    od_durations_note_host(&known->durations, task->kind, task->host_seconds);
    task->known = ready;
    return OD_OK;
}

void od_known_follow_taken(od_known *known, od_task *task)
{
    if (task->known && !task->known->taken)
        od_known_take(known, task->known);
}

void od_known_follow_done(od_known *known, od_task *task)
{
    if (task->known)
        od_known_done(known, task->known);
    task->known = NULL;
}
