/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Explicit tasks as parents (team.h), and how they end: perhaps before their children. */
#ifndef OD_OMP_EXT_PARENT_H
#define OD_OMP_EXT_PARENT_H

#include "omp_ext/libomp/teams/team.h"

/* An explicit task begins to run on the calling thread, until od_parent_end(). */
od_parent *od_parent_begin(int32_t gtid);
/* It ends. Children that wait for the program may be left: barriers wait for them. */
void od_parent_end(od_parent *parent);
/* Barriers can wait for children of it that are not complete. */
bool od_parent_may_leave(const od_parent *parent);

#endif
