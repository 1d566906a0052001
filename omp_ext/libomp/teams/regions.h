/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The teams of parallel regions, and which of these are known to detach no tasks. */
#ifndef OD_OMP_EXT_REGIONS_H
#define OD_OMP_EXT_REGIONS_H

#include "omp_ext/libomp/teams/team.h"

/* The team of a region that the calling thread begins, and its end. */
od_team *od_region_begin(const void *outlined);
void od_region_end(od_team *team, const void *outlined);

#endif
