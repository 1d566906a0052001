/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The linear program of splitting ratios (Morin et al., Scheduling recursive tasks, "First results: heterogeneous").
 *
 *   Ns(t,l)    tasks of kind t and level l that are split; none of the last level
 *   Ne(t,l,u)  those that run on units of type u: devices, CPU workers
 *   exT        time of all, which is minimised
 *
 *   for each t, l:  sum over u Ne(t,l,u) + Ns(t,l) - sum over p nch(p,t,l) Ns(p,l-1) >= waiting(t,l)
 *   for each u:     sum over t, l Ne(t,l,u) Ex(t,l,u) - R(u) exT <= 0
 *   for each u:     sum over t, l Ne(t,l,u) >= R(u) MinN(u)
 *
 * The last is <= in the slides, whose words ask for a minimal number of tasks. Where it cannot be met it is left out.
 * Transfers and precedences do not count.
 */
#ifndef OD_SCHED_SPLIT_PROGRAM_H
#define OD_SCHED_SPLIT_PROGRAM_H

#include "sched/split/split.h"

typedef struct od_split_solver od_split_solver;

typedef struct od_split_ratios {
    double seconds;                                /* exT */
    double ratio[OD_SPLIT_KINDS][OD_SPLIT_LEVELS]; /* of tasks of the kind and level, those to be split: 0 to 1 */
    double host[OD_SPLIT_KINDS][OD_SPLIT_LEVELS];  /* of those that are not, those to run on CPU workers */
} od_split_ratios;

/* Looks for GLPK. OD_EIO and one line in `error`: it is not there; OD_ENOMEM likewise. */
od_status od_split_solver_create(od_split_solver **solver, char *error, size_t size);
void od_split_solver_destroy(od_split_solver *solver);

/* `least`: MinN of each type of unit. False: there is no solution, or no memory. */
bool od_split_solve(od_split_solver *solver, const od_split_view *view, double least, od_split_ratios *ratios);

#endif
