/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Launches that begin early (OMPDARTS_SLICE=eager).
 *
 * Between two kernels in slices the program mostly does nothing. So a launch may come back before its slices have
 * ended; the next one waits for these, slice by slice: a slice begins, where the one with its number in the launch
 * before ran, when that one has ended, and those that use what it writes, or write what it uses. At most two launches
 * are under way. Whatever else the program asks of us waits for the last one's end (od_early_settle).
 *
 * What slices use is what their tasks name and what page faults have ever shown of them. Launches overlap only where
 * neither has had page faults last time. A page fault that proves the prediction wrong all the same waits, or ends the
 * program (omp_ext/runtime/parts/order.h).
 */
#ifndef OD_OMP_EXT_SLICES_EARLY_H
#define OD_OMP_EXT_SLICES_EARLY_H

#include "omp_ext/slices/group.h"

/* A launch of this kernel, whose data are in regions already, may overlap with others. */
bool od_early_may(const od_slicing *s);
/* Waits until no launch is under way that the program has not waited for. Nothing on a thread that runs a kernel. */
void od_early_settle(void);
/* The launch that the program has not waited for, which is the caller's now; NULL: there is none. */
od_group *od_early_take(void);
/* Gives all slices of a launch to the engine, those that may begin before `before` (NULL: none; taken) has ended at
 * once, and waits for the end of that one. With `overlaps` the launch is then left as one that the program has not
 * waited for; else its end is waited for, too. Takes both. */
void od_early_run(od_group *group, od_group *before, bool overlaps);
/* For od_group_make(). */
void od_early_note_ended(od_group *group);

#endif
