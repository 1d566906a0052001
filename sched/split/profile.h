/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Splitting profiles (Morin et al., Scheduling recursive tasks, "Mid results: more greedy approach"): what it takes to
 * run a task as its children, by where these run.
 *
 * Children are placed by kind: those of some kinds on one device, the others on some cores. Each placement is played as
 * a list schedule by longest paths, without transfers. Of two profiles one is dominated where it is better in nothing.
 */
#ifndef OD_SCHED_SPLIT_PROFILE_H
#define OD_SCHED_SPLIT_PROFILE_H

#include "sched/split/split.h"

typedef struct od_split_profile {
    double makespan_s;
    double device_s; /* sum of the children's that run on the device */
    double cores;    /* CPU workers in use, mean over the makespan */
    od_split_plan plan;
} od_split_profile;

enum { OD_SPLIT_PROFILES = 128 };

typedef struct od_split_profiles {
    unsigned count;
    od_split_profile item[OD_SPLIT_PROFILES]; /* none of which is dominated */
} od_split_profiles;

/* One is left out where it is dominated, or leaves out those that it dominates. */
void od_split_profiles_add(od_split_profiles *profiles, od_split_profile profile);

/* All profiles of a task of the kind and level, split into any of the levels below. OD_ENOMEM. */
od_status od_split_profiles_make(const od_split_view *view, unsigned kind, unsigned level, od_split_profiles *profiles);

#endif
