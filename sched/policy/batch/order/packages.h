/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Packages of tasks for Hierarchical Fair Packing: disjoint lists of tasks with the data that they use, kept so that
 * merging two, turning one round and finding those that share data with one are all cheap.
 *
 * A package is named by its slot. A package that two are merged into has the slot of the one with more data (only the
 * other's data are looked at) and the rank of the one that comes first in the order of tasks.
 * Nothing is allocated after od_packages_create().
 */
#ifndef OD_SCHED_POLICY_BATCH_ORDER_PACKAGES_H
#define OD_SCHED_POLICY_BATCH_ORDER_PACKAGES_H

#include "sched/policy/batch/order/batch.h"

#include <stdbool.h>

#define OD_NO_PACKAGE UINT32_MAX
#define OD_NO_USE UINT32_MAX

typedef struct od_package {
    uint32_t head, tail; /* its first and last task */
    uint32_t ntasks;     /* 0: merged into another */
    uint32_t first_use;  /* its data: a chain of positions in batch->datum, each datum once */
    uint32_t last_use;
    uint32_t ndata;
    uint64_t weight; /* bytes of its data */
} od_package;

typedef struct od_packages {
    const od_batch *batch;
    uint32_t live;        /* packages that exist */
    od_package *package;  /* by slot; at first slot t is task t alone */
    uint32_t *rank;       /* by slot: ties between packages go to the lower one */
    uint32_t (*link)[2];  /* by task: its two neighbours in its list, in no fixed order */
    uint32_t *next_use;   /* by position in batch->datum */
    od_users holders;     /* packages that use a datum, by slot; the first nholders[d] count */
    uint32_t *nholders;   /* by datum */
    uint32_t *neighbours; /* slots of the packages that share data with the one that was asked about last */
    uint64_t *shared;     /* by slot: bytes shared with that one; 0 between two questions */
    unsigned char *ends;  /* by datum: in which ends it is met (od_packages_meet) */
} od_packages;

od_status od_packages_create(const od_batch *batch, od_packages *packages);
void od_packages_free(od_packages *packages);

/* All packages that share data with the one at `slot`: fills `neighbours` and `shared` and returns how many. The caller
 * sets `shared` to 0 again. */
uint32_t od_packages_neighbours(od_packages *packages, uint32_t slot);

/* Appends the tasks of `from` to those of `into`; returns the slot of the result. */
uint32_t od_packages_merge(od_packages *packages, uint32_t into, uint32_t from);

/* Appends the tasks only: two packages that share nothing and are not looked up again. */
void od_packages_append(od_packages *packages, uint32_t into, uint32_t from);

/* Turns the packages, one, both or none, so that the ends that share the most bytes meet when `b` is appended to
 * `a`. An end is as many tasks as fit in `memory` together. */
void od_packages_meet(od_packages *packages, uint32_t a, uint32_t b, uint64_t memory);

/* The tasks in order; returns how many. */
uint32_t od_packages_list(const od_packages *packages, uint32_t slot, uint32_t *order);

#endif
