/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which devices may complete a task first, without a look at each.
 *
 * Of devices that are alike (sched/alike.h), equally fast, and without any of a task's data, the one that is free first
 * completes it first. So the candidates are the devices that hold some of its data, the one that is free first of each
 * sort, and, as data come faster from a device of the same group, that one of each group in which data are.
 */
#ifndef OD_SCHED_POLICY_EARLIEST_H
#define OD_SCHED_POLICY_EARLIEST_H

#include "sched/policy.h"
#include "util/container/heap.h"

/* Devices divided into classes, each in the order of when they are free. */
typedef struct od_earliest_classes {
    unsigned count;
    unsigned of[OD_MAX_DEVICES];     /* by device */
    unsigned member[OD_MAX_DEVICES]; /* by class: its first device */
    od_heap order[OD_MAX_DEVICES];   /* by class: its devices that may get tasks */
} od_earliest_classes;

typedef struct od_earliest {
    const od_policy_env *env;
    uint64_t changes;                  /* od_slowness.changes that the classes are for */
    double free_at[OD_MAX_DEVICES];    /* seconds of work that it has been given; infinite: none is to go there */
    od_earliest_classes groups, sorts; /* of equally fast devices each */
    bool one_group_each;               /* of these: `groups` has nothing to add, and is not kept */
    int first[OD_MAX_DEVICES];         /* by od_alike.group: its first class in `groups` */
    int next[OD_MAX_DEVICES];          /* by class in `groups`: another one of that group, or OD_NOWHERE */
} od_earliest;

/* No device may get tasks yet. `env` stays the caller's. OD_ENOMEM: it is as od_earliest_free() leaves it. */
od_status od_earliest_init(od_earliest *earliest, const od_policy_env *env);
void od_earliest_free(od_earliest *earliest);
/* True where what devices were found to be alike by has changed: od_earliest_init() has to be called again. */
bool od_earliest_is_outdated(const od_earliest *earliest);
void od_earliest_set(od_earliest *earliest, unsigned k, double seconds);
/* Devices that may complete a task first, but for those that hold data of it; `sources`: the devices from which what it
 * reads comes. */
od_placeset od_earliest_candidates(const od_earliest *earliest, od_placeset sources);
bool od_earliest_is_valid(const od_earliest *earliest);

#endif
