/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Locks, and the order in which a thread takes them.
 *
 * A thread takes a lock only while all those that it holds stand before it in od_lock_rank; several of one rank it
 * takes in the order of their addresses. Builds with assertions check that at each lock. Locks of a back-end's own
 * (memmgr/device/cuda) are no part of this: they come last, and nothing is called under them that could take one of
 * these.
 */
#ifndef OD_UTIL_LOCK_H
#define OD_UTIL_LOCK_H

#include <pthread.h>
#include <stdbool.h>

typedef enum od_lock_rank {
    /* Held while libomptarget is called, or bytes are copied: */
    OD_LOCK_REDUCTION, /* omp_ext/tasks/reduction.c: one kernel at a time adds to a reduction */
    OD_LOCK_COPIES,    /* omp_ext/tasks/launch/outside.c: one kernel at a time uses copies */
    OD_LOCK_LENDING,   /* omp_ext/hooks/lend.c: one construct at a time borrows replicas */
    OD_LOCK_RELOCATE,  /* omp_ext/maps/structs/relocate.c: pointers are written on one device */
    OD_LOCK_ASKING,    /* omp_ext/runtime/transfers.c: one device is asked whether it answers */
    /* Never held while anything but the engine is called: */
    OD_LOCK_RUNTIME, /* omp_ext/runtime/internal.h: the engine and everything beside it */
    /* Each protects what its file says, for a few instructions: */
    OD_LOCK_GUARD,       /* memmgr/data/guard.c */
    OD_LOCK_RECORDING,   /* omp_ext/services/record/record.c */
    OD_LOCK_TEAM_POOL,   /* omp_ext/libomp/teams/team.c */
    OD_LOCK_TEAM,        /* omp_ext/libomp/teams/team.h */
    OD_LOCK_EVENTS,      /* omp_ext/libomp/teams/events.c */
    OD_LOCK_ENTRIES,     /* omp_ext/tasks/entry.c */
    OD_LOCK_RECORDS,     /* omp_ext/tasks/task_table.c: one per shard */
    OD_LOCK_ALLOCATED,   /* omp_ext/maps/device_memory.c */
    OD_LOCK_FOREIGN,     /* likewise */
    OD_LOCK_IMAGES,      /* omp_ext/libomp/images.c */
    OD_LOCK_INTEROP,     /* omp_ext/hooks/interop.c */
    OD_LOCK_TRANSFERS,   /* memmgr/device/transfer_queues.c */
    OD_LOCK_HOST_COPIES, /* memmgr/device/host_copy.c */
    OD_LOCK_BUS,         /* memmgr/device/bus.h */
    OD_LOCK_TRACE,       /* trace/sink.c */
    OD_LOCK_PROGRESS,    /* omp_ext/services/progress.c */
} od_lock_rank;

typedef struct od_lock {
    pthread_mutex_t mutex;
    od_lock_rank rank;
} od_lock;

#define OD_LOCK_OF(of_rank) {.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (of_rank)}

/* Of one that many threads take, each for a moment: who waits for it tries for a while before it sleeps, as it takes
 * longer to be woken. In files with _GNU_SOURCE. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define OD_BUSY_LOCK_OF(of_rank)                                                                                       \
    {                                                                                                                  \
        .mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .rank = (of_rank)                                              \
    }
#else
#define OD_BUSY_LOCK_OF(of_rank) OD_LOCK_OF(of_rank)
#endif

/* Returns 0, or the error number of pthread_mutex_init(). */
static inline int od_lock_init(od_lock *lock, od_lock_rank rank)
{
    lock->rank = rank;
    return pthread_mutex_init(&lock->mutex, NULL);
}

static inline void od_lock_destroy(od_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

#ifdef NDEBUG
static inline void od_lock_note(const od_lock *lock, bool taken)
{
    (void)lock;
    (void)taken;
}
#else
/* The calling thread is about to take the lock, or gives it back. thread.c */
void od_lock_note(const od_lock *lock, bool taken);
#endif

static inline void od_lock_take(od_lock *lock)
{
    od_lock_note(lock, true);
    pthread_mutex_lock(&lock->mutex);
}

static inline void od_lock_give(od_lock *lock)
{
    od_lock_note(lock, false);
    pthread_mutex_unlock(&lock->mutex);
}

#endif
