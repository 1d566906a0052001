/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How fast the devices are at each kernel: learnt from jobs (sched/graph/speeds.h), and kept between runs.
 *
 * All functions are called under the runtime's lock, or before the runtime has started.
 */
#ifndef OD_OMP_EXT_SPEEDS_H
#define OD_OMP_EXT_SPEEDS_H

#include "memmgr/device/backend.h"
#include "omp_ext/tasks/entry.h"

/* What is learnt of the back-end's devices is in `slowness` from now on; at first what earlier runs have found. */
void od_kernel_speeds_start(const od_backend *backend, od_slowness *slowness);
/* The speed class (od_task.speed_class) of tasks with this code; NULL: it is not known. Cheap after the first call. */
unsigned od_kernel_speeds_class(od_entry *code);
/* A kernel of a task with this code, or NULL, has taken so many seconds on device k, `predicted` on the fastest one. */
void od_kernel_speeds_note(const od_entry *code, unsigned k, double seconds, double predicted);

#endif
