/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Jobs: making them, giving them to the engine, and running them on a worker or on the program's own thread. */
#ifndef OD_OMP_EXT_JOB_H
#define OD_OMP_EXT_JOB_H

#include "omp_ext/tasks/launch/launch.h"
#include "omp_ext/tasks/task_table.h"

/* For the driver. */
extern const od_job_ops od_jobs;

/* A job with no data yet. NULL: out of memory. */
od_job *od_job_create(od_job_kind kind);
/* The job of a libomp task that is ready; its data are still to be named. Takes the record's submission. */
od_job *od_job_create_for(od_job_kind kind, od_record *record);

void od_job_destroy(od_job *job);
/* Of a job whose run has returned OD_EBUSY: whether it goes on. */
od_status od_job_poll(od_job *job);

/* Gives a job its data (taken over from `uses`) and to the engine. `code`: whose duration predicts it. Locked: of a
 * kernel with od_runtime_lock_inline(). */
void od_job_submit(od_engine *engine, od_job *job, od_uses *uses, const void *code);
/* Likewise a SYNC job, and waits until it may run. Returns its place. */
int od_job_acquire(od_job *job, od_uses *uses, const void *code);
/* Ends the run of a SYNC job and waits until its results are where coherence wants them. */
void od_job_end_sync(od_job *job, od_status status);

/* A job whose data cannot be named, because the program is shown a part of them: runs it here, and ends it. */
void od_job_run_beside(od_job *job);

/* Runs a launch on the calling thread, scheduled: what `target` without nowait means. `outer`: a job that the thread is
 * running, or NULL. 0: done on a device; else the caller runs the host version. */
int od_job_launch_sync(const od_kernel_call *call, od_job *outer);

#endif
