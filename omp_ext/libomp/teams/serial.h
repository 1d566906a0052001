/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Teams of one thread, in which libomp 19 miscounts tasks.
 *
 * Such a team runs tasks as they are created, but detached ones, as ours are, outlive their creation. libomp counts
 * other tasks in, or out, where it finds tasks under way at that moment, which need not be the same when they are
 * allocated and when they end: it fails assertions, frees a task that runs, or returns from a taskwait too early. And a
 * barrier fails one if detached tasks have been there before but not since the last barrier. So in a team of one:
 *
 *   - ordinary tasks are allocated as detachable, too: without an event they complete as usual. Not so where the task
 *     that creates them has no children that we are to complete, nor the program detached ones: then they end before
 *     libomp's count of its children can change, and are in no order with anything
 *   - but not a taskloop's, whose copies libomp never counts: they run in a task of their own, which has no other
 *     children, and target tasks inside them are not detached
 *   - a detachable task that does nothing goes before each barrier
 *   - a region inside of another one, whose tasks may wait for events that the program fulfils, has no detached tasks
 *     at all: its end would wait for those tasks, too
 *   - a kernel on the program's thread gets its own task where the one that it is in has target tasks: libomp runs a
 *     league of teams as a part of an enclosing explicit task, which it then marks as complete, for good if children of
 *     it with depend clauses are under way; and taskloops of the kernel would count out what was never counted
 */
#ifndef OD_OMP_EXT_SERIAL_H
#define OD_OMP_EXT_SERIAL_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* The flags with which a task is allocated by a thread that is alone in its team; in another team, as given. */
int32_t od_serial_flags(int32_t flags);

/* The calling thread is alone in its team, in the program's own code. */
bool od_serial_is_alone(void);
/* And its region is inside of another one of which tasks waited for events of the program's when it began: its tasks
 * run as they are created. */
bool od_serial_is_beside_events(void);
void od_serial_set_beside_events(bool is); /* of the region that is the calling thread's from now on */
/* The calling thread, where it is alone and no task is around it, so that what it waits for runs beside no other
 * construct of its own. Else NULL. */
const void *od_serial_user(void);

/* A task's entry, or its destructor. */
int32_t od_do_nothing(int32_t gtid, void *task);

void od_serial_before_barrier(od_ident *ident, int32_t gtid);

/* A task of the library's; NULL: none. */
typedef struct od_own_task {
    void *task, *event;
} od_own_task;

/* What follows on the calling thread, alone in its team, is inside of a task of its own. */
od_own_task od_serial_begin_task(void);
void od_serial_end_task(od_own_task own);

/* Likewise a kernel on a host device, on any thread, where it needs one. `has_children`: the implicit task, if that is
 * what runs there, has detached children under way. */
od_own_task od_serial_begin_kernel(bool has_children);

#endif
