/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OMPDARTS_RECORD: the run as a file from which the simulator repeats it (docs/graph-format.md).
 *
 * Lines are written in the order of events: tasks when they are created, when they are ready and when they are
 * complete, what the program requested of its data, and where it waited. Which tasks precede which follows from the
 * depend items as libomp orders them. The recorder has its own lock. When a write fails, one warning is given
 * and the program goes on unrecorded; such a file has no last line `end`.
 */
#ifndef OD_OMP_EXT_RECORD_H
#define OD_OMP_EXT_RECORD_H

#include "omp_ext/runtime/work.h"
#include "omp_ext/services/service.h"

extern const od_service od_recorder_service;

/* A task was created; its number, or 0: nothing is recorded. `seconds`: as it is submitted to the scheduler; 0: it is
 * not. `depends` orders it after earlier ones of this thread. */
uint64_t od_recorder_create(double seconds, const od_depend *depends, int32_t ndepends);
/* The job, whose data and priority are known, is ready. `code`: its kernel. A job without a number is given one. */
void od_recorder_ready(od_job *job, const void *code);
/* It has run and its results are where coherence wants them. */
void od_recorder_ran(const od_job *job);
/* A task that the engine never knew has ended, or has named all its requests. */
void od_recorder_done(uint64_t number);
/* Requests of the calling thread belong to this task (0: the thread waits for each). Returns whose they were. */
uint64_t od_recorder_own(uint64_t number);

void od_recorder_await(void);
void od_recorder_sync(void);
void od_recorder_open(uintptr_t base, size_t size, bool undefined, bool hold);
void od_recorder_close(uintptr_t base, size_t size, bool copy_out, bool all, bool hold);
void od_recorder_range(uintptr_t base, size_t size, od_request_kind kind);
/* A copy has ended. */
void od_recorder_copied(const od_transfer *transfer);
/* A background job has ended; it took so long. */
void od_recorder_planned(double seconds);
/* The calling thread has waited for its requests, or begins a task: its own work goes on now. */
void od_recorder_resume(void);
/* It has waited for this task. */
void od_recorder_waited(uint64_t number);

#endif
