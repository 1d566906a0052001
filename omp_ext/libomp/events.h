/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Events of the program's own detached tasks. See events.c. */
#ifndef OD_OMP_EXT_EVENTS_H
#define OD_OMP_EXT_EVENTS_H

#include "util/lock.h"

/* For a fork. */
void od_events_locks(void (*visit)(od_lock *lock));

#endif
