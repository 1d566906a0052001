/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known follows what the engine reports of tasks; see known.h. */
#include "sched/graph/known.h"

od_status od_known_follow_ready(od_known *known, od_task *task)
{
    if (!known)
        return OD_OK;
    od_known_task *ready = od_known_ready(known, task->known, task);
    if (!ready)
        return OD_ENOMEM;
    od_durations_note(&known->durations, task->kind, task->duration);
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
