/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What target tasks (target_tasks.c) and host tasks (host_tasks.c) have in common. */
#ifndef OD_OMP_EXT_TASKS_H
#define OD_OMP_EXT_TASKS_H

#include "omp_ext/runtime/work.h"
#include "omp_ext/tasks/entry.h"
#include "omp_ext/tasks/task_table.h"

/* The scheduler gets to know of a created task, with its depend items. */
void od_task_submit(od_record *record);
/* The task is ready, or will never be. */
void od_task_unsubmit(od_record *record);
/* It did not become a job: the program has run it itself, or it will never run. */
void od_task_withdraw(od_record *record);

/* The host is about to use what tasks before it have written, or has just written what tasks after it will use. With
 * OMPDARTS_COHERENCE=depend that is what the items name; otherwise it may be anything that was written by a task
 * before one of them: order goes from task to task, names do not. Blocks. */
void od_task_host_access(const od_depend *depends, int32_t ndepends);

/* Where libomp may discard tasks (discarded.c): the flags with which one is allocated; it needs a destructor then. */
int32_t od_task_destroyed(int32_t flags);
void od_task_set_destructor(od_kmp_task *task, od_task_entry destructor);
/* The task is about to be given to libomp: its record is discarded with it. */
void od_task_watch(od_record *record);
/* It has not been discarded. */
void od_task_begins(const od_record *record);

/* Flags for a task that we may complete. */
int32_t od_task_detachable(int32_t flags);
/* True where somebody waits for a detached task that is created now, before the next barrier ends. */
bool od_task_is_awaited(void);
/* The explicit task that runs here ends: the target tasks that it has created are complete when this returns. */
void od_task_end_family(int32_t gtid);

/* A target task is ready, and completes with its record's `detached`. */
void od_target_task_begin(int32_t gtid, od_record *record);
/* It never will be. */
void od_target_task_discard(od_record *record);
/* Its entry has run (reduction.c). */
void od_reduction_end_turn(const od_capture *capture);
/* The target task that the calling thread creates just now and wants libomp to hand over (claimed.c), or NULL. */
extern _Thread_local od_record *od_task_claims __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* What has been learnt about a compiled task. */
od_entry *od_task_code(od_task_entry entry);

/* An explicit task of this code, tied and not submitted yet, waits at its end for the target tasks that it has created
 * (tracked.c); it does not, after all. */
void od_task_track(od_kmp_task *task, const od_entry *code);
void od_task_untrack(od_kmp_task *task);
/* The code of one that does, which has not begun; or NULL. */
od_entry *od_task_tracked(const od_kmp_task *task);

/* True where no priority, and nothing that is planned, would follow from a task with these items that schedules
 * nothing: no task that does waits before it, and nobody wants to see the whole graph. May be false without need. */
bool od_task_is_beside(int32_t ndepends, const od_depend *depends);

/* A host task of this code, tied and not detachable, is about to be submitted with dependences. False: where it is
 * beside, too, it may go unrecorded, with its entry exchanged only. */
bool od_host_task_needs_record(const od_entry *code);
void od_host_task_unrecorded(od_kmp_task *task);
/* A host task is about to be submitted with dependences: its entry becomes host_tasks.c's. `flags`: of its
 * allocation. */
od_record *od_host_task_record(od_kmp_task *task, int32_t flags, bool detachable);
/* Whether instances of this code are given a reservation before they run. */
bool od_host_task_is_gated(const od_record *record);
/* Creates the gate of a host task and gives it to libomp. Returns how many depend items the host task is to be given
 * beside the record's: 0 or 1, which is the one behind these in `given`. That has room for all, and is overwritten. */
int32_t od_host_task_submit_gate(od_ident *ident, int32_t gtid, od_record *record, od_depend *given);

#endif
