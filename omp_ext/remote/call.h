/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A kernel launch as bytes, for a rank that has the same device code: which kernel by a hash of its name, its arguments
 * as libomptarget gets them, and what private arguments hold.
 */
#ifndef OD_OMP_EXT_REMOTE_CALL_H
#define OD_OMP_EXT_REMOTE_CALL_H

#include "memmgr/device/mpi/module.h"
#include "omp_ext/runtime/work.h"

/* The kernel by which this host address is known here, as all ranks know it. False: it is no kernel. */
bool od_call_kernel(const void *kernel, od_mpi_kernel *known);

/* malloc'ed. NULL: an argument needs libomptarget's own tables here, or memory is short. */
void *od_call_pack(const od_kernel_call *call, const od_kernel_args *args, size_t *bytes);

/* Calls libomptarget, which runs the kernel on its device. `kernel`: of a hash, its address here; NULL: unknown. 0:
 * done. */
int od_call_run(const void *packed, size_t bytes, int device, void *(*kernel)(uint64_t name));

#endif
