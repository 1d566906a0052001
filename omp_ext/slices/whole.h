/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whole launches of kernels that may run in slices at other times. */
#ifndef OD_OMP_EXT_SLICES_WHOLE_H
#define OD_OMP_EXT_SLICES_WHOLE_H

#include "omp_ext/slices/kernels.h"

/* Runs a launch whole, for this reason, and watches it. As od_job_launch_sync(). */
int od_whole_launch(const od_kernel_call *call, od_slicing *s, od_whole reason);

#endif
