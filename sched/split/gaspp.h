/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef OD_SCHED_SPLIT_GASPP_H
#define OD_SCHED_SPLIT_GASPP_H

#include "sched/split/profile.h"

typedef struct od_gaspp od_gaspp;

od_gaspp *od_gaspp_create(const od_split_view *view); /* NULL: out of memory */
void od_gaspp_destroy(od_gaspp *gaspp);
od_split_answer od_gaspp_decide(od_gaspp *gaspp, od_split_task *task);

/* Of the profiles that need no more than so many cores, and end before `limit_s`, the one that takes most work off
 * devices, where any is taken; NULL: none. */
const od_split_profile *od_gaspp_best(const od_split_profiles *profiles, double cores, double limit_s, double device_s);

#endif
