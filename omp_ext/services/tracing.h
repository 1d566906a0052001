/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The run's trace (OMPDARTS_TRACE, trace/trace.h) and what a profiler gets (NVTX): what a job is called there, and
 * when they begin and end. All under the runtime's lock, but for what says otherwise. Off, every function
 * returns at once. */
#ifndef OD_OMP_EXT_TRACING_H
#define OD_OMP_EXT_TRACING_H

#include "omp_ext/libomp/abi.h"
#include "omp_ext/services/service.h"
#include "trace/trace.h"

extern const od_service od_tracing_service;

/* Whether there will be anything to emit; `path` is empty where no file is wanted. */
bool od_tracing_wanted(const char *path);
/* Whether there is, since the run has started. Without the lock. */
bool od_tracing_is_on(void);
/* When a task is created: the time, or 0 where no file is wanted. Without the lock. */
uint64_t od_tracing_creation(void);
/* A copy of a task's depend items, malloc'ed, for the trace; NULL where no file is wanted. Without the lock. */
od_depend *od_tracing_depends(const od_depend *depends, int32_t n);
/* The text, kept until the process ends: the same pointer for the same text. NULL: out of memory. Without the lock. */
const char *od_tracing_name(const char *text);
/* The name that the calling thread's next task is to have (ompdarts_name_task), or NULL; afterwards there is none. */
const char *od_tracing_take_name(void);
/* A data construct of the program's, carried out since then: "enter data", "exit data" or "update". */
void od_tracing_construct(const char *what, const od_ident *ident, const od_map_args *args, uint64_t from_ns);
/* For od_driver_ops.event. */
void od_tracing_event(void *driver, const od_event *event);

#endif
