/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Events of the program's own detached tasks. See events.c. */
#ifndef OD_OMP_EXT_EVENTS_H
#define OD_OMP_EXT_EVENTS_H

#include "omp_ext/libomp/teams/team.h"

/* Those that have not been fulfilled are libomp's alone from now on: the task, which has created theirs, waits for them
 * no more. */
void od_events_disown(const od_parent *parent);
/* For a fork. */
void od_events_locks(void (*visit)(od_lock *lock));

#endif
