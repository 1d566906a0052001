/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels of GPUs in slices, each with some of the teams (omp_ext/slices/gpus/copies.h). */
#ifndef OD_OMP_EXT_SLICES_TEAMS_H
#define OD_OMP_EXT_SLICES_TEAMS_H

#include "omp_ext/slices/kernels.h"

/* Runs a launch whose image has what slices need (omp_ext/libomp/league.h). As od_job_launch_sync(). */
int od_teams_launch(const od_kernel_call *call, od_slicing *s);

#endif
