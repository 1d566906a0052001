/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many devices work, and how many rest.
 *
 * Devices that share the way from the host each load what they need: beyond some number, more of them finish later. From all that is
 * known (sched/known.h) the seconds of loads are estimated for each number of devices (od_hold_estimate) and set against the time to
 * compute. The thesis leaves it open ("accept to let GPUs be idle"); not published.
 */
#ifndef OD_SCHED_WORKING_H
#define OD_SCHED_WORKING_H

#include "sched/known.h"

enum { OD_WORKING_AS_POLICY = 0, OD_WORKING_CHOSEN = -1 }; /* else: so many, at most all */

typedef struct od_working {
    bool chooses;
    unsigned count;   /* of devices that work */
    size_t estimated; /* open tasks when that was chosen */
} od_working;

void od_working_init(od_working *working, const od_policy_env *env, int count, bool policy_chooses);
/* Chooses anew where clearly more work is known than the last time. True: `*seconds` is what that many devices are expected to
 * need for it. */
bool od_working_update(od_working *working, const od_policy_env *env, const od_known *known, double *seconds);

#endif
