/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Jobs: making them, giving them to the engine, and running them on a worker or on the program's own thread. */
#ifndef OD_OMP_EXT_JOB_H
#define OD_OMP_EXT_JOB_H

#include "omp_ext/launch.h"

/* A job with no data yet. NULL: out of memory. */
od_job *od_job_create(od_job_kind kind);

/* Gives a job its data (taken over from `uses`) and to the engine. `cost`: whose duration predicts it. */
void od_job_submit(od_job *job, od_uses *uses, const void *code);

/* Waits until a SYNC job (or a retried host task) may run. Returns its place. */
int od_job_wait_granted(od_job *job);
/* Ends the run of a SYNC job and waits until its results are where coherence wants them. */
void od_job_end_sync(od_job *job, od_status status);

/* Runs a launch on the calling thread, scheduled: what `target` without nowait means. `outer`: a job that the thread is
 * running, or NULL. 0: done on a device; else the caller runs the host version. */
int od_job_launch_sync(const od_kernel_call *call, od_job *outer);

/* A launch inside a job that has a device: on its own data directly, else after getting others. */
int od_job_launch_inside(const od_kernel_call *call);

/* Makes the data of a construct those of the calling thread's job. True: they are (again) its own, on
 * od_self.place; false: it holds others that are in use, treat the construct as one of a plain thread. */
bool od_job_adopt(const od_map_args *args);
/* Remembers which depend items of a host task name which data. */
void od_job_learn(od_entry *entry, const od_depend *depends, int32_t ndepends, const od_map_args *args);

#endif
