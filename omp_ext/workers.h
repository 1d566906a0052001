/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Workers: threads that run the jobs which the engine has started, one queue per place.
 *
 * A thread is made when a job comes and none is idle, so that a worker which
 * itself waits inside a job never keeps another started job from running. The engine's slots bound their
 * number. All functions are called under the runtime's lock.
 */
#ifndef OD_OMP_EXT_WORKERS_H
#define OD_OMP_EXT_WORKERS_H

#include "omp_ext/runtime.h"

typedef struct od_workers od_workers;

typedef struct od_workers_ops {
    od_status (*run)(od_job *job, int place);      /* without the lock */
    void (*done)(od_job *job, od_status status);   /* under the lock, which it releases */
} od_workers_ops;

/* `nplaces`: the devices, then the host as the last. */
od_workers *od_workers_create(pthread_mutex_t *lock, unsigned nplaces, const od_workers_ops *ops);
od_status od_workers_submit(od_workers *workers, unsigned index, int place, od_job *job);
/* Ends the idle threads and waits for all but the calling one. Releases the lock meanwhile. */
void od_workers_stop(od_workers *workers);

#endif
