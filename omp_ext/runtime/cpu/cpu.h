/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * CPU workers (OMPDARTS_CPU): how many there are, where their threads run, and which kernels they leave to devices.
 * What they are given is the engine's choice (sched/engine/host/offer.c).
 */
#ifndef OD_OMP_EXT_CPU_H
#define OD_OMP_EXT_CPU_H

#include "omp_ext/runtime/work.h"

/* od_engine_config.cpus; 0, with a message, where host versions would not do what the program means. */
unsigned od_cpu_workers(void);
/* od_driver_ops.cpus for OMPDARTS_CPU=auto: as many as find processors that would be idle. */
unsigned od_cpu_allowed(void *driver, unsigned given);
/* od_task.host_seconds of a task that runs this kernel. */
double od_cpu_seconds(od_entry *entry, const void *kernel);
/* FUNCTION_lLINE, as users know it; NULL: it is not known. */
const char *od_cpu_kernel_name(const void *kernel);
/* The calling thread is a CPU worker: binds it to its cores. */
void od_cpu_bind(void);
/* A message for each name of OMPDARTS_CPU_EXCLUDE that no kernel has. */
void od_cpu_check_names(void);

#endif
