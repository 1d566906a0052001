/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Detached tasks of libomp, and the barriers after them.
 *
 * When a thread outside the team completes a detached task, libomp 19 leaves the rest of the completion, which releases the
 * task's successors, in a task queue of the team. Threads that wait in a barrier do not cope with those that come meanwhile.
 * One that a thread takes from another's queue when the primary thread has left already changes the number of unfinished
 * threads after the next barrier has set it anew: a later barrier ends while tasks run. One that stays in a queue of the set
 * that the barrier changes from is found late or never. And from the barrier that ends a region the primary thread goes on
 * while others still look at the region. So each thread waits for its child tasks before it enters a barrier: when all have
 * arrived, all completions lie in the queues, and the barrier empties those.
 */
#ifndef OD_OMP_EXT_DETACH_H
#define OD_OMP_EXT_DETACH_H

#include "omp_ext/abi.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The detached tasks that an implicit task has created: how many are to be completed by us. Tasks that libomp discards stay
 * in the count, so there is none where tasks can be cancelled, and none in teams of one thread. */
typedef struct od_brood {
    atomic_uint pending;
} od_brood;

/* One task, by its completion event; NULL: it is not detached. */
typedef struct od_detached {
    void *event;
    od_brood *brood; /* that counts it, or NULL */
} od_detached;

/* The calling thread creates one that its implicit task's brood, if any, counts from now on. */
od_brood *od_brood_join(void);
/* The task completes in another way. */
void od_brood_leave(od_brood *brood);
/* Tells libomp that the task is complete. */
void od_detached_complete(od_detached task);

/* Around a region's code in each thread of its team. At the end there must be no tasks left but discarded ones. */
void od_brood_begin(od_brood *brood, od_brood **outer);
void od_brood_end(od_ident *ident, int32_t gtid, od_brood *outer);
/* The calling thread, in an implicit task, is about to enter a barrier. */
void od_detach_before_barrier(od_ident *ident, int32_t gtid);

#endif
