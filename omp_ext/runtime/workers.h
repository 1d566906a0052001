/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Workers: threads that run the jobs which the engine has started, one queue per place.
 *
 * A thread is made when none is idle that could run a job, so that a worker which itself waits inside a job never keeps
 * another started job from running or from ending. A job that its device goes on with by itself occupies no thread: one
 * thread of the queue takes the next and asks for the ends in between, unless a thread of the program does. The
 * engine's slots bound the threads' number. The first thread is made at once: where no others can be had, or address
 * space is scarce, those that there are run all places' jobs.
 * All functions are called under the runtime's lock.
 */
#ifndef OD_OMP_EXT_WORKERS_H
#define OD_OMP_EXT_WORKERS_H

#include "omp_ext/runtime/work.h"

#include "util/lock.h"

typedef struct od_workers od_workers;

typedef struct od_workers_ops {
    bool (*blocks)(const od_job *job, int place); /* whether running it may take long */
    od_status (*run)(od_job *job, int place);     /* without the lock. OD_EBUSY: it goes on by itself */
    od_status (*poll)(od_job *job);               /* likewise: whether it has ended */
    void (*done)(od_job *job, od_status status);  /* under the lock */
    bool (*is_remote)(void);                      /* jobs run on other ranks: it takes longer to hear of their end */
    void (*release)(void);                        /* gives the lock back, */
    void (*unlock)(void);                         /* and carries out what has been noted */
} od_workers_ops;

/* `nplaces`: the devices, then the host as the last. NULL: there is no memory, or no thread. */
od_workers *od_workers_create(od_lock *lock, unsigned nplaces, const od_workers_ops *ops);
/* In the child of a fork, which has none of the threads: frees what is left. */
void od_workers_abandon(od_workers *workers);
/* Threads that have nothing to do end, and have then left libomp; it is waited for them so long at most. Later jobs
 * start new ones. Under the lock, which is given away meanwhile. libomp ends without the threads of parallel regions
 * that foreign threads have begun, and takes its memory from under them: ours must be gone before. */
void od_workers_end(od_workers *workers, double seconds);
/* To its granted place. The thread is woken by od_workers_wake(), not here: under the lock it would only wait for that.
 * OD_ENOMEM: there is none. */
od_status od_workers_submit(od_workers *workers, od_job *job);
/* Whether the calling thread is one of these. */
bool od_workers_have_me(void);
/* The place whose jobs it runs; OD_NOWHERE: it is none. */
int od_workers_place(void);
/* A job that goes on by itself on its granted device is to be asked for its end. */
od_status od_workers_watch(od_workers *workers, od_job *job);
/* Threads of the program that wait ask for the ends of such jobs themselves: what an end releases is mostly theirs to
 * begin, and no other thread need be woken in between. A worker takes that over when they do not for a while, since
 * they run a task of the program's in their wait. Without the lock: */
void od_workers_begin_wait(void);
bool od_workers_have_jobs_going(const od_workers *workers);
/* In a wait. Returns the nanoseconds after which it is to be called again; 1: at once; 0: there is nothing to ask, or
 * another thread does. */
long od_workers_ask(od_workers *workers);
void od_workers_end_wait(od_workers *workers);
/* Which queues have been given jobs since the last call, one bit each. */
uint64_t od_workers_take_wakes(od_workers *workers);
/* Wakes a thread of each of these queues. Without the lock. */
void od_workers_wake(od_workers *workers, uint64_t queues);

#endif
