/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The engine's events, as they happen: one fixed list (od_driver_ops.event).
 *
 * A driver that sets `event` receives everything below, in the order of the engine's decisions, under the caller's
 * lock; it must not call the engine back. Pointers are valid during the call. Times are the driver's clock. Nothing
 * depends on the observer: an observed run takes the same decisions as any other.
 */
#ifndef OD_SCHED_EVENT_H
#define OD_SCHED_EVENT_H

#include "sched/choice.h"
#include "sched/task.h"

typedef struct od_transfer od_transfer; /* memmgr/data/transfer.h */

typedef enum od_event_kind {
    /* Life of a task (sched/task.h). `place`: where it is planned, buffered, committed, or runs. */
    OD_EVENT_TASK_CREATED, /* by the program, at `ns`. Emitted just before it is ready, when the engine learns of it */
    OD_EVENT_TASK_READY,
    OD_EVENT_TASK_PLANNED,
    OD_EVENT_TASK_BUFFERED,
    OD_EVENT_TASK_COMMITTED,
    OD_EVENT_TASK_STARTED,
    OD_EVENT_TASK_FINISHED, /* its run has ended; task->failed: it will run again elsewhere */
    /* Life of a transfer. Started and finished by the queue's clock: emitted late. */
    OD_EVENT_TRANSFER_QUEUED,
    OD_EVENT_TRANSFER_STARTED,
    OD_EVENT_TRANSFER_FINISHED, /* od_event.failed: it is queued again, or lost with its device */
    /* Decisions. */
    OD_EVENT_LOAD,     /* `datum` is to come to device `place`; scores: reload 0 or 1 */
    OD_EVENT_EVICT,    /* `datum` leaves device `place`, for `reason`; scores: the rule's numbers */
    OD_EVENT_DECISION, /* the policy has chosen `datum` or `task` for device `place`: see od_decision_kind */
    OD_EVENT_SETTINGS, /* settings have been tried, `choice` */
    /* State. */
    OD_EVENT_WAITING, /* so many `tasks` have been submitted (od_engine_submit) and are not ready now */
    OD_EVENT_MEMORY,  /* device `place` has `bytes` in use now */
    OD_EVENT_DROP,    /* `datum`, a part of an array, is not on device `place` any more */
    OD_EVENT_STALL,   /* device `place` has run nothing from `since_ns` to `ns`, for `reason` */
    OD_EVENT_FAULT,   /* a kernel on device `place` has waited from `since_ns` to `ns` for a page of `datum`, which its
                         task had not named */
    OD_EVENT_KINDS
} od_event_kind;

typedef enum od_evict_reason {
    OD_EVICT_FOR_TASK,     /* room for a datum of the task that comes next */
    OD_EVICT_FOR_PREFETCH, /* room for one of a later task in the task buffer */
    OD_EVICT_COMPACTION,   /* the next task's own data lie in the way of what it still lacks */
    OD_EVICT_TO_SHRINK,    /* others need the memory that it is in */
    OD_EVICT_REASONS
} od_evict_reason;

/* Why a device that could run a task runs none. */
typedef enum od_stall_cause {
    OD_STALL_NONE,   /* it runs one */
    OD_STALL_LOADS,  /* the next task waits for its data */
    OD_STALL_MEMORY, /* it waits for memory that evictions will free */
    OD_STALL_RIGHTS, /* it waits for data that other tasks use or that the host has asked for */
    OD_STALL_IDLE,   /* no task has been given to the device */
    OD_STALL_CAUSES
} od_stall_cause;

/* A number that a decision was based on. */
typedef struct od_score {
    const char *name; /* a static string */
    double value;     /* finite */
} od_score;

enum { OD_MAX_SCORES = 6 };

typedef enum od_decision_kind {
    OD_DECISION_LOAD,  /* `datum` is to come to the device, for the tasks that it makes possible */
    OD_DECISION_PLACE, /* `task` goes to the device */
    OD_DECISION_PLAN,  /* a part of a batch goes to the device, `task` is its first */
    OD_DECISION_TAKE,  /* `task` comes before others that were planned for the device earlier */
    OD_DECISION_STEAL, /* tasks of another device, the score `from`, go to the device, `task` is their first */
    OD_DECISION_IDLE, /* the engine's: how many devices are active, the score `active_devices`; no task, no datum */
    OD_DECISION_KINDS
} od_decision_kind;

/* What a policy has chosen, emitted as it does. Either datum or task is NULL; the task is still the policy's.
 * OD_DECISION_IDLE is none of these. */
typedef struct od_decision {
    od_decision_kind kind;
    unsigned k; /* the device */
    const od_datum *datum;
    od_task *task;
    unsigned nscores; /* the rule's numbers, 1 to OD_MAX_SCORES */
    const od_score *scores;
} od_decision;

/* Members of od_decision: an array. */
#define OD_SCORES(array) .nscores = sizeof(array) / sizeof *(array), .scores = (array)

typedef struct od_event {
    od_event_kind kind;
    uint64_t ns;
    int place; /* a device, OD_HOST or OD_NOWHERE */
    od_task *task;
    const od_datum *datum;
    const od_transfer *transfer;
    bool failed;
    unsigned reason;   /* od_evict_reason, od_stall_cause or od_decision_kind */
    uint64_t since_ns; /* of a stall or a fault */
    uint64_t bytes;    /* of memory in use */
    uint64_t tasks;    /* that wait */
    const od_choice *choice;
    unsigned nscores;
    const od_score *scores;
} od_event;

/* Their names, as in traces: "ready", "evict", "loads", ... */
const char *od_event_name(od_event_kind kind);
const char *od_evict_reason_name(od_evict_reason reason);
const char *od_stall_cause_name(od_stall_cause cause);
const char *od_decision_name(od_decision_kind kind);

#endif
