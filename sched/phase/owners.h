/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Owners: each item that tasks write gets a device, which runs all tasks that write it (owner computes).
 *
 * What devices then send each other is known: each version of an item goes once to each device that owns a result of
 * its readers. Owners are found for which that is little, while in each part of the run all devices have as much to do
 * as they are fast: by simulated annealing over moves of one item to another device. For factorisations what comes out
 * resembles block-cyclic distributions on a grid (docs/policies.md has figures), without knowing of any.
 *
 * Deterministic. No threads, no engine: arrays in, arrays out.
 */
#ifndef OD_SCHED_PHASE_OWNERS_H
#define OD_SCHED_PHASE_OWNERS_H

#include "sched/phase/phase.h"

#define OD_NO_OWNER UINT32_MAX

struct od_phase_graph;
struct od_findings;

typedef struct od_owners_problem {
    const struct od_phase_graph *graph;
    unsigned devices;
    const unsigned *which;  /* their numbers */
    const od_slowness *slowness; /* NULL: all devices are as fast as predicted */
    double share_of_load;   /* times od_phase_problem.load that the way is busy with a load */
    unsigned effort;        /* time to take: versions looked at for each task, some thousands */
    bool nearby;            /* for many devices: the search begins with block-cyclic distributions, too (lattice.h), and
                             * items move to devices alone that own what their tasks use */
    const uint32_t *given;  /* by item: the index of the device where it is now, OD_NO_OWNER: on none; NULL: all are.
                             * It may go to another one, which costs a load */
    struct od_findings *findings; /* where owners are kept (findings.h), or NULL */
} od_owners_problem;

/* By task: its device, an index into problem->which, or OD_NO_OWNER where it writes nothing. OD_ENOMEM: the array is
 * undefined. */
od_status od_owners_find(const od_owners_problem *problem, uint32_t *owner);

#endif
