/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The run's trace (OMPDARTS_TRACE, trace/trace.h): what a job is called there, and when the file begins and ends. All under the
 * runtime's lock. Off, every function returns at once. */
#ifndef OD_OMP_EXT_TRACING_H
#define OD_OMP_EXT_TRACING_H

#include "trace/trace.h"

/* Completes `run` and opens the file; where that fails the program goes on, with a warning. */
void od_tracing_start(const char *path, od_trace_run *run);
/* For od_driver_ops.event. */
void od_tracing_event(void *driver, const od_event *event);
void od_tracing_end(void);
/* In the child of a fork: the file is the parent's. */
void od_tracing_abandon(void);

#endif
