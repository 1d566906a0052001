/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Records: what we know about a libomp task between its creation and the moment it is ready, found
 * by the task's address. A sharded hash table, each shard with its own lock.
 */
#ifndef OD_OMP_EXT_RECORDS_H
#define OD_OMP_EXT_RECORDS_H

#include "omp_ext/libomp/abi.h"
#include "omp_ext/libomp/teams/detach.h"
#include "sched/engine/engine.h"

#include "util/lock.h"
#include <stdbool.h>

typedef struct od_record {
    const void *task;          /* kmp_task_t */
    od_task_entry entry;       /* the compiled task's code */
    struct od_entry *code;     /* what has been learnt about it */
    od_detached detached;      /* its completion */
    uint64_t number;           /* in the recording of the run (omp_ext/services/record/record.h), or 0 */
    bool submitted;            /* the engine knows of it */
    bool is_host;              /* a host task */
    bool is_uncounted;         /* od_allocation.is_uncounted */
    bool schedules;            /* what it has before it matters, */
    bool waits;                /* submitted and not ready (tasks.c) */
    uint64_t created_ns;       /* od_tracing_creation() */
    const char *name;          /* od_tracing_take_name() */
    uint16_t split;            /* od_split_take() */
    od_submission *submission; /* as which the engine knows it; NULL once a job has it */
    double bottom;             /* seconds: its bottom level when it became ready */
    bool in_place;             /* a target task that is not detached */
    bool at_end;               /* a host task made after exit() has been called */
    bool shares_nothing;       /* a target task whose code uses nothing of the program: a data construct */
    bool detachable;           /* it may be asked for an event when it runs */
    bool was_queued;           /* a claimed task: libomp has left it to a thread of the team that looks for one */
    bool announced;            /* the guard knows it as a data construct (constructs.h) */
    od_banker_step construct;  /* as which */
    od_node pending;           /* in the list of those that have not run */
    struct od_gate *gate;      /* of a host task that is given a reservation (reservation.h), or NULL */
    int32_t flags;             /* of its allocation, as the program has asked for it */
    od_task_entry destructor;  /* the program's, or none that does anything, while it has ours (discarded.c); or NULL */
    od_depend *depends;        /* malloc'ed copy */
    int32_t ndepends;
    struct od_record *next;
} od_record;

/* Takes the record over. */
void od_task_table_add(od_record *record);
od_record *od_task_table_find(const void *task);
/* Takes the record out; the caller frees it. */
od_record *od_task_table_take(const void *task);
void od_record_free(od_record *record);
/* For a fork. */
void od_task_table_locks(void (*visit)(od_lock *lock));

#endif
