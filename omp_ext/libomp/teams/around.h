/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Tasks around regions of one thread. To libomp, such regions inside each other have one task: where it waits for the
 * children of the inner one's, it waits for those of the tasks around it, too.
 */
#ifndef OD_OMP_EXT_AROUND_H
#define OD_OMP_EXT_AROUND_H

#include "omp_ext/libomp/teams/team.h"

/* Waits for the children of the tasks around the region of the calling thread's member, but for those of tasks that
 * wait for the program. `member`: NULL: there is no region. */
void od_around_finish(od_ident *ident, const od_member *member);
/* There are such tasks. */
bool od_around_expects_events(const od_member *member);

#endif
