/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Recursive tasks: ompdarts_split() asks a splitting rule (sched/split/split.h), whose view of the program is learnt.
 *
 * A kind of task is a place in the program that asks. The task that the thread creates next, where the answer is no, is
 * of that kind and level, and its durations are those of the kind and level; where the answer is yes, the kinds that
 * it asks about next on the level below are the children. A program that creates a task all the same has no level
 * below. The first task of each kind and level is split, so that it is known what its children take.
 */
#ifndef OD_OMP_EXT_SPLIT_H
#define OD_OMP_EXT_SPLIT_H

#include "sched/split/split.h"

/* A kind and level as od_thread, records and jobs have them; 0: none. */
typedef uint16_t od_split_tag;

/* The rule that OMPDARTS_SPLIT names, once it is known how many devices there are; on failure one line in `error`. */
od_status od_split_start(char *error, size_t size);

bool od_split_ask(const void *site, int level, const void *const *data, int ndata);

/* The calling thread creates a target task. */
od_split_tag od_split_take(void);
/* It has run: on a device, or on a CPU worker, for so many seconds (0: not known). */
void od_split_ran(od_split_tag tag, bool on_host, double seconds);

#endif
