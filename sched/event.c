/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names of events, reasons, causes and decisions. */
#include "sched/event.h"

const char *od_event_name(od_event_kind kind)
{
    static const char *const names[OD_EVENT_KINDS] = {
        [OD_EVENT_TASK_CREATED] = "created",
        [OD_EVENT_TASK_READY] = "ready",
        [OD_EVENT_TASK_PLANNED] = "planned",
        [OD_EVENT_TASK_BUFFERED] = "buffered",
        [OD_EVENT_TASK_COMMITTED] = "committed",
        [OD_EVENT_TASK_STARTED] = "started",
        [OD_EVENT_TASK_FINISHED] = "finished",
        [OD_EVENT_TRANSFER_QUEUED] = "transfer queued",
        [OD_EVENT_TRANSFER_STARTED] = "transfer started",
        [OD_EVENT_TRANSFER_FINISHED] = "transfer finished",
        [OD_EVENT_LOAD] = "load",
        [OD_EVENT_EVICT] = "evict",
        [OD_EVENT_DECISION] = "decision",
        [OD_EVENT_SETTINGS] = "settings",
        [OD_EVENT_WAITING] = "waiting",
        [OD_EVENT_MEMORY] = "memory",
        [OD_EVENT_STALL] = "stall",
        [OD_EVENT_DROP] = "drop",
        [OD_EVENT_FAULT] = "fault",
    };
    return names[kind];
}

const char *od_evict_reason_name(od_evict_reason reason)
{
    static const char *const names[OD_EVICT_REASONS] = {
        [OD_EVICT_FOR_TASK] = "task",
        [OD_EVICT_FOR_PREFETCH] = "prefetch",
        [OD_EVICT_COMPACTION] = "compaction",
        [OD_EVICT_TO_SHRINK] = "shrink",
    };
    return names[reason];
}

const char *od_stall_cause_name(od_stall_cause cause)
{
    static const char *const names[OD_STALL_CAUSES] = {
        [OD_STALL_NONE] = "none",     [OD_STALL_LOADS] = "loads", [OD_STALL_MEMORY] = "memory",
        [OD_STALL_RIGHTS] = "rights", [OD_STALL_IDLE] = "idle",
    };
    return names[cause];
}

const char *od_decision_name(od_decision_kind kind)
{
    static const char *const names[OD_DECISION_KINDS] = {
        [OD_DECISION_LOAD] = "load", [OD_DECISION_PLACE] = "place", [OD_DECISION_PLAN] = "plan",
        [OD_DECISION_TAKE] = "take", [OD_DECISION_STEAL] = "steal", [OD_DECISION_IDLE] = "idle",
    };
    return names[kind];
}
