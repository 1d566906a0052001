/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Detached tasks of libomp, and the barriers after them.
 *
 * When a thread outside the team completes a detached task, libomp 19 leaves the rest of the completion, which releases the
 * task's successors, in a task queue of the team. A barrier does not cope with one that comes to a thread which waits in it
 * and counts as finished. The primary thread may leave with the rest still in a queue, which the team then looks into two
 * barriers later, or never. A thread that takes it from another's queue after that changes the number of unfinished threads
 * when the next barrier has set it anew already: a later barrier ends while tasks run. And from the barrier that ends a region
 * the primary thread goes on while others still look at the region.
 *
 * So no thread enters a barrier before all threads of the team have arrived there and all their tasks are complete, also those
 * that a thread has created since it arrived, in a task of another. The
 * rests lie in the queues by then, and each thread empties its own before it counts as finished.
 *
 * The threads of a region that is cancelled (OMP_CANCELLATION) leave it on different ways, so none waits for others there any
 * more.
 */
#ifndef OD_OMP_EXT_DETACH_H
#define OD_OMP_EXT_DETACH_H

#include "omp_ext/abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The team of a parallel region; begins as zero. */
typedef struct od_team {
    _Atomic uint64_t arrivals; /* at barriers, of all threads */
    _Atomic uint64_t opened;   /* arrivals after which threads may go on */
    _Atomic uint64_t pending;  /* as of its members, in all */
    atomic_bool cancelled;     /* the region */
} od_team;

/* A thread's part in it. */
typedef struct od_member {
    struct od_member *outer; /* the same thread's, around it */
    od_team *team;
    unsigned nthreads;   /* of the team */
    bool counts;         /* `pending` is kept; not where libomp may discard tasks without a word (OMP_CANCELLATION) */
    atomic_uint pending; /* detached tasks that it has created and we are to complete */
} od_member;

/* The calling thread's, in its innermost region; NULL: none. Apart from od_self, which is exchanged for each explicit task that
 * runs here. */
extern _Thread_local od_member *od_member_self __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* One task, by its completion event; NULL: it is not detached. */
typedef struct od_detached {
    void *event;
    od_member *creator; /* that counts it, or NULL */
} od_detached;

/* The calling thread creates a detached task: who counts it from now on, or NULL: nobody. */
od_member *od_detached_join(void);
/* The task completes in another way: it was not detached after all. */
void od_detached_leave(od_member *creator);
/* Tells libomp that the task is complete. By any thread, not under the runtime's lock. */
void od_detached_complete(od_detached task);

/* Around a region's code in each thread of its team. The end waits until nobody counts on the member any more. */
void od_member_begin(od_member *member, od_team *team);
void od_member_end(od_ident *ident, int32_t gtid, od_member *member);
/* The calling thread is about to begin a parallel region. Where that has one thread, inside another such region, libomp 19 counts
 * the tasks of both together, and orders them by their dependences, but only runs those of the inner one: so this waits for the
 * outer one's, and for the rests of their completions. */
void od_detach_before_region(od_ident *ident);
/* The calling thread is about to enter a barrier: waits for its tasks and for its team, all threads of which call it. Nothing in a
 * kernel. */
void od_detach_before_barrier(od_ident *ident, int32_t gtid);

#endif
