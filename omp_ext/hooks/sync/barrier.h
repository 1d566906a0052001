/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Around a barrier of libomp's, whatever entry point it is in. */
#ifndef OD_OMP_EXT_BARRIER_H
#define OD_OMP_EXT_BARRIER_H

#include "omp_ext/libomp/abi.h"

#include <stdbool.h>

/* True where barriers, and regions that begin, are none of ours. All threads of a team agree: a region that was begun
 * with ours ends with them. */
bool od_barrier_is_as_written(void);

/* What libomp's barrier would wait for has ended; where the team gathers, all of its threads have arrived. */
void od_barrier_begin(od_ident *ident, int32_t gtid);
/* The same, but that it is none of the program's barriers. */
void od_barrier_begin_reduction(od_ident *ident, int32_t gtid);
/* The same, where other threads of the team wait for this one in another entry point, or not at all. */
void od_barrier_begin_half(od_ident *ident, int32_t gtid);
/* What tasks wrote outside regions is on the host. */
void od_barrier_end(void);
/* After a taskwait, a taskgroup, a parallel region: likewise. What a kernel on a host device synchronises are its own
 * threads: no point of the program's. */
void od_barrier_synchronise(void);

#endif
