/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The search for a set of devices on which all ends sooner than on those of the best settings so far.
 */
#ifndef OD_SCHED_AUTO_SET_SEARCH_H
#define OD_SCHED_AUTO_SET_SEARCH_H

#include "sched/auto/tries.h"

/* True: something is better than all before. */
bool od_set_search(od_trial *trial);

#endif
