/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Looking into libomp's queues for a task that the calling thread may run.
 *
 * libomp lets a thread that has tied tasks begun run descendants of the last of these alone (its task scheduling
 * constraint), and takes a thread that asks for tasks in its implicit task for one that waits for that task's children.
 * At a barrier it may run everything: it asks inside of an untied task then, to which the constraint does not apply.
 */
#ifndef OD_OMP_EXT_LOOK_H
#define OD_OMP_EXT_LOOK_H

#include "omp_ext/libomp/abi.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct od_look {
    od_ident *ident;
    unsigned most;           /* queues: libomp looks into one other at a time, at random */
    const atomic_uint *stop; /* not 0: it ends, too; or NULL */
} od_look;

/* Counts the tasks that have begun on the calling thread. */
extern _Thread_local unsigned od_tasks_begun __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Until a task has begun here. */
void od_look_for_task(const od_look *look, int32_t gtid);
/* Until none does, or the thread may look no more; it may, at first. */
void od_look_for_all(bool (*may_look)(void));
/* Until a task has begun here, at a barrier. */
void od_look_for_any(const od_look *look, int32_t gtid);

#endif
