/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What libomptarget, where it has been patched, asks about constructs (docs/rfc-offload-scheduler.md). */
#ifndef OD_OMP_EXT_ANSWERS_H
#define OD_OMP_EXT_ANSWERS_H

#include "omp_ext/libomp/abi.h"

/* omp_ext/hooks/target.c: launches the region, or records it. `from`: of the program, where it is called. 0: done, or
 * will be; else compiled code runs its host version. */
int od_answer_kernel(od_ident *ident, int64_t device, int32_t teams, int32_t threads, void *kernel,
                     od_kernel_args *args, const void *from);
/* omp_ext/hooks/data.c: carries the construct out. */
void od_answer_data(od_offload_kind kind, od_ident *ident, int64_t device, od_map_args *args, const void *from);

/* Where compiled code has called the entry point which the calling thread is about to pass on. */
extern _Thread_local const void *od_asked_from __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
