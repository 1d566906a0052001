/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The search for a set of devices on which all ends sooner than with the best settings so far.
 *
 * Of sets to begin with each has a few policies tried on it. Then the most promising have all candidates tried, and
 * local search goes on from the best: other lookaheads, task buffers and policies, then a device more or less, or
 * another one in place of one of them. It does so among all devices, then among all but the last, and so on, since a
 * program that has more devices is not to be slower than one that has fewer.
 */
#ifndef OD_SCHED_AUTO_SET_SEARCH_H
#define OD_SCHED_AUTO_SET_SEARCH_H

#include "sched/auto/tries.h"

/* True: something is better than all before. */
bool od_set_search(od_trial *trial);

#endif
