/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A listener (sched/event.h) that checks what an engine tells: tasks live in order, transfers begin and end once,
 * memory stays below its limit, stalls do not overlap, decisions are about what is still open; and that all of it
 * together gives the engine's statistics.
 */
#ifndef OD_TESTS_TOLD_H
#define OD_TESTS_TOLD_H

#include "sched/engine/engine.h"

enum { TOLD_TASKS = 64, TOLD_TRANSFERS = 64, TOLD_DEVICES = OD_PLACE_WORDS > 1 ? 80 : 8 };

typedef struct told_task {
    od_event_kind last;
    bool known; /* something has been told of it */
    bool failed;
    bool advisory; /* it may be declined, of which nothing is told, and given up, which is told as a failed run */
    int place;
    uint64_t last_ns;
} told_task;

typedef struct told_transfer {
    const od_transfer *transfer; /* NULL: the slot is free */
    bool started;
} told_transfer;

typedef struct told_device {
    od_device_stats stats; /* as far as they are told */
    uint64_t last_ns;      /* the end of the last stall */
} told_device;

typedef struct told {
    told_task task[TOLD_TASKS];
    told_transfer transfer[TOLD_TRANSFERS];
    told_device device[TOLD_DEVICES];
    uint64_t waiting; /* tasks */
    unsigned ndevices;
    uint64_t decisions[OD_DECISION_KINDS], planned;
    char error[160]; /* of the first broken rule, or empty */
} told;

/* That the devices are of, for od_engine_config.ranks. */
extern const unsigned told_ranks[TOLD_DEVICES];

/* Zeroed but for ndevices, it is ready. An event of the task with this number; ignored for events of none. */
void told_event(told *t, const od_event *event, size_t task, size_t memory);
/* At the end of a run: compares with the engine's statistics; `complete`: all tasks have completed. */
void told_check_end(told *t, od_engine *engine, unsigned ndevices, bool complete);

#endif
